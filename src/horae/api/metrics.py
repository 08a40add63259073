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
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
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
from horae.storage.engine import read_clock, unreadable_rows
from horae.storage.operations import DURATION_BOUNDS, LATENESS_BOUNDS, PICK_UP_BOUNDS, metrics
from horae.storage.queues import QueueView, queues
from horae.storage.schedules import health

OTHER: Final = "other"


@dataclass(frozen=True, slots=True)
class Declared:
    """A metric as it is declared; the reference is written from all of these."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: str = "gauge"

    def family(self) -> Any:
        """Return it without samples."""
        return FAMILIES[self.kind](self.name, self.help, labels=self.labels)

    def with_values(self, values: Mapping[tuple[str, ...], float]) -> Any:
        """Return it with a sample for each combination of values of its labels."""
        family = self.family()
        for labels, value in sorted(values.items()):
            family.add_metric(labels, value)
        return family


FAMILIES: Final[Mapping[str, Callable[..., Metric]]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
    "histogram": HistogramMetricFamily,
}
_by_type: Final = ("type",)
_of_queue: Final = ("queue",)
VERSION: Final = Declared("horae", "the version of this process", ("version",), "info")
JOBS: Final = Declared("horae_jobs", "jobs that ended", ("type", "outcome"), "counter")
PICK_UP: Final = Declared(
    "horae_job_pick_up_seconds", "from the due time to the start", _by_type, "histogram"
)
DURATION: Final = Declared(
    "horae_job_duration_seconds", "from the start to the end", _by_type, "histogram"
)
LATENESS: Final = Declared(
    "horae_schedule_lateness_seconds",
    "from the nominal time to the decision, of scheduled jobs that ended",
    _by_type,
    "histogram",
)
OVERDUE: Final = Declared("horae_schedules_overdue", "schedules that are more than a minute late")
OLDEST_OVERDUE: Final = Declared(
    "horae_oldest_overdue_seconds", "how many seconds late the oldest of them is"
)
SLOTS: Final = Declared("horae_slots", "slots of all live nodes")
SLOTS_USED: Final = Declared("horae_slots_used", "how many of them are taken")
NODES: Final = Declared("horae_nodes", "nodes, `alive` and `dead`", ("state",))
UNREADABLE: Final = Declared(
    "horae_unreadable_rows", "rows that this process found and could not read", ("table",)
)
QueueGauge: TypeAlias = tuple[Declared, Callable[[Sequence[Any]], float]]
"""A gauge, and its value for the queues that share a label."""
QUEUE_GAUGES: Final[Sequence[QueueGauge]] = (
    (
        Declared("horae_backlog_jobs", "jobs that are waiting", _of_queue),
        lambda group: sum(each.pending for each in group),
    ),
    (
        Declared("horae_running_jobs", "jobs that have started", _of_queue),
        lambda group: sum(each.started for each in group),
    ),
    (
        Declared(
            "horae_oldest_due_seconds", "how many seconds the oldest due job has waited", _of_queue
        ),
        lambda group: max(0.0, *(each.oldest_due or 0.0 for each in group)),
    ),
    (
        Declared("horae_queue_paused", "1 while the queue is paused", _of_queue),
        lambda group: sum(each.is_paused for each in group),
    ),
)
DEPTH_GAUGES: Final[Sequence[QueueGauge]] = (
    (
        Declared("horae_queue_due_jobs", "due jobs that wait only for a slot", _of_queue),
        lambda group: sum(each.due for each in group),
    ),
    (
        Declared(
            "horae_queue_work_seconds", "how many seconds one slot would need for them", _of_queue
        ),
        lambda group: sum(each.work_seconds for each in group),
    ),
    (
        Declared(
            "horae_queue_slots",
            "slots of the live nodes that can run them, at most the limit of the queue",
            _of_queue,
        ),
        lambda group: max(each.slots for each in group),
    ),
    (
        Declared(
            "horae_queue_seconds_ahead",
            "how many seconds these slots need: the time that a new job waits",
            _of_queue,
        ),
        lambda group: max(
            math.inf if each.seconds_ahead is None else each.seconds_ahead for each in group
        ),
    ),
)
"""Gauges of the work in each queue, for autoscalers."""
DECLARED: Final[Sequence[Declared]] = (
    JOBS,
    PICK_UP,
    DURATION,
    LATENESS,
    OVERDUE,
    OLDEST_OVERDUE,
    *(gauge for gauge, _ in QUEUE_GAUGES),
    *(gauge for gauge, _ in DEPTH_GAUGES),
    SLOTS,
    SLOTS_USED,
    NODES,
    UNREADABLE,
    VERSION,
)
"""All metrics, in the order of the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsLimits:
    """The delay before an ended job is counted, and the number of queues with own labels."""

    counted_after: float = 2.0
    """Seconds after which an end is counted; its transaction may take so long to be committed."""
    queues: int = 100
    """Maximum number of queues with labels of their own; Prometheus stores a time series for each.
    """


