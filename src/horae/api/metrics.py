"""Metrics for Prometheus.

Counters cover the jobs of all nodes from the start of this process on: scrape one process, or use
the largest value of several, never their sum. Those of known job types are there from the first
scrape on, at zero, so that Prometheus sees the first increase. The number of labels is limited: job
types that are unknown here, and all queues but those with the most pending jobs, count as `other`.
"""

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from typing import Any, Final, TypeAlias

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from horae.client.operations import Depth, depths
from horae.domain.jobs import ENDED
from horae.runtime.components import Components
from horae.runtime.node import living, look
from horae.storage.engine import unreadable_rows
from horae.storage.operations import DURATION_BOUNDS, LATENESS_BOUNDS, PICK_UP_BOUNDS, metrics
from horae.storage.queues import QueueView, queues
from horae.storage.schedules import health

OTHER: Final = "other"
QueueGauge: TypeAlias = tuple[str, Callable[[Sequence[Any]], float]]
"""The help of a gauge, and its value for the queues that share a label."""
QUEUE_GAUGES: Final[Mapping[str, QueueGauge]] = {
    "horae_backlog_jobs": ("Pending jobs.", lambda group: sum(each.pending for each in group)),
    "horae_running_jobs": ("Running jobs.", lambda group: sum(each.started for each in group)),
    "horae_oldest_due_seconds": (
        "For how long the longest waiting job has been due.",
        lambda group: max(0.0, *(each.oldest_due or 0.0 for each in group)),
    ),
    "horae_queue_paused": (
        "Whether the queue is paused.",
        lambda group: sum(each.is_paused for each in group),
    ),
}
DEPTH_GAUGES: Final[Mapping[str, QueueGauge]] = {
    "horae_queue_due_jobs": (
        "Due jobs that wait only for a slot.",
        lambda group: sum(each.due for each in group),
    ),
    "horae_queue_work_seconds": (
        "How long one slot would need for the due jobs.",
        lambda group: sum(each.work_seconds for each in group),
    ),
    "horae_queue_slots": (
        "Slots of the live nodes that can run the due jobs.",
        lambda group: max(each.slots for each in group),
    ),
    "horae_queue_seconds_ahead": (
        "How long these slots need for the due jobs.",
        lambda group: max(
            math.inf if each.seconds_ahead is None else each.seconds_ahead for each in group
        ),
    ),
}
"""Gauges of the work in each queue, for autoscalers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsLimits:
    """The delay before an ended job is counted, and the number of queues with own labels."""

    counted_after: float = 2.0
    """Seconds after which an end is counted; its transaction may take so long to be committed."""
    queues: int = 100
    """Maximum number of queues with labels of their own; Prometheus stores a time series for each.
    """


@dataclass(slots=True)
class Histogram:
    """A cumulative histogram."""

    bounds: Sequence[float]
    total: float = 0.0
    count: int = 0
    counts: list[int] = field(default_factory=list[int])

    def add(self, total: float, count: int, counts: Sequence[int]) -> None:
        """Add further observations."""
        self.total += total
        self.count += count
        before = self.counts or [0] * len(self.bounds)
        self.counts = [old + new for old, new in zip(before, counts, strict=True)]

    def buckets(self) -> list[tuple[str, float]]:
        """Return the cumulative counts by upper bound."""
        at_most = [
            (str(bound), float(count))
            for bound, count in zip(self.bounds, self.counts, strict=True)
        ]
        return [*at_most, ("+Inf", float(self.count))]


class Metrics(Collector):
    """Reads the metrics from the database at each scrape."""

    def __init__(self, components: Components, limits: MetricsLimits, begun: float) -> None:
        """`begun`: since when jobs are counted, on the monotonic clock."""
        self._components, self._limits, self._begun = components, limits, begun
        self._lock = threading.Lock()
        self._since: datetime | None = None
        self._ended: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._pick_up: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(PICK_UP_BOUNDS))
        self._duration: defaultdict[str, Histogram] = defaultdict(
            lambda: Histogram(DURATION_BOUNDS)
        )
        self._lateness: defaultdict[str, Histogram] = defaultdict(
            lambda: Histogram(LATENESS_BOUNDS)
        )
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """Return all metrics in the text format."""
        return generate_latest(self._registry)

    @override
    def collect(self) -> Iterator[Metric]:
        database = self._components.database
        with self._lock:
            self._count_ended()
            self._know_types()
            yield InfoMetricFamily(
                "horae", "The version of this process.", {"version": version("horae")}
            )
            ended = CounterMetricFamily("horae_jobs", "Ended jobs.", labels=["type", "outcome"])
            for labels, count in sorted(self._ended.items()):
                ended.add_metric(labels, count)
            yield ended
            for name, text, histograms in (
                ("horae_job_pick_up_seconds", "From due to started, of ended jobs.", self._pick_up),
                (
                    "horae_job_duration_seconds",
                    "From started to ended, of ended jobs.",
                    self._duration,
                ),
                (
                    "horae_schedule_lateness_seconds",
                    "From nominal time to fired, of ended jobs of schedules.",
                    self._lateness,
                ),
            ):
                family = HistogramMetricFamily(name, text, labels=["type"])
                for label, histogram in sorted(histograms.items()):
                    family.add_metric([label], histogram.buckets(), histogram.total)
                yield family
        views = database.autocommit(queues.view)
        views.sort(key=lambda view: (-view.pending, view.name))
        yield from self._by_queue(QUEUE_GAUGES, views)
        seen = look(database)
        found = sorted(
            depths(database, living(seen)).queues, key=lambda each: (-each.due, each.name)
        )
        yield from self._by_queue(DEPTH_GAUGES, found)
        overdue = database.autocommit(health.overdue)
        late, latest = (0, 0.0) if overdue is None else (overdue.count, overdue.seconds)
        yield GaugeMetricFamily(
            "horae_schedules_overdue", "Schedules that are more than a minute late.", late
        )
        yield GaugeMetricFamily(
            "horae_oldest_overdue_seconds", "How late the latest of them is.", latest
        )
        workers = [node.view for node in seen if node.alive and node.view.is_worker]
        slots = sum(view.concurrency for view in workers)
        yield GaugeMetricFamily("horae_slots", "Jobs that all live nodes can run at a time.", slots)
        used = sum(view.slots_used for view in workers)
        yield GaugeMetricFamily("horae_slots_used", "Slots of live nodes that are taken.", used)
        alive = sum(node.alive for node in seen)
        by_state = {"alive": alive, "dead": len(seen) - alive}
        yield _gauge("horae_nodes", "Nodes by state.", "state", by_state)
        yield _gauge(
            "horae_unreadable_rows",
            "Rows that this process could not read.",
            "table",
            unreadable_rows.count_by_table(),
        )

    def _count_ended(self) -> None:
        database = self._components.database
        until = database.autocommit(metrics.horizon, self._limits.counted_after)
        if self._since is None:
            elapsed = time.monotonic() - self._begun
            before = self._limits.counted_after + elapsed
            self._since = database.autocommit(metrics.horizon, before)
        if until > self._since:
            for tally in database.autocommit(metrics.tallies, self._since, until):
                label = self._label(tally.type)
                self._ended[label, tally.state.value] += tally.count
                self._pick_up[label].add(tally.pick_up_sum, tally.started, tally.pick_up_counts)
                self._duration[label].add(tally.duration_sum, tally.started, tally.duration_counts)
            for late in database.autocommit(metrics.lateness, self._since, until):
                self._lateness[self._label(late.type)].add(late.total, late.count, late.counts)
        self._since = max(until, self._since)

    def _know_types(self) -> None:
        """Let the counters of each known job type begin at zero."""
        for job_type in self._components.registry.by_name:
            for state in ENDED:
                self._ended[job_type, state.value] += 0
            for histograms in (self._pick_up, self._duration, self._lateness):
                histograms[job_type].add(0.0, 0, [0] * len(histograms[job_type].bounds))

    def _label(self, job_type: str) -> str:
        return job_type if self._components.registry.find(job_type) is not None else OTHER

    def _by_queue(
        self, gauges: Mapping[str, QueueGauge], ordered: Sequence[QueueView | Depth]
    ) -> Iterator[Metric]:
        """Yield gauges by queue: the first queues have labels of their own, the others `OTHER`."""
        most = self._limits.queues
        named = {queue.name: [queue] for queue in ordered[:most]}
        if ordered[most:]:
            named.setdefault(OTHER, []).extend(ordered[most:])
        for name, (text, of) in gauges.items():
            yield _gauge(name, text, "queue", {label: of(group) for label, group in named.items()})


def _gauge(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value_label, value in sorted(values.items()):
        family.add_metric([value_label], value)
    return family
