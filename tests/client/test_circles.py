"""Bodies that wait for each other in a circle, and for jobs whose limits they take up."""

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from horae import Horae, JobContext, JobFailed, Limit, WaitTimeout
from horae.client.doctor.work import wait_findings
from horae.client.jobs import waiting
from horae.client.jobs.body_waits import BodyWaits
from horae.domain.jobs.waits import Wait, WaitTarget
from tests.harness.applications import execute
from tests.harness.nodes import running_node, until, until_set, until_state


def waiting_types(horae: Horae) -> Sequence[Any]:
    """Declare jobs that wait for a job as soon as they are told for which one."""
    given: dict[str, threading.Event] = {}
    targets: dict[str, int] = {}

    def body(job: JobContext, name: str) -> int:
        given.setdefault(name, threading.Event()).wait(30)
        result: int = horae.jobs.wait(targets[name])
        return result

    async def body_async(job: JobContext, name: str) -> int:
        await asyncio.to_thread(given.setdefault(name, threading.Event()).wait, 30)
        result: int = await horae.aio.jobs.wait(targets[name])
        return result

    def tell(name: str, target: int) -> None:
        targets[name] = target
        given.setdefault(name, threading.Event()).set()

    return horae.job(name="waits")(body), horae.job(name="waits_async")(body_async), tell


def waits_of(horae: Horae) -> Sequence[int]:
    return [wait.job_id for wait in horae.components.live.waits()]


def is_waiting(horae: Horae, job_id: int) -> bool:
    return job_id in waits_of(horae)


async def failure_of(horae: Horae, job_id: int) -> str:
    with pytest.raises(JobFailed) as caught:
        await horae.aio.jobs.wait(job_id, timeout="30s")
    return str(caught.value.error)


@pytest.mark.parametrize("size", [2, 3])
async def test_the_wait_that_closes_a_circle_is_refused(horae: Horae, size: int) -> None:
    sync, coroutine, tell = waiting_types(horae)
    kinds = [sync, coroutine, sync][:size]
    ids = [horae.jobs.start(kind, name=str(place)).id for place, kind in enumerate(kinds)]
    async with running_node(horae, concurrency=size):
        for place in range(1, size):
            tell(str(place), ids[(place + 1) % size])
            await until(partial(is_waiting, horae, ids[place]))
        tell("0", ids[1])
        error = await failure_of(horae, ids[0])
        assert error.startswith(
            f"InvalidRequest: job {ids[0]} waits for job {ids[1]}, which waits for job "
        )
        assert error.endswith(f"waits for job {ids[0]}: a circle, in which no job would ever end")
        for job_id in ids[1:]:  # the others go on: they learn that the job has failed
            assert "JobFailed" in await failure_of(horae, job_id)
    assert not waits_of(horae)


async def test_a_circle_through_a_group_and_through_after(horae: Horae) -> None:
    sync, _, tell = waiting_types(horae)

    @horae.job
    def waits_for_group(group: int) -> None:
        horae.jobs.wait_for_group(group)

    @horae.job
    def last() -> None: ...

    group = horae.jobs.start_group(
        [(sync, {"name": "member"}), (sync, {"name": "other"})], then=last
    )
    member, other = [each.id for each in horae.jobs.members(group.id)]
    async with running_node(horae, concurrency=4):
        outside = horae.jobs.start(waits_for_group, group=group.id)
        await until(lambda: outside.id in waits_of(horae))
        tell("member", outside.id)
        assert f"waits for group {group.id} with job {member}: a circle" in await failure_of(
            horae, member
        )
        assert group.then_id is not None
        tell("other", group.then_id)  # which begins after the members
        assert f"waits for group {group.id} with job {other}: a circle" in await failure_of(
            horae, other
        )

        first = horae.jobs.start(sync, name="first")
        second = horae.jobs.start(last, after=[first], on_dependency_failure="run")
        third = horae.jobs.start(last, after=[second])
        tell("first", third.id)
        assert (
            f"which waits for job {second.id}, which waits for job {first.id}"
            in await failure_of(horae, first.id)
        )
        await until_state(horae, third.id, "finished")


