"""A machine that has no file descriptor or no thread left for a while: the node continues, and no job loses an attempt."""

import asyncio
import errno
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from horae import Horae, JobState
from horae.domain.cluster.liveness import LivenessLimits
from horae.domain.jobs import Claim
from horae.runtime.backends.dispatcher import Dispatcher
from horae.runtime.claims.peers import Peers
from horae.runtime.claims.worker import Worker
from horae.runtime.components import NodeOptions
from horae.runtime.journal.journal import Journal
from horae.runtime.liveness.heartbeat import Heartbeat, Watcher
from horae.runtime.liveness.membership import FileMembership
from horae.runtime.liveness.node_record import record_of
from horae.runtime.node.deploying import Deploying
from horae.runtime.node.incarnation import Incarnation
from horae.runtime.node.schema_watch import SchemaWatch
from horae.runtime.node.served_types import ServedTypes
from horae.runtime.signals import Signals
from horae.runtime.timing import ClaimerTiming, DispatcherTiming, HeartbeatTiming, Pauses, Timing
from horae.storage.engine.database import Database
from horae.types.hooks.hooks import Hooks
from horae.types.hooks.threads import HookThreads
from tests.harness.applications import application, own_engine, rows
from tests.harness.nodes import running_node, signals_of, until, until_set, until_state
from tests.harness.waiting import PATIENCE, Changes, until_after, until_logged

SOON = Timing(claimer=ClaimerTiming(avoided_for=Pauses(0.02, 0.1)), restart=Pauses(0.01, 0.1))


