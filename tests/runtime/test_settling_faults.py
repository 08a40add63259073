"""Ends that the database does not accept: they are repeated while the node lives, and delay no others."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable

import psycopg
import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from horae import Horae, JobState
from horae.domain.jobs import UNSTORABLE_TEXT
from horae.domain.jobs.job import JobState as State
from horae.runtime.timing import Pauses, SettlerTiming, ShutdownTiming, Timing, WorkerTiming
from horae.storage.jobs import claims
from horae.storage.outcomes import settling
from tests.harness.applications import attempts_of, rows
from tests.harness.nodes import running_node, signals_of, until, until_set, until_state
from tests.harness.waiting import until_after

Refuse = Callable[[psycopg.Error, int], None]


class Refusal:
    """A database that refuses the end of one job for as long as it is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, origin: psycopg.Error) -> None:
        self.job_id: int | None = None
        self.refused = threading.Event()
        self.only = frozenset(State)
        settle = settling.settle

        def refuse(
            connection: Connection, node: object, settlements: object, *more: object
        ) -> object:
            asked = {item.id for item in settlements if item.state in self.only}  # type: ignore[attr-defined]
            if self.job_id in asked:
                self.refused.set()
                raise DBAPIError.instance("UPDATE", (), origin, psycopg.Error)
            return settle(connection, node, settlements, *more)  # type: ignore[arg-type]

        monkeypatch.setattr(settling, "settle", refuse)


def count(horae: Horae) -> Counter[str]:
    return Counter(
        dict(
            tuple(row)
            for row in rows(horae, "SELECT state, count(*) FROM horae_jobs GROUP BY state")
        )
    )


async def test_a_statement_that_is_never_accepted_delays_the_others_briefly(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = Refusal(
        monkeypatch, psycopg.errors.InternalError_("invalid memory alloc request size")
    )
    ran = Counter[int]()

    @horae.job(max_count=None)
    async def work(number: int) -> int:
        ran[number] += 1
        return number

    ids = await horae.aio.jobs.start_many(work, [{"number": number} for number in range(60)])
    refusal.job_id = ids[7]
    async with running_node(horae) as node:
        await until_after(
            signals_of(node).settled, lambda: count(horae) == {"finished": 59, "started": 1}
        )
        later = await horae.aio.jobs.start(work, number=60)
        await until_state(horae, later.id, "finished")
        refusal.job_id = None
        done = await until_state(horae, ids[7], "finished", "failed")
    assert (done.state, done.result, attempts_of(horae, done.id)) == (
        JobState.FINISHED,
        7,
        ["finished"],
    )
    assert set(ran.values()) == {1}


async def test_a_result_that_is_refused_fails_only_its_job(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = Refusal(monkeypatch, psycopg.errors.ProgramLimitExceeded("too large"))
    refusal.only = frozenset({State.FINISHED})

    @horae.job(max_count=None)
    async def work(number: int) -> int:
        return number

    ids = await horae.aio.jobs.start_many(work, [{"number": number} for number in range(40)])
    refusal.job_id = ids[7]
    async with running_node(horae) as node:
        await until_after(
            signals_of(node).settled, lambda: count(horae) == {"finished": 39, "failed": 1}
        )
    failed = horae.jobs.get(ids[7])
    assert (failed.human_readable_error, attempts_of(horae, failed.id)) == (
        UNSTORABLE_TEXT,
        ["failed"],
    )


async def test_not_even_its_failure_is_forgotten(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = Refusal(monkeypatch, psycopg.errors.CheckViolation("a trigger of the application"))

    release = asyncio.Event()

    @horae.job
    async def work() -> int:
        await release.wait()
        return 1

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        refusal.job_id = job.id
        release.set()
        await until_set(refusal.refused)
        refusal.job_id = None
        await until_state(horae, job.id, "finished", "failed")
    assert len(attempts_of(horae, job.id)) == 1


async def test_a_hand_back_is_repeated(horae: Horae, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes: longer than a claim without an answer is looked for."""
    begun, release, failures = threading.Event(), threading.Event(), list[int]()
    hand_back = claims.hand_back

    def fail_thrice(*arguments: object) -> object:
        if len(failures) == 3:
            return hand_back(*arguments)  # type: ignore[arg-type]
        failures.append(1)
        raise DBAPIError.instance(
            "UPDATE", (), psycopg.errors.ReadOnlySqlTransaction(), psycopg.Error
        )

    @horae.job
    async def quick() -> None: ...

    @horae.job
    def block() -> None:
        begun.set()
        release.wait(20)

    monkeypatch.setattr(claims, "hand_back", fail_thrice)
    await horae.aio.jobs.start_many(quick, [{}] * 300)
    await horae.aio.jobs.start(block, priority=-1)
    for _ in range(5):
        await horae.aio.jobs.start(quick, priority=-2)
    async with running_node(
        horae, concurrency=1, timing=Timing(worker=WorkerTiming(lost_reply_window=0.0))
    ) as node:
        await until_set(begun)
        await until_after(
            signals_of(node).settled,
            lambda: count(horae) == {"finished": 300, "started": 1, "pending": 5},
        )
        assert len(failures) == 3
        release.set()
        await until_after(signals_of(node).settled, lambda: count(horae) == {"finished": 306})


async def test_a_node_that_stops_names_each_job_without_a_result_once(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = Refusal(monkeypatch, psycopg.errors.ReadOnlySqlTransaction())
    timing = Timing(
        settler=SettlerTiming(retry=Pauses(60.0, 60.0)), shutdown=ShutdownTiming(after_grace=0.6)
    )

    @horae.job
    async def work() -> None:
        await release.wait()

    release = asyncio.Event()
    async with running_node(horae, timing=timing):
        job = await horae.aio.jobs.start(work)
        refusal.job_id = job.id
        release.set()
        await until(lambda: "1 result not written yet" in caplog.text)
    assert "the results of 1 job could not be written" in caplog.text
    assert f"unfinished: {job.id}\n" in caplog.text
