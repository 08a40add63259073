"""Nodes that are killed and stopped at random while they work, and the rules that must hold afterwards."""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final, Self

from sqlalchemy import Connection, text

from horae import DatabaseUnavailable, Horae
from horae.storage.engine import Database
from tests.harness.checked import findings
from tests.harness.fault_application import FAIR, MEMBERS, SCHEMA, fault_application
from tests.harness.figures import quantiles
from tests.harness.node_processes import BODY_LOG, NodeProcess, wait_until

KINDS: Final = ("threaded", "looped", "fragile")
OPTIONS: Final = ("metered", "shared", "polled")
OWNERS: Final = ("ann", "bob", "carol")
PENDING_AT_LEAST: Final = 60
"""Pending jobs below which more are added, so that no node is idle."""
BATCH: Final = 30
"""Jobs of each kind that are added at once."""
DEAD_CONNECTIONS: Final = 20
"""Connections of the pool that a restart of the server may have ended."""

HELD: Final = text("SELECT count(*) FROM horae_jobs WHERE node_id = :node")
STARTED: Final = text("SELECT count(*) FROM horae_jobs WHERE node_id = :node AND state = 'started'")
PENDING: Final = text("SELECT count(*) FROM horae_jobs WHERE state = 'pending'")
ACTIVE: Final = text(
    "SELECT count(*) FROM horae_jobs WHERE finished_at IS NULL OR node_id IS NOT NULL"
)
CRASHES: Final = text("SELECT count(*) FROM horae_job_attempts WHERE outcome = 'crashed'")
STATES: Final = text(
    "SELECT type, state, count(*) FROM horae_jobs GROUP BY type, state ORDER BY type, state"
)

FAILED_WITHOUT_A_CRASH: Final = text(
    "SELECT id FROM horae_jobs WHERE state = 'failed' AND NOT EXISTS "
    "(SELECT 1 FROM horae_job_attempts WHERE job_id = id AND outcome IN ('crashed', 'failed'))"
)


@dataclass
class Chaos:
    """Some nodes on one database, work for them, and random faults from a seed."""

    database: Database
    logs: Path
    seed: int
    nodes: int = 3
    silence: float = 2.0
    kills: int = 0
    stops: int = 0
    recoveries: list[float] = field(default_factory=list[float])

    def __enter__(self) -> Self:
        self.draw = Random(self.seed)
        self._stack = ExitStack()
        self.database.transact(lambda connection: connection.execute(text(SCHEMA)))
        self.horae: Horae = fault_application(
            self.database.url.render_as_string(hide_password=False)
        )
        self._stack.callback(self.horae.close)
        self.horae.queues.fair(FAIR, "owner")
        self.processes = [self._started() for _ in range(self.nodes)]
        for process in self.processes:
            process.ready()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def feed(self) -> None:
        """Add jobs if too few are pending."""
        if self._one(PENDING) < PENDING_AT_LEAST:
            for kind in KINDS:
                seeds = [{"seed": self.draw.randrange(1_000_000)} for _ in range(BATCH)]
                self._again(partial(self.horae.jobs.start_many, kind, seeds))
            self._feed_with_options()

    def _feed_with_options(self) -> None:
        """Add a few jobs of the kinds about which the outside checker knows rules of their own."""
        seeds = [{"seed": self.draw.randrange(1_000_000)} for _ in range(MEMBERS)]
        for kind in OPTIONS:
            self._again(
                partial(self.horae.jobs.start_many, kind, seeds, owner=self.draw.choice(OWNERS))
            )
        self._again(partial(self.horae.jobs.start, "single", seed=self.draw.randrange(2)))
        members = [("polled", seed) for seed in seeds]
        self._again(partial(self.horae.jobs.start_group, members, then="combined"))

    def kill(self) -> None:
        """Kill a node that has work, and measure how long it takes until its jobs are rescued.

        All others have started before: else the figure could be the time that a replacement takes to start.
        """
        for living in self.processes:
            living.ready()
        process = self.draw.choice(self.processes)
        node = self._busy(process)
        process.kill()
        begun = time.monotonic()
        self.kills += 1
        self._replace(process)
        wait_until(lambda: not self._one(HELD, node=node))
        self.recoveries.append(time.monotonic() - begun)

    def kill_quickly(self) -> None:
        """Kill a node at any moment, perhaps while it starts."""
        process = self.draw.choice(self.processes)
        self._pause(self.draw.uniform(0.0, 0.5))
        process.kill()
        self.kills += 1
        self._replace(process)

    def stop_and_go_on(self) -> None:
        """Stop a node that has work until others consider it dead, and continue it."""
        process = self.draw.choice(self.processes)
        self._busy(process)
        process.stop()
        self.stops += 1
        try:
            self._pause(self.silence * self.draw.uniform(1.2, 2.0))
        finally:
            process.go_on()

    def restart_ended(self) -> None:
        """Start nodes again that have ended by themselves, as a process manager does.

        A node whose database fails while it starts ends: the settings may be wrong.
        """
        for process in self.processes:
            if process.process.poll() is not None:
                self._replace(process)

    def finish(self, *, restarting: bool = False) -> None:
        """Wait until all jobs have ended, and stop the nodes in order. `restarting`: some may not have started."""

        def is_over() -> bool:
            if restarting:
                self.restart_ended()
            return not self._one(ACTIVE)

        wait_until(is_over, within=90)
        for process in self.processes:
            process.end()

    def findings(self, *, interrupted: bool = False) -> list[str]:
        """Return the rules that are broken. `interrupted`: connections to the database were cut meanwhile."""
        log, frozen = self.logs / BODY_LOG, interrupted or self.stops > 0
        failed = [
            f"job {job} failed without a crash" for (job,) in self._all(FAILED_WITHOUT_A_CRASH)
        ]
        return failed + findings(self.database, log, frozen_processes=frozen)

    def summary(self) -> str:
        """Summarize the faults and the outcomes of the jobs."""
        ended = ", ".join(f"{kind} {state} {count}" for kind, state, count in self._all(STATES))
        crashes = self._one(CRASHES)
        faults = f"{self.kills} kills, {self.stops} stops, {crashes} attempts crashed"
        return f"seed {self.seed}: {faults}; rescued within {quantiles(self.recoveries)}; {ended}"

    def _started(self) -> NodeProcess:
        return self._stack.enter_context(
            NodeProcess(self.database, self.logs, silence=self.silence)
        )

    def _replace(self, process: NodeProcess) -> None:
        self.processes[self.processes.index(process)] = self._started()

    def _busy(self, process: NodeProcess) -> str:
        """Wait until the node runs jobs, and return its id."""

        def working() -> str | None:
            self.feed()
            node = process.node
            return node if node is not None and self._one(STARTED, node=node) else None

        found = wait_until(working, within=60)
        assert found is not None
        return found

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        wait_until(lambda: time.monotonic() >= end, within=seconds + 60)

    def _one(self, statement: Any, **values: Any) -> int:
        return int(self._ask(lambda connection: connection.execute(statement, values).scalar_one()))

    def _all(self, statement: Any) -> list[Any]:
        return list(self._ask(lambda connection: connection.execute(statement).all()))

    def _ask(self, question: Callable[[Connection], Any]) -> Any:
        return self._again(lambda: self.database.autocommit(question))

    def _again(self, call: Callable[[], Any]) -> Any:
        """Call, and repeat the call for each connection that the restart of a server has ended."""
        for _ in range(DEAD_CONNECTIONS):
            with suppress(DatabaseUnavailable):
                return call()
        return call()