class Exhausted:
    """No thread can start while `now` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = threading.Event()
        self.tries = 0
        self.tried = Changes()
        self._start = threading.Thread.start
        monkeypatch.setattr(threading.Thread, "start", lambda thread: self._start_or_refuse(thread))  # noqa: PLW0108 - it is bound to the thread

    def _start_or_refuse(self, thread: threading.Thread) -> None:
        if self.now.is_set():
            self.tries += 1
            self.tried.notify()
            raise RuntimeError("can't start new thread")
        self._start(thread)


@pytest.fixture
def exhausted(monkeypatch: pytest.MonkeyPatch) -> Exhausted:
    return Exhausted(monkeypatch)


async def test_a_node_outlives_a_lack_of_descriptors(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    left = iter(range(2))

    def look(_membership: Any) -> bool:
        if next(left, None) is not None:
            raise OSError(errno.EMFILE, "Too many open files")
        return False

    monkeypatch.setattr(FileMembership, "may_miss_a_node", property(look))
    if database.dialect != "sqlite":
        monkeypatch.setattr(
            "horae.runtime.liveness.membership.DatabaseMembership.may_miss_a_node", property(look)
        )
    with application(database) as horae:
        async with running_node(with_work(horae)):
            await until_logged(caplog, "the sweeper failed for lack of a resource")
            job = await horae.aio.jobs.start("work")
            await until_state(horae, job.id, "finished")


async def test_every_service_of_a_node_is_restarted(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    services = {
        "the check of the file": (Incarnation, "_watch_file"),
        "the check of the schema": (SchemaWatch, "run"),
        "the refresh of calendars": (Deploying, "refresh_calendars"),
        "the reading of schedules": (Deploying, "reread_schedules"),
        "the view of other nodes": (Peers, "run"),
        "the registration of job types": (ServedTypes, "run"),
    }
    for service, name in services.values():
        monkeypatch.setattr(service, name, failing_once(getattr(service, name)))
    async with running_node(with_work(horae), timing=SOON):
        for text in services:
            await until_logged(caplog, f"{text} failed for lack of a resource and is restarted: ")
        job = await horae.aio.jobs.start("work")
        await until_state(horae, job.id, "finished")


def failing_once(service: Callable[..., Any]) -> Callable[..., Any]:
    failed = iter([True])

    async def run(*arguments: Any) -> None:
        if next(failed, False):
            raise OSError(errno.EMFILE, "Too many open files")
        await service(*arguments)

    return run


async def test_jobs_whose_threads_cannot_start_are_handed_back(
    horae: Horae, exhausted: Exhausted, caplog: pytest.LogCaptureFixture
) -> None:
    begun, release = threading.Event(), threading.Event()

    @horae.job
    def block() -> None:
        begun.set()
        release.wait(20)

    @horae.job(max_count=None)
    def work() -> None: ...

    async with running_node(horae, concurrency=3, timing=SOON) as node:
        blocked = await horae.aio.jobs.start(block)
        await until_set(begun)
        exhausted.now.set()
        waiting = await horae.aio.jobs.start_many(work, [{}] * 6)
        await until_after(exhausted.tried, lambda: exhausted.tries > 6)
        await until_logged(
            caplog, f"job {waiting[0]} (work) cannot begin yet: can't start new thread"
        )
        assert rows(horae, "SELECT * FROM horae_job_attempts WHERE outcome <> 'finished'") == []
        exhausted.now.clear()

        async def all_over() -> bool:
            return (await horae.aio.jobs.count()) == {JobState.STARTED: 1, JobState.FINISHED: 6}

        await until_after(signals_of(node).settled, all_over)
        release.set()
        await until_state(horae, blocked.id, "finished")
        incarnation = vars(vars(node)["_incarnation"])
        assert incarnation["_slots"].free == 3
        assert vars(incarnation["_executors"].threads)["_busy"] == 0
        assert incarnation["_worker"].running == {}
    assert {horae.jobs.get(job_id).attempt for job_id in waiting} == {1}


async def test_jobs_whose_begin_cannot_be_noted_are_handed_back(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begin, failed = Journal.begin, iter([True])

    def fail_once(journal: Journal, claim: Claim) -> None:
        if next(failed, False):
            raise OSError(errno.EROFS, "Read-only file system")
        begin(journal, claim)

    monkeypatch.setattr(Journal, "begin", fail_once)
    async with running_node(with_work(horae), timing=SOON):
        job = await horae.aio.jobs.start("work")
        await until_logged(caplog, f"job {job.id} (work) cannot begin yet: [Errno 30] Read-only")
        await until_state(horae, job.id, "finished")
    assert horae.jobs.get(job.id).attempt == 1


async def test_a_thread_that_is_left_runs_what_others_cannot(
    horae: Horae, exhausted: Exhausted
) -> None:
    """The node claims and settles with the threads that it has, and its one body thread runs all jobs."""

    @horae.job(max_count=None)
    def work() -> None: ...

    async with running_node(horae, concurrency=4, timing=SOON):
        first = await horae.aio.jobs.start(work)
        await until_state(horae, first.id, "finished")
        exhausted.now.set()
        jobs = await horae.aio.jobs.start_many(work, [{}] * 20)
        for job_id in jobs:
            await until_state(horae, job_id, "finished")
    assert {horae.jobs.get(job_id).attempt for job_id in jobs} == {1}


async def test_a_worker_that_is_restarted_does_not_search_for_lost_claims_for_ever(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failed = iter([True])
    wait = vars(Worker)["_wait"]

    async def fail_once(worker: Worker) -> None:
        if next(failed, False):
            with suppress(asyncio.CancelledError), vars(worker)["_lost_replies"].expect():
                raise asyncio.CancelledError  # a claim is cancelled before its answer comes
            raise OSError(errno.EMFILE, "Too many open files")
        await wait(worker)

    monkeypatch.setattr(Worker, "_wait", fail_once)
    async with running_node(with_work(horae), timing=SOON) as node:
        job = await horae.aio.jobs.start("work")
        await until_logged(
            caplog, "the worker failed for lack of a resource and is restarted: [Errno 24]"
        )
        await until_state(horae, job.id, "finished")
        [worker] = vars(vars(vars(node)["_incarnation"])["_worker"])["_workers"]
        await until(
            lambda: vars(vars(worker)["_lost_replies"])["_until"] < math.inf
        )  # not while a claim is under way


async def test_a_dispatcher_can_be_restarted(horae: Horae, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = Changes()

    def dispatch(_dispatcher: Dispatcher) -> bool:
        rounds.notify()
        return False

    monkeypatch.setattr(Dispatcher, "dispatch", dispatch)
    dispatcher = Dispatcher(horae.components, Signals(), DispatcherTiming(), Random(1))
    for _ in range(2):
        dispatched = rounds.wait()
        running = asyncio.ensure_future(dispatcher.run())
        async with asyncio.timeout(PATIENCE):
            await dispatched
        running.cancel()
        await asyncio.wait([running])


def test_a_commit_of_the_caller_needs_no_thread(
    horae: Horae, database: Database, exhausted: Exhausted
) -> None:
    """Its hint does, and is lost; nodes poll."""
    with_work(horae).open()
    with own_engine(database) as engine:
        with engine.begin() as connection:
            job = horae.jobs.start("work", session=connection)
            exhausted.now.set()
        exhausted.now.clear()
    assert exhausted.tries == 1
    assert horae.jobs.get(job.id).state is JobState.PENDING


def test_hooks_wait_for_a_thread(horae: Horae, exhausted: Exhausted) -> None:
    threads = HookThreads(Hooks(horae.components.database, horae.registry))
    exhausted.now.set()
    threads.call_due("work", 2)
    assert vars(threads)["_threads"] == {"work": []}


def test_a_heartbeat_goes_on_without_a_thread_to_take_over(
    exhausted: Exhausted, horae: Horae
) -> None:
    record = record_of(horae.registry, NodeOptions())
    beats = Heartbeat(
        horae.components.database, record, LivenessLimits(), HeartbeatTiming(), Watcher()
    )
    vars(beats)["_helper_at"] = float("inf")
    exhausted.now.set()
    now = vars(beats)["_checked_at"] + 1000.0
    beats._check(now)  # noqa: SLF001 - as its thread does
    assert exhausted.tries == 1


def with_work(horae: Horae) -> Horae:
    @horae.job
    def work() -> None: ...

    return horae