class Histogram:
    """A cumulative histogram."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts = bounds, [0] * len(bounds)
        self.total, self.count = 0.0, 0

    def add(self, total: float, count: int, counts: Sequence[int]) -> None:
        """Add further observations."""
        self.total += total
        self.count += count
        self.counts = [old + new for old, new in zip(self.counts, counts, strict=True)]

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
        self._ended: defaultdict[tuple[str, ...], int] = defaultdict(int)
        self._histograms = {
            declared: defaultdict[str, Histogram](partial(Histogram, bounds))
            for declared, bounds in (
                (PICK_UP, PICK_UP_BOUNDS),
                (DURATION, DURATION_BOUNDS),
                (LATENESS, LATENESS_BOUNDS),
            )
        }
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
            # The counters of each known job type begin at zero.
            for job_type in self._components.registry.by_name:
                for state in ENDED:
                    self._ended[job_type, state.value] += 0
                for histograms in self._histograms.values():
                    _ = histograms[job_type]
            yield InfoMetricFamily(VERSION.name, VERSION.help, {"version": version("horae")})
            yield JOBS.with_values(self._ended)
            for declared, histograms in self._histograms.items():
                family = declared.family()
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
        late = database.autocommit(health.late, health.OVERDUE.total_seconds(), 1)
        yield OVERDUE.with_values({(): late.count})
        yield OLDEST_OVERDUE.with_values(
            {(): max((each.seconds for each in late.latest), default=0.0)}
        )
        workers = [node.view for node in seen if node.alive and node.view.is_worker]
        yield SLOTS.with_values({(): sum(view.concurrency for view in workers)})
        yield SLOTS_USED.with_values({(): sum(view.slots_used for view in workers)})
        alive = sum(node.alive for node in seen)
        yield NODES.with_values({("alive",): alive, ("dead",): len(seen) - alive})
        unreadable = unreadable_rows.count_by_table()
        yield UNREADABLE.with_values({(table,): count for table, count in unreadable.items()})

    def _count_ended(self) -> None:
        database = self._components.database
        # All ends before this moment are visible.
        until = database.autocommit(read_clock) - timedelta(seconds=self._limits.counted_after)
        if self._since is None:
            self._since = until - timedelta(seconds=time.monotonic() - self._begun)
        if until > self._since:
            for tally in database.autocommit(metrics.tallies, self._since, until):
                label = self._label(tally.type)
                self._ended[label, tally.state.value] += tally.count
                for declared, total, counts in (
                    (PICK_UP, tally.pick_up_sum, tally.pick_up_counts),
                    (DURATION, tally.duration_sum, tally.duration_counts),
                ):
                    self._histograms[declared][label].add(total, tally.started, counts)
            for late in database.autocommit(metrics.lateness, self._since, until):
                histogram = self._histograms[LATENESS][self._label(late.type)]
                histogram.add(late.total, late.count, late.counts)
        self._since = max(until, self._since)

    def _label(self, job_type: str) -> str:
        return job_type if self._components.registry.find(job_type) is not None else OTHER

    def _by_queue(
        self, gauges: Sequence[QueueGauge], ordered: Sequence[QueueView | Depth]
    ) -> Iterator[Metric]:
        """Yield gauges by queue: the first queues have labels of their own, the others `OTHER`."""
        most = self._limits.queues
        named = {queue.name: [queue] for queue in ordered[:most]}
        if ordered[most:]:
            named.setdefault(OTHER, []).extend(ordered[most:])
        for declared, of in gauges:
            yield declared.with_values({(name,): of(group) for name, group in named.items()})
