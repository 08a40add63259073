"""Bodies that wait for other jobs: they lend their slots, take them again, and heed orders to stop."""

import asyncio
import threading
from typing import Any

import pytest

from horae import Horae, JobContext, Limit, StartOptions, WaitTimeout
from horae.client.jobs import waiting
from horae.runtime.claims import slots
from horae.runtime.components import NodeOptions
from horae.runtime.liveness.node_record import record_of
from horae.storage.nodes import nodes
from horae.storage.operations import doctor
from horae.storage.operations.unserved import why_unserved
from tests.harness.nodes import running_node, until, until_released, until_set, until_state

PARENTS = 6
SLOTS = 2


class Running:
    """Counts the bodies that run and do not wait."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


async def test_parents_that_wait_leave_their_slots_to_their_children(horae: Horae) -> None:
    after = Running()

    @horae.job
    def child(n: int) -> int:
        return n

    @horae.job(priority=1)
    def parent(n: int) -> int:
        result: int = horae.jobs.wait(horae.jobs.start(child, n=n).id)
        with after:
            threading.Event().wait(0.01)
        return result

    @horae.job(priority=1)
    async def parent_async(n: int) -> int:
        job = await horae.aio.jobs.start(child, n=n)
        result: int = await horae.aio.jobs.wait(job.id)
        with after:
            await asyncio.sleep(0.01)
        return result

    for kind in (parent, parent_async):
        ids = horae.jobs.start_many(kind, [{"n": n} for n in range(PARENTS)])
        async with running_node(horae, concurrency=SLOTS):
            assert [await horae.aio.jobs.wait(job_id, timeout="60s") for job_id in ids] == list(
                range(PARENTS)
            )
    assert 0 < after.most <= SLOTS


async def test_a_body_waits_for_its_group(horae: Horae) -> None:
    @horae.job
    def child(n: int) -> int:
        return n

    @horae.job
    def parent() -> int:
        group = horae.jobs.start_group([(child, {"n": n}) for n in range(3)])
        horae.jobs.wait_for_group(group.id)
        return sum(horae.jobs.results_of_group(group.id))

    job = horae.jobs.start(parent)
    async with running_node(horae, concurrency=1):
        assert await horae.aio.jobs.wait(job.id, timeout="60s") == 3


async def test_a_coroutine_that_would_stop_the_loop_of_its_node_is_told(horae: Horae) -> None:
    @horae.job
    def child() -> None: ...

    @horae.job
    async def parent() -> None:
        horae.jobs.wait(horae.jobs.start(child, delay="1h"))

    job = horae.jobs.start(parent)
    async with running_node(horae):
        failed = await until_state(horae, job.id, "failed")
    assert "in a coroutine write await horae.aio.jobs.wait(…)" in (failed.error or "")


@pytest.mark.parametrize("face", ["sync", "async"])
async def test_a_waiting_body_is_cancelled_and_its_slot_is_free_again(
    horae: Horae, face: str
) -> None:
    begun, release = threading.Event(), threading.Event()

    @horae.job(queue="nobody")
    def never() -> None: ...

    def waits(other: int) -> None:
        begun.set()
        horae.jobs.wait(other)

    async def waits_async(other: int) -> None:
        begun.set()
        await horae.aio.jobs.wait(other)

    @horae.job
    def occupies() -> None:
        release.wait(30)

    body: Any = horae.job(waits_async if face == "async" else waits)
    other = horae.jobs.start(never)
    job = horae.jobs.start(body, other=other.id)
    async with running_node(horae, concurrency=1, queues=("default",)):
        await until_set(begun)
        busy = horae.jobs.start(occupies)
        await until_state(horae, busy.id, "started")  # in the slot that was lent
        await horae.aio.jobs.cancel(job.id)
        await until_released(horae, job.id)
        release.set()
        await until_state(horae, busy.id, "finished")
        last = horae.jobs.start(occupies)
        await until_state(horae, last.id, "finished")


async def test_a_body_that_waited_continues_only_when_a_slot_is_free(horae: Horae) -> None:
    begun, release, resumed = threading.Event(), threading.Event(), threading.Event()

    @horae.job
    def waits(other: int) -> None:
        begun.set()
        horae.jobs.wait(other)
        resumed.set()

    @horae.job(queue="nobody")
    def never() -> None: ...

    @horae.job
    def ends_the_wait(other: int) -> None:
        horae.jobs.cancel(other)
        release.wait(30)

    other = horae.jobs.start(never)
    job = horae.jobs.start(waits, other=other.id)
    async with running_node(horae, concurrency=1, queues=("default",)):
        await until_set(begun)
        busy = horae.jobs.start(ends_the_wait, other=other.id)
        await until_state(horae, other.id, "cancelled")
        assert not resumed.wait(0.3), "the one slot is taken"
        release.set()
        await until_state(horae, busy.id, "finished")
        await until_state(horae, job.id, "failed")  # JobWasCancelled, after it had a slot again


async def test_too_many_waiting_bodies_are_refused(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "MOST_LENT", 1)
    begun = threading.Event()

    @horae.job(queue="nobody")
    def never() -> None: ...

    @horae.job
    def waits(other: int) -> None:
        begun.set()
        horae.jobs.wait(other)

    other = horae.jobs.start(never)
    first = horae.jobs.start(waits, other=other.id)
    async with running_node(horae, concurrency=1, queues=("default",)):
        await until_set(begun)
        second = horae.jobs.start(waits, other=other.id)
        failed = await until_state(horae, second.id, "failed")
        assert "WaitRefused" in (failed.error or "")
        horae.jobs.cancel(first.id)
        await until(lambda: not horae.jobs.get(first.id).occupied)


@pytest.mark.parametrize("kind", ["function", "coroutine"])
async def test_a_wait_for_the_own_end_is_refused(horae: Horae, kind: str) -> None:
    @horae.job(name="alone function")
    def alone(job: JobContext) -> None:
        horae.jobs.wait(job.id)

    @horae.job(name="alone coroutine")
    async def alone_async(job: JobContext) -> None:
        await horae.aio.jobs.wait(job.id)

    @horae.job(name="member function")
    def member(job: JobContext, n: int = 0) -> None:
        horae.jobs.wait_for_group(job.group.id)

    @horae.job(name="member coroutine")
    async def member_async(job: JobContext, n: int = 0) -> None:
        await horae.aio.jobs.wait_for_group((await job.async_group.get()).id)

    own = horae.jobs.start(f"alone {kind}")
    group = horae.jobs.start_group([f"member {kind}"], then=(f"member {kind}", {"n": 1}))
    async with running_node(horae):
        failed = await until_state(horae, own.id, "failed")
        assert f"job {own.id} waits for its own end, which it would never reach" in (
            failed.error or ""
        )
        for each in (*horae.jobs.members(group.id), horae.jobs.get(group.then_id or 0)):
            failed = await until_state(horae, each.id, "failed")
            assert f"job {each.id} belongs to group {group.id} and waits for the end of all" in (
                failed.error or ""
            )


@pytest.mark.parametrize("kind", ["function", "coroutine"])
async def test_a_wait_names_a_child_that_no_node_can_start(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    monkeypatch.setattr(waiting, "HINDERED_AFTER", 0.0)

    @horae.job(queue="elsewhere")
    def child() -> None: ...

    @horae.job
    def parent() -> None:
        horae.jobs.wait(horae.jobs.start(child).id)

    @horae.job
    async def parent_async() -> None:
        await horae.aio.jobs.wait((await horae.aio.jobs.start(child)).id)

    job = horae.jobs.start(parent if kind == "function" else parent_async)
    async with running_node(horae, queues=["default"]):
        await until(lambda: "the wait may not end" in caplog.text)
        horae.jobs.cancel(job.id)
    (line,) = {
        record.getMessage()
        for record in caplog.records
        if "the wait may not end" in record.getMessage()
    }
    assert line.endswith(
        "of type 'child' in queue 'elsewhere' cannot start: no node that runs and knows its type serves its queue"
    )


def test_every_worker_can_run_a_bulk_change(horae: Horae) -> None:
    database = horae.components.database
    job = horae.jobs.cancel_many(types=["report"])
    assert "no node runs jobs" in (database.autocommit(why_unserved, job.id) or "")
    database.transact(nodes.register, record_of(horae.registry, NodeOptions(queues=("slow",))))
    assert database.autocommit(why_unserved, job.id) is None


async def test_a_wait_names_a_member_of_a_group_that_no_node_can_start(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "HINDERED_AFTER", 0.0)

    @horae.job
    def member() -> None: ...

    @horae.job
    def last() -> None: ...

    group = horae.jobs.start_group(
        [(member, {}, StartOptions(queue="elsewhere")), member], then=last
    )
    async with running_node(horae, queues=["default"]):
        await until(lambda: horae.jobs.get_group(group.id).finished == 1)
        with pytest.raises(WaitTimeout):
            await horae.aio.jobs.wait_for_group(group.id, timeout="1s")
    (line,) = {
        record.getMessage()
        for record in caplog.records
        if "the wait may not end" in record.getMessage()
    }
    assert line.endswith(
        "of type 'member' in queue 'elsewhere' cannot start: no node that runs and knows its type serves its queue"
    )


def test_doctor_names_work_in_lanes_that_no_node_can_start(horae: Horae) -> None:
    @horae.job(limits=[Limit(concurrency=1)])
    def limited() -> None: ...

    horae.jobs.start(limited)
    (work,) = horae.components.database.autocommit(doctor.due_work)
    assert (work.type, work.count) == ("limited", 1)
