"""Which node claims which job, and when: slots, queues, jobs claimed ahead, and nodes that share the work."""

import asyncio
import math
import threading
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from horae import Horae, JobContext, JobState
from horae.runtime.claims.throughput import Throughput
from horae.runtime.settling import settler
from horae.runtime.timing import ClaimerTiming, Pauses, SettlerTiming, Timing, WorkerTiming
from horae.storage.engine.database import Database
from horae.storage.jobs import claims
from horae.storage.queues import queues
from horae.types.options.start_options import StartOptions
from tests.harness.applications import application, attempts_of, execute, rows
from tests.harness.figures import figure
from tests.harness.nodes import (
    POLLS_QUICKLY,
    running_node,
    signals_of,
    statements_a_second,
    until_released,
    until_set,
    until_state,
)
from tests.harness.waiting import Record, until_after, until_stored


def states(horae: Horae) -> Counter[str]:
    return Counter(dict(rows(horae, "SELECT state, count(*) FROM horae_jobs GROUP BY state")))


class TestSlots:
    async def test_no_more_bodies_than_slots(self, horae: Horae) -> None:
        now, most = 0, 0

        @horae.job
        async def work() -> None:
            nonlocal now, most
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1

        async with running_node(horae, concurrency=3):
            ids = await horae.aio.jobs.start_many(work, [{}] * 60)
            for job_id in ids:
                await horae.aio.jobs.wait(job_id, timeout="20s")
        assert most == 3

    async def test_jobs_beyond_the_slots_stay_unchanged_in_the_database(self, horae: Horae) -> None:
        begun, release = threading.Event(), threading.Event()

        @horae.job
        def block() -> None:
            begun.set()
            release.wait(20)

        @horae.job
        def later() -> None: ...

        async with running_node(horae, concurrency=1):
            await horae.aio.jobs.start(block)
            await until_set(begun)
            waiting = await horae.aio.jobs.start(later)
            stored = await horae.aio.jobs.get(waiting.id)
            assert stored == waiting
            release.set()
            await until_state(horae, waiting.id, "finished")

    async def test_priority_decides_who_gets_the_next_slot(self, horae: Horae) -> None:
        order = Record[int]()

        @horae.job
        def work(number: int) -> None:
            order.append(number)

        for priority in (1, 3, 2):
            await horae.aio.jobs.start(work, number=priority, priority=priority)
        async with running_node(horae, concurrency=1):
            await order.reaches(3)
        assert order == [3, 2, 1]


