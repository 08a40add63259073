"""The figures that Prometheus asks for.

What is counted is the work of all nodes, since this process was first asked: let one process be scraped, or take the
largest of several, never their sum. Labels are bounded: types that are unknown here, and queues past the hundred
fullest, are `other`.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from horae.runtime.components import Components
from horae.runtime.node.node_status import look
from horae.storage.engine import unreadable_rows
from horae.storage.operations import metrics, queues
from horae.storage.operations.metrics import DURATION_BOUNDS, LATENESS_BOUNDS, PICK_UP_BOUNDS, Tally
from horae.storage.operations.queues import QueueView
from horae.storage.schedules import health
from horae.storage.schedules.health import OverdueSchedules

OTHER: Final = "other"
MOST_QUEUES: Final = 100


@dataclass(slots=True)
class Histogram:
    """A histogram that grows."""

    bounds: Sequence[float]
    total: float = 0.0
    count: int = 0
    counts: list[int] = field(default_factory=list[int])

    def add(self, total: float, count: int, counts: Sequence[int]) -> None:
        """Add what ended since."""
        self.total += total
        self.count += count
        before = self.counts or [0] * len(self.bounds)
        self.counts = [old + new for old, new in zip(before, counts, strict=True)]

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts by upper bound."""
        at_most = [(str(bound), float(count)) for bound, count in zip(self.bounds, self.counts, strict=True)]
        return [*at_most, ("+Inf", float(self.count))]


class Metrics(Collector):
    """Reads the figures when they are asked for."""

    def __init__(self, components: Components) -> None:
        self._components = components
        self._lock = threading.Lock()
        self._since: datetime | None = None
        self._ended: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._pick_up: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(PICK_UP_BOUNDS))
        self._duration: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(DURATION_BOUNDS))
        self._lateness: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(LATENESS_BOUNDS))
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """All figures in the text format."""
        return generate_latest(self._registry)

    @override
    def collect(self) -> Iterator[Metric]:
        with self._lock:
            self._advance()
            yield InfoMetricFamily("horae", "What answers.", {"version": version("horae")})
            yield from self._jobs()
        yield from _queues(self._components.database.autocommit(queues.view))
        yield from _overdue(self._components.database.autocommit(health.overdue))
        yield from self._nodes()
        yield _unreadable()

    def _advance(self) -> None:
        database = self._components.database
        until = database.autocommit(metrics.horizon)
        if self._since is not None and until > self._since:
            for tally in database.autocommit(metrics.tallies, self._since, until):
                self._add(tally)
            for late in database.autocommit(metrics.lateness, self._since, until):
                self._lateness[self._kind(late.type)].add(late.total, late.count, late.counts)
        self._since = max(until, self._since or until)

    def _add(self, tally: Tally) -> None:
        kind = self._kind(tally.type)
        self._ended[kind, tally.state.value] += tally.count
        self._pick_up[kind].add(tally.pick_up_sum, tally.started, tally.pick_up_counts)
        self._duration[kind].add(tally.duration_sum, tally.started, tally.duration_counts)

    def _kind(self, name: str) -> str:
        return name if self._components.registry.find(name) is not None else OTHER

    def _jobs(self) -> Iterator[Metric]:
        ended = CounterMetricFamily("horae_jobs", "Jobs that ended.", labels=["type", "outcome"])
        for (kind, outcome), count in sorted(self._ended.items()):
            ended.add_metric([kind, outcome], count)
        yield ended
        yield _histogram("horae_job_pick_up_seconds", "From due to started, of jobs that ended.", self._pick_up)
        yield _histogram("horae_job_duration_seconds", "From started to ended, of jobs that ended.", self._duration)
        text = "From nominal time to fired, of scheduled jobs that ended."
        yield _histogram("horae_schedule_lateness_seconds", text, self._lateness)

    def _nodes(self) -> Iterator[Metric]:
        seen = look(self._components.database)
        alive = [node.view for node in seen if node.alive and "worker" in node.view.roles]
        yield GaugeMetricFamily("horae_slots", "Jobs that live nodes run at a time.", sum(v.concurrency for v in alive))
        yield GaugeMetricFamily("horae_slots_used", "Jobs that live nodes hold.", sum(v.running for v in alive))
        nodes = GaugeMetricFamily("horae_nodes", "Nodes, by whether they live.", labels=["state"])
        nodes.add_metric(["alive"], sum(node.alive for node in seen))
        nodes.add_metric(["dead"], sum(not node.alive for node in seen))
        yield nodes


def _histogram(name: str, text: str, spreads: dict[str, Histogram]) -> Metric:
    family = HistogramMetricFamily(name, text, labels=["type"])
    for kind, spread in sorted(spreads.items()):
        family.add_metric([kind], spread.buckets(), spread.total)
    return family


def _unreadable() -> Metric:
    rows = GaugeMetricFamily("horae_unreadable_rows", "Rows that this process could not read.", labels=["table"])
    for table, count in sorted(unreadable_rows.count_by_table().items()):
        rows.add_metric([table], count)
    return rows


def _queues(views: Sequence[QueueView]) -> Iterator[Metric]:
    """Gauges by queue."""
    backlog = GaugeMetricFamily("horae_backlog_jobs", "Jobs that wait.", labels=["queue"])
    running = GaugeMetricFamily("horae_running_jobs", "Jobs that have started.", labels=["queue"])
    oldest = GaugeMetricFamily("horae_oldest_due_seconds", "How long the longest has been due.", labels=["queue"])
    paused = GaugeMetricFamily("horae_queue_paused", "Whether the queue is held.", labels=["queue"])
    fullest = sorted(views, key=lambda view: (-view.pending, view.name))
    named = {view.name: [view] for view in fullest[:MOST_QUEUES]}
    if fullest[MOST_QUEUES:]:
        named.setdefault(OTHER, []).extend(fullest[MOST_QUEUES:])
    for name, members in named.items():
        backlog.add_metric([name], sum(view.pending for view in members))
        running.add_metric([name], sum(view.started for view in members))
        oldest.add_metric([name], max(0.0, *(view.oldest_due or 0.0 for view in members)))
        paused.add_metric([name], sum(view.paused_at is not None for view in members))
    yield from (backlog, running, oldest, paused)


def _overdue(overdue: OverdueSchedules | None) -> Iterator[Metric]:
    """Gauges of what should have started long ago."""
    count, seconds = (0, 0.0) if overdue is None else (overdue.count, overdue.seconds)
    yield GaugeMetricFamily("horae_schedules_overdue", "Schedules that are more than a minute late.", count)
    yield GaugeMetricFamily("horae_oldest_overdue_seconds", "How late the latest of them is.", seconds)