async def test_waits_that_are_over_close_no_circle(horae: Horae) -> None:
    """Neither one that timed out, nor one of an attempt that ended without taking its record away."""
    sync, _, tell = waiting_types(horae)
    timed_out, release = threading.Event(), threading.Event()

    @horae.job
    def impatient(target: int) -> None:
        with pytest.raises(WaitTimeout):
            horae.jobs.wait(target, timeout="10ms")
        timed_out.set()
        release.wait(30)

    async with running_node(horae, concurrency=2):
        slow = horae.jobs.start(sync, name="slow")
        job = horae.jobs.start(impatient, target=slow.id)
        await until_set(timed_out)
        horae.components.live.begin_wait(Wait(job.id, 0, None, WaitTarget.job(slow.id)))
        tell("slow", job.id)
        await until(lambda: slow.id in waits_of(horae))
        release.set()
        await until_state(horae, slow.id, "finished")
    horae.components.live.forget([job.id])
    assert not waits_of(horae)


async def test_doctor_and_log_name_limits_that_waiting_bodies_take_up(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "HINDERED_AFTER", 0.0)
    one_at_a_time = [Limit(concurrency=1, name="one")]
    horae.queue("narrow", concurrency=1)
    horae.deploy()

    @horae.job(limits=one_at_a_time)
    def child() -> None: ...

    @horae.job(limits=one_at_a_time)
    def parent() -> None:
        horae.jobs.wait(horae.jobs.start(child).id)

    @horae.job
    def parent_in_queue() -> None:
        horae.jobs.wait(horae.jobs.start(parent_in_queue, queue="narrow").id)

    ids = [horae.jobs.start(parent).id, horae.jobs.start(parent_in_queue, queue="narrow").id]
    hindrances = BodyWaits(horae.components.database, horae.components.live).hindrances
    async with running_node(horae):
        await until(lambda: len(list(hindrances())) == 2)
        await until(
            lambda: len([1 for line in caplog.messages if "the wait may not end" in line]) >= 2
        )
        found = list(hindrances())
        assert {line.partition(": ")[2] for line in found} == {
            f"limit 'one' is taken up by bodies that wait (job {ids[0]})",
            f"the limit of its queue, 1 at a time, is taken up by bodies that wait (job {ids[1]})",
        }
        (said,) = [each.message for each in wait_findings(found[:1])]
        assert said == found[0]
        for job_id in ids:
            horae.jobs.cancel(job_id)
    assert not list(hindrances())


def test_a_wait_goes_on_without_the_live_store(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when Redis is lost: only the row tells whether the job has ended."""

    @horae.job
    def body() -> None: ...

    def lost(_: object) -> None:
        raise ConnectionError("the live store is gone")

    def served(*_: object, **__: object) -> None: ...

    monkeypatch.setattr(waiting, "HINDERED_AFTER", 0.0)
    monkeypatch.setattr(waiting, "why_unserved", served)
    monkeypatch.setattr(type(horae.components.live), "waits", lost)
    with pytest.raises(WaitTimeout):
        horae.jobs.wait(horae.jobs.start(body).id, timeout="50ms")


def test_doctor_names_a_circle_once(horae: Horae) -> None:
    @horae.job
    def body() -> None: ...

    jobs = [horae.jobs.start(body).id for _ in range(2)]
    execute(
        horae,
        "UPDATE horae_jobs SET state = 'started', lease = 1, node_id = 'n', started_at = created_at",
    )
    live = horae.components.live
    for job_id, other in (jobs, reversed(jobs)):
        live.begin_wait(Wait(job_id, 1, None, WaitTarget.job(other)))
    (found,) = BodyWaits(horae.components.database, live).hindrances()
    assert found.endswith("a circle, in which no job will ever end")
