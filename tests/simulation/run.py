"""Runs one simulation: a cluster, its faults, and then the time in which everything due must get done."""

import gc
import logging
import sqlite3
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from operator import not_
from pathlib import Path
from typing import Final

from tests.simulation import world as worlds
from tests.simulation.cluster import LIMITS, Cluster
from tests.simulation.invariants import violations
from tests.simulation.plan import Plan
from tests.simulation.postgresql.replacements import of_postgresql
from tests.simulation.postgresql.server import DatabaseSource, Reader, SharedDatabase
from tests.simulation.replaced import simulated
from tests.simulation.storage import server_now
from tests.simulation.template import SharedFile, memory_folder
from tests.simulation.world import Surroundings, World

PATIENCE: Final = 240.0
"""Virtual seconds after the last fault in which all work must get done."""
COLLECT_AFTER: Final = 80
"""Simulated processes between two collections of garbage, because automatic ones take a tenth of the time."""
NOTICED_AFTER: Final = 2 * LIMITS.silence
"""Virtual seconds in which the rows of all killed nodes must be gone."""
STOPPING: Final = 30.0
"""Virtual seconds in which the nodes must have stopped."""


@dataclass(slots=True)
class Result:
    """What a simulation has shown."""

    plan: Plan
    violations: list[str]
    trace: list[str]
    failovers: int
    faults: Counter[str] = field(default_factory=Counter)
    virtual_seconds: float = 0.0
    jobs: int = 0


class Simulator:
    """Runs simulations one after another, on one file."""

    def __init__(self, shared: SharedFile | SharedDatabase, *, collects: bool) -> None:
        """`collects`: whether to collect garbage; not where the process ends before there is much of it."""
        self._shared, self._collects = shared, collects
        self._processes = 0
        self.file = shared.path
        """The database of the last simulation."""

    def run(self, plan: Plan) -> Result:
        """Run one simulation."""
        self._shared.reset()
        if self._shared.server is not None:
            plan = plan.on_server()
        around = surroundings_of(plan)
        around.server = self._shared.server
        around.connections, around.free_connections = (
            self._shared.connections,
            self._shared.free_connections,
        )
        world = World(str(plan.seed), around)
        worlds.enter(world)
        result = self._run(world, plan)
        self._processes += len(around.processes)
        if self._collects and self._processes >= COLLECT_AFTER:
            self._processes = 0
            gc.collect()
        return result

    def discard(self) -> None:
        """Remove the files, and the database on a server, in a process that is about to end."""
        self._shared.discard()

    def _run(self, world: World, plan: Plan) -> Result:
        cluster = Cluster(world, plan, self._shared.url)
        problems: list[str] = []
        try:
            with closing(self._shared.reader()) as reader:
                cluster.begin()
                if not world.run(
                    partial(not_, cluster.lives) if plan.lives else never, plan.active
                ):
                    world.now = plan.active
                cluster.settle()
                if not world.run(Watch(world, cluster, reader), plan.active + PATIENCE, every=0.5):
                    problems.append(f"work is left {PATIENCE:g} s after the last fault")
                answers = cluster.answers()
                cluster.stop()
                if not world.run(lambda: cluster.is_stopped, world.now + STOPPING):
                    problems.append(f"a node has not stopped within {STOPPING:g} s")
        finally:
            tear_down(world, cluster)
            self._shared.finish()
        with closing(self._shared.tables()) as database:
            database.row_factory = sqlite3.Row
            problems += (
                cluster.problems + world.surroundings.failures + violations(database, answers)
            )
            (jobs,) = database.execute("SELECT count(*) FROM horae_jobs").fetchone()
        return Result(
            plan, problems, world.trace, cluster.failovers, cluster.happened, world.now, jobs
        )


def never() -> bool:
    """Return that the faults of a plan last until its end."""
    return False


