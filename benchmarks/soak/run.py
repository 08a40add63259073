"""One soak on one database: nodes, load, clients and faults for some time, then the verdicts of all rules."""

import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from sqlalchemy import Engine, create_engine

from benchmarks.soak import application, checks, history, rules
from benchmarks.soak.calls import Calls
from benchmarks.soak.clients import Clients
from benchmarks.soak.faults import Disturbance, Faults
from benchmarks.soak.load import Load
from benchmarks.soak.measures import Measures, Sampler
from benchmarks.soak.nodes import Incarnation, SoakNode
from benchmarks.soak.rules import Bounds, PickUp, Verdict, Window
from horae import Horae
from tests.harness.network import Network
from tests.harness.postgres import PostgresServer

RECOVERED_AFTER: Final = 3.0
"""Seconds after a fault that still count as disturbed."""
UNEXPECTED_IN_LOG: Final = re.compile(
    r"^.*(never retrieved|was never awaited|Exception in thread|Exception ignored| ERROR asyncio).*$",
    re.MULTILINE,
)
"""Lines that no fault explains."""

SERVED: Final = ("http 200", "stream 200", "events")
"""What clients of the HTTP API must have got at least once."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is run, and for how long."""

    kind: str
    seconds: float
    seed: int
    rate: float
    fault_pause: tuple[float, float]
    """Seconds between two faults, at least and at most."""
    bounds: Bounds = field(default_factory=Bounds)
    application: str = "benchmarks.soak.application:horae"
    most_nodes: int = 3
    """Nodes, at most: two share a SQLite file, and the first is never killed."""
    forked: bool = False
    """Whether nodes are forked from a process that has imported Horae, so that a short run has more time for the rest."""

    @property
    def keep(self) -> float:
        """Seconds for which ended jobs are kept: short enough that the tables reach their size in the warm-up."""
        return min(60.0, max(2.0, self.seconds / 20))

    @property
    def window(self) -> Window:
        """The measured part: after a fifth of the time, at most five minutes."""
        return Window(min(self.seconds / 5, 300.0), self.seconds)

    @property
    def deadly(self) -> bool:
        """Return whether there is time for faults that last longer than a node may be silent."""
        return self.seconds >= 60

    @property
    def sample_every(self) -> float:
        """Seconds between two measurements."""
        return min(5.0, max(0.3, self.seconds / 300))


@dataclass
class Result:
    """What came of one soak."""

    plan: Plan
    verdicts: list[Verdict]
    faults: dict[str, int]
    calls: dict[str, int]
    refused: dict[str, int]
    jobs: dict[str, int]
    load_averages: tuple[float, float]
    """The median and the highest load average of the machine meanwhile."""
    measures: Measures

    @property
    def broken(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.kept is False]


