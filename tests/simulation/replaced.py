"""What the simulation replaces in Horae, each at its own seam; everything else is the real code.

- Clocks, threads, locks, queues and random numbers: the modules `time`, `threading`, `queue`, `random` and `secrets`, as
  Horae's modules see them. So the real thread pools, heartbeat threads and hook threads run, as simulated threads.
- The driver's SQLite connection (`storage.py`), and engines that share their compiled statements.
- The thread and the queue of `aiosqlite`, which the transactions of coroutines use.
- The process table: which processes of which host live.
- Hints: a channel that delivers them late, twice or never.
- The live store: a dictionary, which the side-car file would be.
- The heartbeat's helper process: a simulated thread. On SQLite the heartbeat's statements need another form than on
  PostgreSQL, and the session locks are kept by the world.
"""

import os
import random
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from random import Random
from types import ModuleType
from typing import Any, Final
from unittest import mock

import aiosqlite
import sqlalchemy.ext.asyncio
from sqlalchemy import (
    Boolean,
    Connection,
    Engine,
    create_engine,
    event,
    func,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncEngine
from typing_extensions import override

from horae.domain.cluster import ring
from horae.domain.jobs import JobId, NodeId, Wait
from horae.live import CancelRequest, LiveReport
from horae.runtime.executors import loop as loop_executor
from horae.runtime.journal import Begun, Journal, Journals
from horae.runtime.liveness import heartbeat, membership, node_record
from horae.runtime.liveness.identity import Process as ProcessIdentity
from horae.runtime.liveness.membership import LifeLock
from horae.runtime.node import incarnation
from horae.storage.engine import (
    Database,
    database,
    database_now,
    seconds_from_now,
    seconds_since,
    side_car_path,
)
from horae.storage.engine.sqlite import opening
from horae.storage.jobs import jobs, nodes
from horae.storage.nodes import nodes as node_statements
from horae.storage.schedules import plan_writing
from horae.wakeup import Hint
from horae.wakeup.channel import Listener
from tests.harness.statements import CompiledStatements
from tests.simulation import storage, threads, world
from tests.simulation.faults import Gate
from tests.simulation.loop import SimulatedAsyncio
from tests.simulation.world import Process

MODULES: Final[Mapping[Any, Any]] = {
    time: threads.SimulatedTime(),
    threading: threads.SimulatedThreading(),
    random: threads.SimulatedRandom(),
    secrets: threads.SimulatedSecrets(),
}
UNTOUCHED: Final = frozenset({"horae.forking"})
"""Modules whose locks exist before a simulation begins."""


@contextmanager
def simulated(of_storage: Callable[[], list[Any]] | None = None) -> Generator[None]:
    """Replace everything within the block; `of_storage`: what to replace for another database than SQLite."""
    replacements = [*_of_modules(), *(of_storage or _of_sqlite)(), *_of_nodes()]
    with _all(replacements):
        yield


def _of_modules() -> list[Any]:
    """Return the replacements of what Horae's modules have imported."""
    found = [
        mock.patch.object(module, name, MODULES[value])
        for module in _horae()
        for name, value in list(vars(module).items())
        if isinstance(value, ModuleType) and value in MODULES
    ]
    for module in _horae():
        if vars(module).get("JITTER") is plan_writing.JITTER:
            found.append(mock.patch.object(module, "JITTER", ProcessRandom()))
        if vars(module).get("SimpleQueue") is SimpleQueue:
            found.append(mock.patch.object(module, "SimpleQueue", threads.SimpleQueue))
    return found


def _of_sqlite() -> list[Any]:
    return [
        mock.patch.object(opening, "now", storage.server_now),
        mock.patch.object(opening, "DriverConnection", storage.connect),
        mock.patch.object(opening, "PatientConnection", storage.connect),
        mock.patch.object(database, "create_engine", shared_engine),
        mock.patch.object(sqlalchemy.ext.asyncio, "create_async_engine", shared_async_engine),
        mock.patch.object(aiosqlite.core, "Thread", threads.Thread),
        mock.patch.object(aiosqlite.core, "SimpleQueue", threads.SimpleQueue),
        mock.patch.object(aiosqlite.core, "Connection", ConnectionForCoroutines),
        mock.patch.object(database, "event", EngineEvents()),
        mock.patch.object(Database, "hang_up", hang_up),
        mock.patch.object(Database, "check_file", check_nothing),
        mock.patch.object(node_statements, "heartbeat", send_heartbeat),
        mock.patch.object(node_statements, "take_lock", take_lock),
        mock.patch.object(node_statements, "VIEW", _view()),
    ]


def _of_nodes() -> list[Any]:
    return [
        mock.patch.object(loop_executor, "asyncio", SimulatedAsyncio()),
        mock.patch.object(incarnation, "Random", process_random),
        mock.patch.object(ring, "_owners", owners_of),
        mock.patch.object(node_record, "new_node_id", new_node_id),
        mock.patch.object(incarnation, "Journals", SimulatedJournals),
        mock.patch.object(membership, "membership_of", membership_of_world),
        mock.patch.object(incarnation, "membership_of", membership_of_world),
        mock.patch.object(membership, "LifeLock", SimulatedLifeLock),
        mock.patch.object(membership, "is_gone", is_gone),
        mock.patch.object(membership, "clock", threads.boot_time),
        mock.patch.object(heartbeat, "clock", threads.boot_time),
        mock.patch.object(heartbeat, "start_helper", no_helper),
        mock.patch.object(node_record, "this_process", this_process),
        mock.patch.object(node_record, "version", cache(version)),  # reads a file of metadata
    ]


@contextmanager
def _all(replacements: Sequence[Any]) -> Generator[None]:
    started: list[Any] = []
    try:
        for replacement in replacements:
            replacement.start()
            started.append(replacement)
        yield
    finally:
        for replacement in reversed(started):
            replacement.stop()


def _horae() -> list[ModuleType]:
    return [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("horae.") and name not in UNTOUCHED
    ]


def hang_up(_database: Database) -> None:
    """Make the calls of the process fail that wait for an answer."""
    Gate.of(world.current().running.process).hang_up()


def check_nothing(_database: Database, *, now: bool = False) -> None:
    """Do nothing: the file of a simulation is always there."""
    del now


def no_helper(*_: Any) -> None:
    """Start no helper process. A mock would keep its arguments, and so each world, in memory."""


def process_random(*_: Any) -> Random:
    """Return random numbers that differ between processes and not between runs."""
    process = world.current().running.process
    return Random(process.random.random())


_compute_owners: Final = ring._owners  # noqa: SLF001 - replaced below


@lru_cache(maxsize=4096)
def _owners(nodes: tuple[NodeId, ...]) -> Any:
    return _compute_owners(nodes)


STAND_INS: Final = tuple(NodeId(f"stand-in {number}") for number in range(64))


def owners_of(nodes: Sequence[NodeId]) -> Any:
    """Compute a ring once for all processes and simulations, which saves a third of the time.

    In a storm the nodes are always new, so that the ring of as many others is taken, with their names replaced.
    """
    if not world.current().surroundings.many_processes:
        return _owners(tuple(nodes))
    names = dict(zip(STAND_INS, nodes, strict=False))
    return tuple(
        (names[first], names[second]) for first, second in _owners(STAND_INS[: len(nodes)])
    )


class ProcessRandom(Random):
    """The random numbers of whichever process runs."""

    @override
    def random(self) -> float:
        return world.current().running.process.random.random()


def new_node_id() -> NodeId:
    """Return an id that is the same in each simulation, so that rings need not be computed anew."""
    process = world.current().running.process
    return NodeId(f"{process.name}.{next(process.incarnations)}")


_compiled: Final[dict[str, CompiledStatements]] = {}
_dialects: Final[dict[str, Any]] = {}
_engines: Final[dict[str, Any]] = {}
"""An engine of each kind that no process uses, as making one takes longer than copying it."""


def shared_engine(url: Any, **options: Any) -> Engine:
    """Create an engine that shares its dialect and compiled statements with all others, which saves most of the time."""
    key = repr((url, options))
    if key not in _engines:
        _engines[key] = engine = create_engine(url, **options)
        shared = _dialects.setdefault(engine.driver, engine.dialect)
        engine.dialect = engine.pool._dialect = shared  # noqa: SLF001
        engine._compiled_cache = _compiled.setdefault(engine.driver, CompiledStatements())  # noqa: SLF001
    model, given = _engines[key], options.get("execution_options")
    engine = Engine(model.pool.recreate(), model.dialect, model.url, execution_options=given)
    engine._compiled_cache = model._compiled_cache  # noqa: SLF001
    return engine


def shared_async_engine(url: Any, **options: Any) -> AsyncEngine:
    """Create an engine for coroutines, as `shared_engine`."""
    return AsyncEngine(shared_engine(url, _is_async=True, **options))


class ConnectionForCoroutines(aiosqlite.Connection):
    """A connection that a killed process leaves open."""

    @override
    def __del__(self) -> None:
        """Do nothing."""


class EngineEvents:
    """The module `sqlalchemy.event`, without listeners to `do_connect`: they would add up on the shared dialect."""

    def listen(self, target: Any, name: str, listener: Any) -> None:
        """Listen to an event of one engine."""
        if name != "do_connect":
            event.listen(target, name, listener)


def this_process() -> ProcessIdentity:
    """Return the simulated process."""
    process = world.current().running.process
    return ProcessIdentity(process.host, process.pid, "0")


def is_gone(identity: ProcessIdentity) -> bool | None:
    """Return whether a process of this host has ended."""
    here = world.current()
    lane = here.lane
    if lane is not None and lane.process.host != identity.host:
        return None
    process = here.surroundings.processes_by_number.get(identity.pid)
    return process is None or process.dead


class SimulatedLifeLock(LifeLock):
    """A lock file that the system releases when the simulated process is killed."""

    @override
    def take(self) -> None:
        super().take()
        process = world.current().running.process
        now = process.clock.wall()
        os.utime(self._file, (now, now))  # the file is as old as the clock of its machine shows
        process.released_by_kill.append(self.release)


class SimulatedJournals(Journals):
    """Journals whose files are released when the process is killed, and which only processes of one host can read."""

    def __init__(self, db: Database, timing: Any, directory: Path | None = None) -> None:
        super().__init__(db, timing, directory)
        server = world.current().surroundings.server
        if server is not None:
            self.folder = server.path.with_name("nodes")
        elif (
            self.folder is None
        ):  # on a real server; its identity is not asked for, as that would be a step
            self.folder = Path(tempfile.gettempdir(), f"horae-{os.getuid()}")

    @override
    def open(self, journal: Journal, node: NodeId) -> None:
        super().open(journal, node)
        process = world.current().running.process
        process.released_by_kill.append(journal.release)
        process.world.surroundings.processes_of_nodes[node] = process

    @override
    def begun_by(self, node: NodeId, patience: float = 0.0) -> Begun:
        reader = world.current().running.process
        around = reader.world.surroundings
        writer = around.processes_of_nodes.get(node, reader)
        begun = super().begun_by(node, patience) if writer.host == reader.host else Begun(None)
        if writer.host != reader.host or not writer.dead:
            around.unreadable_journals.add(node)
        return begun


def membership_of_world(
    db: Database, record: Any, limits: Any, timing: Any
) -> membership.Membership:
    """Return the kind of membership that this world has: by file locks, or by heartbeats."""
    if world.current().surroundings.heartbeats:
        return membership.DatabaseMembership(db, record, limits, timing)
    return membership.FileMembership(db, record, side_car_path(db, "nodes"), timing)


BEAT: Final = update(nodes).values(heartbeat_at=database_now()).returning(nodes.c.id)


def send_heartbeat(connection: Connection, node: NodeId, beat: Any = BEAT) -> int | None:
    """Renew a heartbeat by two statements, because SQLite's RETURNING cannot use the table in two roles."""
    if connection.execute(beat.where(nodes.c.id == node)).scalar_one_or_none() is None:
        return None
    suspects = select(func.count()).where(
        nodes.c.id != node,
        or_(
            nodes.c.heartbeat_at < seconds_from_now(-node_statements.SUSPECT_AFTER),
            nodes.c.process_ended,
        ),
    )
    return connection.execute(suspects).scalar_one()


def take_lock(connection: Connection, key: int) -> bool:
    """Take a session lock, which ends with its connection or process."""
    process = world.current().running.process
    locks = process.world.surroundings.session_locks
    if key in locks and locks[key] is not process and not locks[key].dead:
        return False
    locks[key] = process
    return True


def _view() -> Any:
    running = select(func.count()).where(jobs.c.node_id == nodes.c.id).scalar_subquery()
    free = literal_column("horae_lock_free(horae_nodes.lock_key)", Boolean())
    return select(
        nodes,
        seconds_since(nodes.c.heartbeat_at).label("silence"),
        free.label("lock_free"),
        running.label("running"),
    ).order_by(nodes.c.started_at, nodes.c.id)


class SimulatedChannel:
    """Hints between the processes of a world: late, twice, or lost."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._random = Random(f"{process.world.seed} {process.name} hints")
        self.listens = True

    @property
    def connected(self) -> bool:
        """Return whether hints arrive at present."""
        around = self.process.world.surroundings
        return around.hints_work and self.process.world.now >= around.hints_off_until

    def piggyback(self, hint: Hint) -> None:
        """Return None: hints do not pass through the database here."""

    def send(self, hint: Hint, *, piggybacked: bool = False) -> None:
        """Send a hint to all processes."""
        here = self.process.world
        around = here.surroundings
        if not self.connected:
            return
        for process, listener in list(around.listeners):
            for _ in range(2 if self._random.random() < around.hints_doubled else 1):
                if self._random.random() >= around.hints_lost:
                    delay = self._random.expovariate(1.0) * around.hints_late
                    here.at(here.now + delay, partial(_deliver, process, listener, hint))

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call a listener for each hint."""
        listeners = self.process.world.surroundings.listeners
        entry = (self.process, listener)
        listeners.append(entry)
        return partial(_unsubscribe, listeners, entry)

    def close(self) -> None:
        """Do nothing."""


def _deliver(process: Process, listener: Listener, hint: Hint) -> None:
    if not process.dead:
        listener(hint)


def _unsubscribe(listeners: list[Any], entry: Any) -> None:
    if entry in listeners:
        listeners.remove(entry)


class SimulatedLiveStore:
    """The live store of a world, which all its processes share; it outlives them."""

    def __init__(self) -> None:
        self.reports: dict[JobId, LiveReport] = {}
        self.requests: dict[JobId, CancelRequest] = {}
        self.waiting: list[Wait] = []

    def publish(self, reports: Sequence[LiveReport]) -> None:
        """Write the reports."""
        for report in reports:
            old = self.reports.get(report.job_id)
            if old is None or (report.lease, report.progress_percentage) >= (
                old.lease,
                old.progress_percentage,
            ):
                self.reports[report.job_id] = report

    def read(self, job_ids: Collection[JobId]) -> Mapping[JobId, LiveReport]:
        """Return the latest reports of these jobs."""
        return {job_id: self.reports[job_id] for job_id in job_ids if job_id in self.reports}

    def request_cancel(self, job_id: JobId, request: CancelRequest) -> None:
        """Ask the body of this job to stop."""
        old = self.requests.get(job_id)
        self.requests[job_id] = (
            request if old is None else CancelRequest(old.by, forced=old.forced or request.forced)
        )

    def cancel_requests(
        self, job_ids: Collection[JobId], *, thorough: bool = False
    ) -> Mapping[JobId, CancelRequest]:
        """Return the requests for these jobs."""
        return {job_id: self.requests[job_id] for job_id in job_ids if job_id in self.requests}

    def begin_wait(self, wait: Wait) -> None:
        """Record for what a body waits."""
        self.waiting.append(wait)

    def end_wait(self, wait: Wait) -> None:
        """Record that this wait is over."""
        self.waiting.remove(wait)

    def waits(self) -> Sequence[Wait]:
        """Return the waits of all bodies."""
        return list(self.waiting)

    def reported(self, after: JobId, limit: int) -> Sequence[JobId]:
        """Return the jobs with reports or waits, in order."""
        known = {*self.reports, *(wait.job_id for wait in self.waiting)}
        return sorted(job_id for job_id in known if job_id > after)[:limit]

    def forget(self, job_ids: Collection[JobId]) -> None:
        """Delete reports, requests and waits."""
        self.waiting = [wait for wait in self.waiting if wait.job_id not in job_ids]
        for job_id in job_ids:
            self.reports.pop(job_id, None)
            self.requests.pop(job_id, None)

    def follow(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Do nothing: readers poll."""
        return lambda: None

    def lose_everything(self) -> None:
        """Lose the content, as if the file was deleted."""
        self.reports.clear()
        self.requests.clear()
        self.waiting.clear()

    def close(self) -> None:
        """Do nothing."""