class Watch:
    """Whether everything is done, which queries of the tables show."""

    def __init__(self, world: World, cluster: Cluster, reader: sqlite3.Connection | Reader) -> None:
        self._world, self._cluster, self._reader = world, cluster, reader
        self._phase = 0
        self._faults_over = max(
            (fault.at + abs(fault.seconds) for fault in cluster.plan.faults), default=0.0
        )
        if (
            cluster.plan.lives
        ):  # the last ones were killed just now, which the others must notice before they stop
            self._faults_over = max(self._faults_over, world.now + NOTICED_AFTER)
        self._last_call = max((operation.at for operation in cluster.plan.operations), default=0.0)
        (self._mark,) = reader.execute(
            "SELECT coalesce(max(number), 0) FROM sim_history"
        ).fetchone()

    def __call__(self) -> bool:
        """Return whether everything is done."""
        if self._phase == 0:
            if self._world.now >= self._last_call and not self._cluster.caller.open_calls:
                self._phase = 1
                self._cluster.resume_queue()
            return False
        if self._phase == 1:
            now = server_now()
            (waiting,) = self._reader.execute(NOT_YET_FIRED, (self._mark, now, now)).fetchone()
            if not waiting:
                self._phase = 2
                self._cluster.pause_schedules()
            return False
        (left,) = self._reader.execute(LEFT).fetchone()
        return not left and self._world.now >= self._faults_over


NOT_YET_FIRED: Final = """
SELECT count(*) FROM horae_schedules AS s WHERE enabled AND NOT EXISTS (
    SELECT 1 FROM sim_history AS h WHERE h.schedule_id = s.id AND h.old_state IS NULL AND h.number > ?
) AND NOT EXISTS (  -- after a crash an interval schedule waits for five minutes
    SELECT 1 FROM horae_schedule_statistics AS x WHERE x.schedule_id = s.id AND s.trigger_kind = 'interval'
    AND x.total_crashes > 0 AND s.next_start BETWEEN ? AND ? + 310000000)
"""
LEFT: Final = """
SELECT (SELECT count(*) FROM horae_jobs WHERE state IN ('pending', 'started') OR node_id IS NOT NULL)
     + (SELECT count(*) FROM horae_jobs WHERE hook_owed IS NOT NULL AND hook_owed <> 'before_delete')
     + (SELECT count(*) FROM horae_schedules WHERE run_token IS NOT NULL)
"""


def surroundings_of(plan: Plan) -> Surroundings:
    """Return the surroundings that a plan names."""
    return Surroundings(
        heartbeats=plan.heartbeats,
        hints_work=plan.hints_work,
        hints_lost=plan.hints_lost,
        hints_doubled=plan.hints_doubled,
        hints_late=plan.hints_late,
        many_processes=bool(plan.lives),
    )


def tear_down(world: World, cluster: Cluster) -> None:
    """Release everything that the processes of a world hold."""
    for process in world.surroundings.processes:
        process.kill()
    world.end()
    for connection in world.surroundings.connections:
        connection.end()
    for place in cluster.places:
        for loop in place.loops:
            loop.unwind()


def abandon(_generator: object) -> None:
    """Leave an asynchronous generator of a killed process as it is; Python would run the rest of it."""


@contextmanager
def without_reports() -> Generator[None]:
    """Keep nodes and the remains of killed processes from writing to the log within the block."""
    nodes, pools = logging.getLogger("horae"), logging.getLogger("sqlalchemy.pool")
    propagate, nodes.propagate = nodes.propagate, False
    nodes.addHandler(logging.NullHandler())
    for logger in (nodes, pools):
        logger.setLevel(logging.CRITICAL + 1)
    finalizer = sys.get_asyncgen_hooks().finalizer
    sys.set_asyncgen_hooks(finalizer=abandon)
    try:
        yield
    finally:
        sys.set_asyncgen_hooks(finalizer=finalizer)
        for logger in (nodes, pools):
            logger.setLevel(logging.NOTSET)
        nodes.propagate = propagate


@contextmanager
def simulator(
    within: Path | None = None, *, collects: bool = True, source: DatabaseSource | None = None
) -> Generator[Simulator]:
    """Prepare simulations in this process; its files are in a new folder, within another one if that is given.

    `source`: the PostgreSQL server to use instead of SQLite, and the database to copy.
    """
    folder = memory_folder(within)
    shared = SharedFile(folder / "horae.db") if source is None else SharedDatabase(*source, folder)
    if collects:
        gc.collect()
    gc.freeze()
    gc.disable()
    try:
        with without_reports(), simulated(None if source is None else of_postgresql):
            yield Simulator(shared, collects=collects)
    finally:
        gc.enable()
        gc.unfreeze()
        shared.close()