class TestAhead:
    async def test_a_node_reads_the_limits_before_its_first_claim(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Read after it, they would delay the second one, when all slots are free again."""
        statements = list[str]()

        def noted(name: str) -> None:
            statement = getattr(claims, name)

            def note(*arguments: object) -> object:
                statements.append(name)
                return statement(*arguments)

            monkeypatch.setattr(claims, name, note)

        @horae.job
        async def work() -> None: ...

        ids = await horae.aio.jobs.start_many(work, [{}] * 20)
        noted("next_work")
        noted("claim")
        async with running_node(horae, concurrency=10):
            for job_id in ids:
                await horae.aio.jobs.wait(job_id, timeout="20s")
        assert statements[:3] == ["next_work", "claim", "claim"]

    async def test_jobs_claimed_ahead_are_handed_back_when_no_slot_comes_free(
        self, horae: Horae
    ) -> None:
        begun, release = threading.Event(), threading.Event()

        @horae.job
        async def quick() -> None: ...

        @horae.job
        def block() -> None:
            begun.set()
            release.wait(20)

        def handed_back() -> int:
            return int(
                rows(
                    horae, "SELECT count(*) FROM horae_jobs WHERE state = 'pending' AND lease > 0"
                )[0][0]
            )

        await horae.aio.jobs.start_many(quick, [{}] * 300)
        await horae.aio.jobs.start(block, priority=-1)
        for _ in range(20):
            await horae.aio.jobs.start(quick, priority=-2)
        async with running_node(horae, concurrency=1) as node:
            await until_set(begun)
            await until_stored(  # some may have been claimed later than others
                horae,
                lambda: (
                    handed_back() > 0
                    and states(horae) == {"finished": 300, "started": 1, "pending": 20}
                ),
            )
            assert rows(
                horae, "SELECT DISTINCT attempt FROM horae_jobs WHERE state = 'pending'"
            ) == [(0,)]
            release.set()
            await until_after(signals_of(node).settled, lambda: states(horae) == {"finished": 321})
        assert rows(horae, "SELECT DISTINCT attempt FROM horae_jobs") == [(1,)]

    async def test_a_shutdown_hands_them_back_too(self, horae: Horae) -> None:
        begun, release = threading.Event(), threading.Event()

        @horae.job
        async def quick() -> None: ...

        @horae.job
        def block() -> None:
            begun.set()
            release.wait(20)

        await horae.aio.jobs.start_many(quick, [{}] * 300)
        await horae.aio.jobs.start(block, priority=-1)
        for _ in range(20):
            await horae.aio.jobs.start(quick, priority=-2)
        async with running_node(horae, concurrency=1) as node:
            await until_set(begun)
            node.stop()
            await until_after(signals_of(node).settled, lambda: states(horae)["pending"] == 20)
            release.set()
        assert states(horae) == {"finished": 301, "pending": 20}

    async def test_one_that_is_cancelled_meanwhile_never_begins(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Throughput, "expected", 10)
        begun, release, ran = threading.Event(), threading.Event(), list[int]()

        @horae.job(max_count=1)
        async def quick() -> None:
            ran.append(1)

        @horae.job
        def block() -> None:
            begun.set()
            release.wait(20)

        await horae.aio.jobs.start(block, priority=1)
        async with running_node(horae, concurrency=1):
            await until_set(begun)
            for _ in range(5):
                job = await horae.aio.jobs.start(quick, owner="alice")
                await until_state(horae, job.id, "started")
                assert (await horae.aio.jobs.cancel(job.id, by="bob")).state is JobState.CANCELLED
                assert (await until_released(horae, job.id)).cancelled_by == "bob"
                assert attempts_of(horae, job.id) in (
                    [],
                    ["cancelled"],
                )  # handed back before the cancel, or after it
            release.set()
        assert ran == []

    async def test_nothing_more_is_claimed_while_ends_cannot_be_written(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        open_again, write, ran = asyncio.Event(), settler.Settler._write, Record[int]()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # a slow database

        async def slowly(self: settler.Settler, batch: Any) -> Any:
            await open_again.wait()
            return await write(self, batch)

        @horae.job
        async def quick() -> None:
            ran.append(1)

        monkeypatch.setattr(settler.Settler, "_write", slowly)
        await horae.aio.jobs.start_many(quick, [{}] * 500)
        async with running_node(
            horae, concurrency=2, timing=Timing(settler=SettlerTiming(most_waiting=5))
        ) as node:
            await ran.reaches(5)
            looks = [
                states(horae)["started"]
                for _ in range(50)
                if await asyncio.sleep(0.001, result=True)
            ]
            figure(f"bodies that ran before the writer was waited for: {looks[-1]}")
            assert max(looks) < 100
            open_again.set()
            await until_after(signals_of(node).settled, lambda: states(horae) == {"finished": 500})
        assert len(ran) == 500


class TestQueues:
    async def test_a_paused_queue_is_left_alone_until_it_is_opened(self, horae: Horae) -> None:
        @horae.job
        def work() -> None: ...

        horae.components.database.autocommit(queues.pause, "slow", "while the printer is out")
        held = await horae.aio.jobs.start(work, queue="slow")
        other = await horae.aio.jobs.start(work)
        async with running_node(horae, timing=POLLS_QUICKLY):
            await until_state(horae, other.id, "finished")
            assert (await horae.aio.jobs.get(held.id)).state is JobState.PENDING
            assert horae.components.database.autocommit(queues.resume, "slow")
            await until_state(horae, held.id, "finished")

    async def test_running_jobs_continue(self, horae: Horae) -> None:
        begun, release = threading.Event(), threading.Event()

        @horae.job(queue="slow")
        def work() -> str:
            begun.set()
            release.wait(20)
            return "done"

        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            await until_set(begun)
            horae.components.database.autocommit(queues.pause, "slow", None)
            release.set()
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == "done"

    async def test_a_node_takes_only_what_it_serves_and_knows(
        self, horae: Horae, database: Database
    ) -> None:
        @horae.job
        def work() -> None: ...

        @horae.job
        def unknown_elsewhere() -> None: ...

        with application(database) as other:

            @other.job
            def work() -> None: ...

            unserved = await horae.aio.jobs.start("work", queue="slow")
            unknown = await horae.aio.jobs.start(unknown_elsewhere)
            done = await horae.aio.jobs.start("work")
            async with running_node(other, queues=("default",)):
                await until_state(horae, done.id, "finished")
            assert horae.jobs.get(unserved.id).state is JobState.PENDING
            assert horae.jobs.get(unknown.id).state is JobState.PENDING


class TestManyNodes:
    async def test_they_share_the_work_and_nothing_runs_twice(
        self, horae: Horae, database: Database
    ) -> None:
        """Four bodies wait for each other: only both nodes together have room for them."""
        meeting, ran = threading.Barrier(4, timeout=20), list[int]()

        def declare(application: Horae) -> None:
            @application.job
            def meet() -> None:
                meeting.wait()

            @application.job
            async def count(number: int) -> None:
                ran.append(number)

        async with AsyncExitStack() as stack:
            other = stack.enter_context(application(database))
            for each in (horae, other):
                declare(each)
                await stack.enter_async_context(running_node(each, concurrency=2))
            for job_id in await horae.aio.jobs.start_many("meet", [{}] * 4):
                await until_state(horae, job_id, "finished")
            await horae.aio.jobs.start_many("count", [{"number": number} for number in range(300)])
            await until_stored(horae, lambda: states(horae) == {"finished": 304})
        assert sorted(ran) == list(range(300))
        per_node = rows(
            horae,
            "SELECT node_id, count(*) FROM horae_job_attempts WHERE outcome = 'finished' GROUP BY 1",
        )
        assert len(per_node) == 2


class TestPolling:
    async def test_without_hints_polling_is_enough(self, database: Database) -> None:
        with (
            application(database, hints=False) as worker_side,
            application(database, hints=False) as web_side,
        ):
            for each in (worker_side, web_side):

                @each.job
                async def double(job: JobContext, number: int) -> int:
                    return 2 * number

            async with running_node(worker_side):
                waits: list[float] = []
                for number in range(5):
                    begun = time.monotonic()
                    job = await web_side.aio.jobs.start("double", number=number)
                    assert await web_side.aio.jobs.wait(job.id, timeout="20s") == 2 * number
                    waits.append(time.monotonic() - begun)
                figure(f"started and awaited without hints: longest {max(waits):.2f} s")

    async def test_a_delayed_job_starts_when_it_is_due(self, database: Database) -> None:
        with application(database, hints=False) as horae:

            @horae.job
            async def work() -> None: ...

            async with running_node(horae):
                job = await horae.aio.jobs.start(work, delay=timedelta(seconds=0.5))
                ended = await until_state(horae, job.id, "finished")
        assert ended.started_at is not None
        assert timedelta(0) <= ended.started_at - ended.run_at < timedelta(seconds=3)

    @pytest.mark.parametrize("hints", [True, False])
    async def test_an_idle_node_asks_seldom(self, database: Database, *, hints: bool) -> None:
        rate = 0.0
        with application(database, hints=hints) as horae:

            @horae.job
            async def work() -> None: ...

            async with running_node(horae):
                job = await horae.aio.jobs.start(work)
                await horae.aio.jobs.wait(job.id, timeout="20s")
                for _ in range(3):  # the first seconds after work are busier than those that follow
                    if (rate := await statements_a_second(horae, 4.0)) <= 3.5:
                        break
        figure(f"statements of an idle node, hints {hints}: {rate:.1f}/s")
        assert rate <= 3.5


class TestLostAnswers:
    async def test_a_claim_whose_answer_is_lost_is_handed_back(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        claim, lost = claims.claim, list[int]()

        def claim_and_lose_the_answer(connection: object, *asked: object) -> object:
            taken = claim(connection, *asked)  # type: ignore[arg-type]
            if taken and not lost:
                lost.extend(each.id for each in taken)
                connection.commit()  # type: ignore[attr-defined]
                raise ConnectionResetError("the answer is lost")
            return taken

        @horae.job
        def work() -> int:
            return 1

        monkeypatch.setattr(claims, "claim", claim_and_lose_the_answer)
        async with running_node(horae):
            job = await horae.aio.jobs.start(work)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 1
        assert lost == [job.id]
        assert (horae.jobs.get(job.id).attempt, attempts_of(horae, job.id)) == (1, ["finished"])

    async def test_running_and_unwritten_jobs_are_not_handed_back_with_it(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, release, doubted = threading.Event(), threading.Event(), threading.Event()
        orphaned, claim = claims.find_orphaned, claims.claim
        runs: list[int] = []

        def claim_once_then_fail(connection: object, *asked: object) -> object:
            if begun.is_set() and not doubted.is_set():
                raise ConnectionResetError("no answer")
            return claim(connection, *asked)  # type: ignore[arg-type]

        def note(*arguments: object) -> object:
            doubted.set()
            return orphaned(*arguments)  # type: ignore[arg-type]

        @horae.job
        def work() -> int:
            runs.append(1)
            begun.set()
            release.wait(20)
            return len(runs)

        monkeypatch.setattr(claims, "claim", claim_once_then_fail)
        monkeypatch.setattr(claims, "find_orphaned", note)
        async with running_node(horae, timing=POLLS_QUICKLY):
            job = await horae.aio.jobs.start(work)
            await until_set(begun)
            await until_set(doubted)
            release.set()
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 1

    async def test_a_failed_hand_back_is_repeated(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun, release, failed = threading.Event(), threading.Event(), threading.Event()

        @horae.job
        async def quick() -> None: ...

        @horae.job
        def block() -> None:
            begun.set()
            release.wait(20)

        hand_back = claims.hand_back

        def fail_once(*arguments: object) -> object:
            if failed.is_set():
                return hand_back(*arguments)  # type: ignore[arg-type]
            failed.set()
            raise ConnectionResetError("no answer")

        monkeypatch.setattr(claims, "hand_back", fail_once)
        await horae.aio.jobs.start_many(quick, [{}] * 300)
        await horae.aio.jobs.start(block, priority=-1)
        for _ in range(5):
            await horae.aio.jobs.start(quick, priority=-2)
        async with running_node(horae, concurrency=1) as node:
            await until_set(begun)
            await until_set(failed)
            await until_after(
                signals_of(node).settled,
                lambda: states(horae) == {"finished": 300, "started": 1, "pending": 5},
            )
            release.set()
            await until_after(signals_of(node).settled, lambda: states(horae) == {"finished": 306})


class TestDelays:
    @pytest.mark.parametrize("slow_scan", [math.inf, 0.0])
    async def test_a_delayed_job_begins_when_it_is_due_however_seldom_an_idle_node_looks(
        self, horae: Horae, slow_scan: float
    ) -> None:
        """Also after claims that were slow, so that nobody reads when the next job is due."""
        polls = WorkerTiming(
            poll_with_hints=600.0, poll_idle=600.0, poll_without_hints=Pauses(600.0, 600.0)
        )

        @horae.job
        async def work() -> None: ...

        timing = Timing(worker=polls, claimer=ClaimerTiming(slow_scan=slow_scan))
        async with running_node(horae, timing=timing):
            first = await horae.aio.jobs.start(work, delay=timedelta(seconds=0.4))
            second = await horae.aio.jobs.start(work, delay=timedelta(seconds=0.8))
            await until_state(horae, first.id, "finished")
            await until_state(horae, second.id, "finished")

    async def test_jobs_that_no_node_can_run_are_not_read_repeatedly(
        self, horae: Horae, database: Database
    ) -> None:
        @horae.job
        async def work() -> None: ...

        with application(database) as other:

            @other.job
            def unknown_here() -> None: ...

            other.jobs.start("unknown_here")
        assert database.autocommit(claims.next_work).due_in == math.inf
        await horae.aio.jobs.start(work, delay=timedelta(hours=1))
        due_in = database.autocommit(claims.next_work).due_in
        assert due_in is not None
        assert 3590 < due_in <= 3600

    async def test_with_too_many_waiting_jobs_a_node_polls_as_before(
        self, horae: Horae, database: Database
    ) -> None:
        @horae.job
        async def work() -> None: ...

        await horae.aio.jobs.start_many(
            work, [{}] * claims.MOST_SCANNED, options=StartOptions(delay=timedelta(hours=1))
        )
        assert database.autocommit(claims.next_work).due_in is None


@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
class TestSlowLooks:
    """As if an old transaction had made it slow to look at everything (ADR 0008)."""

    SLOW = ClaimerTiming(slow_scan=-1.0, cursor_gain=0.0)

    async def test_jobs_of_any_priority_and_time_are_still_done(self, horae: Horae) -> None:
        @horae.job
        async def work() -> None: ...

        async with running_node(horae, timing=Timing(claimer=self.SLOW)) as node:
            for number in range(60):
                await horae.aio.jobs.start(work, priority=number % 3)
                execute(
                    horae,
                    "UPDATE horae_jobs SET run_at = run_at - interval '1 hour' WHERE state = 'pending'",
                )
            await until_after(
                signals_of(node).settled, lambda: states(horae) == Counter(finished=60)
            )

    async def test_no_other_query_looks_for_earlier_jobs_meanwhile(self, horae: Horae) -> None:
        timing = Timing(claimer=replace(self.SLOW, scan_rest=10**6))

        @horae.job
        async def work() -> None: ...

        async with running_node(horae, timing=timing):
            first = await horae.aio.jobs.start(work)
            await until_state(horae, first.id, "finished")
            waiting = await horae.aio.jobs.start(work, run_at=first.run_at - timedelta(hours=1))
            for priority in (0, -1):
                behind = await horae.aio.jobs.start(work, priority=priority)
                await until_state(horae, behind.id, "finished")
            assert (await horae.aio.jobs.get(waiting.id)).state is JobState.PENDING
