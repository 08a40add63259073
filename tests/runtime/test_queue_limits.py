"""Queues with limits on running nodes: the next job begins when one ends, here or elsewhere, and others never wait."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from sqlalchemy import select

from horae import Horae, JobState
from horae.client.operations.queues import Queues
from horae.runtime.timing import ClaimerTiming, Pauses, Timing, WorkerTiming
from horae.storage.engine.database import Database
from horae.storage.jobs import creation, tables
from horae.storage.jobs.creation import JobRow
from horae.wakeup.channel import Hint, HintKind
from tests.harness.applications import application, counted_statements, rows
from tests.harness.nodes import running_node, until_set, until_state
from tests.harness.waiting import until_stored

Declare = Callable[[Horae], None]


NO_POLLS = Timing(
    worker=WorkerTiming(
        poll_with_hints=600.0, poll_idle=600.0, poll_without_hints=Pauses(600.0, 600.0)
    ),
    claimer=ClaimerTiming(limits_fresh=600.0, scan_rest=0.0),
)
"""A node polls only after a hint, and may poll at once for jobs that another node has just locked, however slow it is."""


def limit(horae: Horae, name: str, concurrency_limit: int | None) -> None:
    Queues(horae.components.database, horae.components.wakeup).limit(name, concurrency_limit)


def states(horae: Horae, queue: str) -> Counter[str]:
    found = rows(
        horae,
        "SELECT state, count(*) FROM horae_jobs WHERE queue = :queue GROUP BY state",
        queue=queue,
    )
    return Counter(dict(found))


@asynccontextmanager
async def two_nodes(database: Database, *declared: Declare) -> AsyncGenerator[list[Horae]]:
    """Two applications on one database, each with a node and what it declares."""
    async with AsyncExitStack() as stack:
        applications: list[Horae] = []
        for declare in declared:
            each = stack.enter_context(application(database))
            declare(each)
            await stack.enter_async_context(running_node(each, concurrency=4, timing=NO_POLLS))
            applications.append(each)
        yield applications


async def test_one_after_another_on_two_nodes(database: Database) -> None:
    now, most, ran = 0, 0, list[int]()

    def declare(horae: Horae) -> None:
        @horae.job(queue="slow")
        async def work(number: int) -> None:
            nonlocal now, most
            now += 1
            most = max(most, now)
            ran.append(number)
            await asyncio.sleep(0.001)
            now -= 1

    async with two_nodes(database, declare, declare) as (horae, _):
        limit(horae, "slow", 1)
        await horae.aio.jobs.start_many("work", [{"number": number} for number in range(40)])
        await until_stored(horae, lambda: states(horae, "slow") == {"finished": 40})
    assert (most, sorted(ran)) == (1, list(range(40)))


async def test_without_hints_a_node_continues_by_polling(database: Database) -> None:
    with application(database, hints=False) as horae:

        @horae.job(queue="slow")
        async def work() -> None: ...

        limit(horae, "slow", 1)
        await horae.aio.jobs.start_many(work, [{}] * 5)
        async with running_node(horae, timing=NO_POLLS):
            await until_stored(horae, lambda: states(horae, "slow") == {"finished": 5})


async def test_an_idle_node_is_notified_of_room_in_a_queue(database: Database) -> None:
    """What waits is of a type that only the other node knows."""
    begun, release = threading.Event(), threading.Event()

    def first(horae: Horae) -> None:
        @horae.job(queue="slow")
        def block() -> None:
            begun.set()
            release.wait(20)

    def second(horae: Horae) -> None:
        @horae.job(queue="slow")
        async def work() -> None: ...

    async with two_nodes(database, first, second) as (one, other):
        limit(one, "slow", 1)
        await one.aio.jobs.start("block")
        await until_set(begun)
        job = await other.aio.jobs.start("work")
        quick = await other.aio.jobs.start("work", queue="default")
        await until_state(other, quick.id, "finished")
        assert (await other.aio.jobs.get(job.id)).state is JobState.PENDING
        release.set()
        await until_state(other, job.id, "finished")


async def test_the_jobs_of_a_dead_node_make_room(database: Database) -> None:
    def declare(horae: Horae) -> None:
        @horae.job(queue="slow")
        async def work() -> None: ...

    def claim_and_die(horae: Horae) -> None:
        rows(
            horae,
            "UPDATE horae_jobs SET state = 'started', node_id = 'gone', lease = 1, attempt = 1, "
            "started_at = created_at WHERE id = 1 RETURNING id",
        )

    async with AsyncExitStack() as stack:
        horae = stack.enter_context(application(database))
        declare(horae)
        limit(horae, "slow", 1)
        lost, waiting = await horae.aio.jobs.start("work"), await horae.aio.jobs.start("work")
        claim_and_die(horae)
        await stack.enter_async_context(running_node(horae, timing=NO_POLLS))
        await until_state(horae, lost.id, "failed")
        await until_state(horae, waiting.id, "finished")


async def test_a_full_queue_delays_no_other(horae: Horae) -> None:
    begun, release = threading.Event(), threading.Event()

    @horae.job(queue="slow")
    def block() -> None:
        begun.set()
        release.wait(20)

    @horae.job
    async def quick() -> None: ...

    limit(horae, "slow", 1)
    async with running_node(horae, concurrency=2, timing=NO_POLLS):
        await horae.aio.jobs.start_many(block, [{}] * 20)
        await until_set(begun)
        for _ in range(20):
            job = await horae.aio.jobs.start(quick)
            await until_state(horae, job.id, "finished")
        assert states(horae, "slow") == {"started": 1, "pending": 19}
        release.set()
        await until_stored(horae, lambda: states(horae, "slow") == {"finished": 20})


async def test_jobs_behind_a_full_queue_are_claimed_at_once(horae: Horae) -> None:
    release = threading.Event()

    @horae.job(queue="slow", priority=5)
    def block() -> None:
        release.wait(20)

    @horae.job
    async def quick() -> None: ...

    limit(horae, "slow", 1)
    with counted_statements(horae) as statements:
        async with running_node(horae, concurrency=2, timing=NO_POLLS):
            await statements.until(
                lambda: any("held.running" in each for each in statements)
            )  # it knows the limit
            with horae.components.database.engine.begin() as connection:
                for kind, queue, priority in (
                    ("block", "slow", 5),
                    ("block", "slow", 5),
                    ("quick", "default", 0),
                ):
                    creation.add(
                        connection, JobRow(type=kind, queue=queue, priority=priority, params=None)
                    )
            horae.components.wakeup.send(Hint(HintKind.WORK))
            await until_stored(horae, lambda: states(horae, "default") == {"finished": 1})
            await until_stored(horae, lambda: states(horae, "slow") == {"started": 1, "pending": 1})
            release.set()


@pytest.mark.postgres
@pytest.mark.parametrize(
    "database", ["postgresql"], indirect=True
)  # SQLite has one writer: it is waited for
async def test_a_queue_locked_by_another_claim_is_tried_again(horae: Horae) -> None:
    @horae.job(queue="slow")
    async def work() -> None: ...

    limit(horae, "slow", 1)
    locking = select(tables.queues.c.name).with_for_update()
    async with running_node(horae, timing=NO_POLLS):
        known = await horae.aio.jobs.start(work)
        await until_state(horae, known.id, "finished")
        with counted_statements(horae) as statements:
            with horae.components.database.transaction("read committed") as rival:
                rival.execute(locking)
                job = await horae.aio.jobs.start(work)
                await statements.until(
                    lambda: any("horae_queues.name FOR UPDATE SKIP" in each for each in statements)
                )
            await until_state(horae, job.id, "finished")


async def test_limits_come_change_and_go_while_a_node_runs(horae: Horae) -> None:
    release = threading.Event()

    @horae.job(queue="slow")
    def block() -> None:
        release.wait(20)

    async with running_node(horae, concurrency=8, timing=NO_POLLS):
        limit(horae, "slow", 2)
        await horae.aio.jobs.start_many(block, [{}] * 20)
        await until_stored(horae, lambda: states(horae, "slow") == {"started": 2, "pending": 18})
        limit(horae, "slow", 3)
        await until_stored(horae, lambda: states(horae, "slow") == {"started": 3, "pending": 17})
        limit(horae, "slow", None)
        await until_stored(horae, lambda: states(horae, "slow") == {"started": 8, "pending": 12})
        limit(horae, "slow", 1)
        release.set()
        await until_stored(horae, lambda: states(horae, "slow") == {"finished": 20})


@pytest.mark.parametrize("hints", [True, False])
async def test_a_limit_without_a_hint_is_noticed(database: Database, *, hints: bool) -> None:
    timing = Timing(worker=WorkerTiming(poll_idle=0.2), claimer=ClaimerTiming(limits_fresh=0.2))
    with application(database, hints=hints) as horae:

        @horae.job(queue="slow")
        async def work() -> None: ...

        async with running_node(horae, timing=timing):
            job = await horae.aio.jobs.start(work, queue="default")
            await until_state(horae, job.id, "finished")
            rows(
                horae,
                "INSERT INTO horae_queues (name, concurrency_limit) VALUES ('slow', 1) RETURNING name",
            )
            first = await horae.aio.jobs.start(work)
            await until_state(horae, first.id, "finished")


async def test_running_jobs_are_counted_only_in_limited_queues(horae: Horae) -> None:
    @horae.job
    async def work() -> None: ...

    async def counts() -> int:
        with counted_statements(horae) as statements:
            job = await horae.aio.jobs.start(work)
            await until_state(horae, job.id, "finished")
        return sum("held.running" in each for each in statements)

    async with running_node(horae):
        assert await counts() == 0
        limit(horae, "default", 1)
        job = await horae.aio.jobs.start(work)
        await until_state(horae, job.id, "finished")
        assert await counts() > 0