@dataclass
class Soak:
    """Everything that takes part in one run."""

    plan: Plan
    folder: Path
    engine: Engine
    horae: Horae
    nodes: list[SoakNode]
    server: PostgresServer | None
    network: Network | None

    def __post_init__(self) -> None:
        draw = Random(self.plan.seed)
        self.calls = Calls()
        self.load = Load(self.horae, self.engine, self.plan.rate, Random(draw.random()), self.calls)
        self.clients = Clients(
            self._urls,
            min(15.0, max(4.0, self.plan.seconds / 4)),
            Random(draw.random()),
            self.calls,
        )
        self.faults = Faults(
            self.engine,
            self.nodes,
            self.server,
            self.network,
            Random(draw.random()),
            deadly=self.plan.deadly,
        )
        self.pauses = Random(draw.random())

    def run(self) -> Result:
        """Run for the planned time, let all work end, and judge."""
        history.keep_deleted_rows(self.engine)
        self.load.prepare()
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.ready()
        self.began, self.began_at = time.monotonic(), time.time()
        measuring = create_engine(self.engine.url, isolation_level="AUTOCOMMIT")
        self.sampler = Sampler(measuring, self._incarnations, self.plan.sample_every, self.began)
        self.sampler.start()
        self.load.start()
        self.clients.start()
        try:
            self._make_faults()
        finally:
            self.load.stop()
            self.clients.stop()
            self.sampler.stop()
            measuring.dispose()
        drained = self._drain()
        audited = checks.audit(
            self.horae.settings.database, self.plan.keep
        )  # while nodes are alive, as in production
        self.faults.ends += [node.end() for node in self.nodes]
        return self._judge(drained, audited)

    def _make_faults(self) -> None:
        """Make faults until the time is over, the last ones early enough that their effects are measured."""
        end = self.began + self.plan.seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(self.pauses.uniform(*self.plan.fault_pause), left))
            if time.monotonic() < end - 1:
                self.faults.make_one()

    def _drain(self) -> float:
        """Let all jobs end, and return the seconds that it took; infinite if they did not end."""
        began = time.monotonic()
        for _ in range(5):  # connections that a fault has ended fail once each
            if self.calls.attempt("let all run", self.load.let_all_run):
                break
        while time.monotonic() - began < 2 * self.plan.bounds.drained_within:
            with self.engine.connect() as connection:
                if not connection.scalar(history.OPEN):
                    return time.monotonic() - began
            time.sleep(0.2)
        return float("inf")

    def _judge(self, drained: float, audited: list[str]) -> Result:
        plan, bounds, url = self.plan, self.plan.bounds, self.horae.settings.database
        put_back = history.put_back(self.engine)
        verdicts = [
            *rules.growths(self.sampler.measures, plan.window, bounds, self._changes()),
            *rules.pick_ups(self._pick_ups(), plan.window, bounds),
            rules.rate(*self._moments(), plan.window, bounds),
            rules.longest(
                "rescue of jobs after kill -9", self.faults.rescues, bounds.rescued_within
            ),
            rules.longest(
                "end after SIGTERM",
                [(e.node, e.seconds) for e in self.faults.ends],
                bounds.ends_within,
            ),
            rules.none_of(
                "nodes end with code 0",
                [f"{e.node}: {e.code}" for e in self.faults.ends if e.code != 0],
            ),
            rules.longest("all jobs end", [("after the load", drained)], bounds.drained_within),
            rules.none_of("effects of faults pass", self.faults.failed),
            rules.none_of(
                "clients are served", [name for name in SERVED if not self.calls.made[name]]
            ),
            rules.none_of("no unexpected error of a call", self.calls.unexpected),
            rules.none_of("no unexpected error in a log", self._log_lines()),
            rules.none_of("deleted rows can be put back", put_back),
            rules.none_of("rules of the application", history.broken(self.engine)),
            rules.none_of("outside checker", checks.outside(url, self.folder / "bodies.log")),
            rules.none_of("horae audit", audited),
            rules.none_of("horae audit of the whole history", checks.audit(url)),
        ]
        return Result(
            plan=plan,
            verdicts=verdicts,
            faults=dict(self.faults.made),
            calls=dict(self.calls.made),
            refused=dict(self.calls.refused),
            jobs=history.jobs(self.engine),
            load_averages=self._load_averages(),
            measures=self.sampler.measures,
        )

    def _load_averages(self) -> tuple[float, float]:
        points = [
            point.value
            for series in self.sampler.measures.of("load average")
            for point in series.points
        ]
        return statistics.median(points or [0.0]), max(points, default=0.0)

    def _changes(self) -> dict[str, int]:
        """Return how many rows those tables may have that keep a row for each change."""
        made = self.calls.made
        reading = ("http", "stream", "events", "list", "start")
        calls = [
            *made.items(),
            *self.calls.refused.items(),
        ]  # one that was refused may have been made all the same
        changes = sum(number for name, number in calls if not name.startswith(reading))
        nodes = sum(len(node.incarnations) for node in self.nodes) + sum(self.faults.made.values())
        setup = len(application.SCHEDULES) + 10
        return {"horae_audit": changes + nodes + setup, "horae_deployments": made["deploy"] + 2}

    def _pick_ups(self) -> list[PickUp]:
        """Return the pick-ups of jobs that were due at a time without a fault."""
        return [
            PickUp(due - self.began_at, began - due)
            for due, began in history.pick_ups(self.engine)
            if not disturbed(due, self.faults.disturbances)
        ]

    def _moments(self) -> tuple[list[float], list[float]]:
        """Return when jobs were created and when they ended, in seconds since the begin."""
        created, ended = history.moments(self.engine)
        return [at - self.began_at for at in created], [at - self.began_at for at in ended]

    def _log_lines(self) -> list[str]:
        return [
            line
            for incarnation in self._all_incarnations()
            for line in unexpected_lines(incarnation.log)
        ]

    def _all_incarnations(self) -> list[Incarnation]:
        return [incarnation for node in self.nodes for incarnation in node.incarnations]

    def _incarnations(self) -> Sequence[Incarnation]:
        """Return the processes that are ready: while they start, their figures grow of course."""
        return [
            node.current
            for node in self.nodes
            if node.current.alive and node.current.url is not None
        ]

    def _urls(self) -> Sequence[str]:
        return [url for node in self.nodes if (url := node.current.url) is not None]


def disturbed(at: float, disturbances: Sequence[Disturbance]) -> bool:
    """Return whether a moment is within a fault or shortly after it."""
    return any(fault.began <= at <= fault.ended + RECOVERED_AFTER for fault in disturbances)


def unexpected_lines(log: Path) -> list[str]:
    """Return the lines of a log that no fault explains."""
    text = log.read_text(errors="replace")
    return [f"{log.name}: {line[0]}" for line in UNEXPECTED_IN_LOG.finditer(text)]
