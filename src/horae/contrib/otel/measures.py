"""The instruments: counters and durations of the messaging conventions, and the depth of queues."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from horae.contrib.otel.attributes import DESTINATION, QUEUE_STATE, SYSTEM
from horae.storage.queues import QueueView

SECONDS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
    *(30.0, 60.0, 300.0, 1800.0, 7200.0),
)
"""Upper bounds of durations: those of the conventions, and longer ones, as jobs may take hours."""
MOST_QUEUES: Final = 100
"""Maximum number of queues with a value of their own; those with the most pending jobs."""


class Measures:
    """The instruments of one application."""

    def __init__(self, meter: Meter, read_queues: Callable[[], Sequence[QueueView]] | None) -> None:
        """`read_queues`: reads the queues at each export; None leaves their depth out."""
        self.sent = meter.create_counter(
            "messaging.client.sent.messages", "{message}", "Jobs that were started."
        )
        self.consumed = meter.create_counter(
            "messaging.client.consumed.messages", "{message}", "Attempts that have ended."
        )
        self.processing = meter.create_histogram(
            "messaging.process.duration",
            "s",
            "How long bodies ran.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self.operations = meter.create_histogram(
            "messaging.client.operation.duration",
            "s",
            "How long it took to start jobs, and to write results.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self.waiting = meter.create_histogram(
            "horae.job.wait.duration",
            "s",
            "From due to begun.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self._read_queues = read_queues
        self._seen: dict[str, QueueView] = {}
        """Queues that had a value, without their jobs: one that is empty now has the value 0.

        Otherwise a system to which metrics are pushed would show its last value for minutes.
        """
        if read_queues is not None:
            meter.create_observable_gauge(
                "horae.queue.depth", [self._observe_depth], "{job}", "Jobs of the queue by state."
            )
            meter.create_observable_gauge(
                "horae.queue.oldest_due",
                [self._observe_oldest],
                "s",
                "For how long the longest waiting job has been due.",
            )

    def close(self) -> None:
        """Observe no queues any more: instruments cannot be removed."""
        self._read_queues = None

    def _observe_depth(self, _options: CallbackOptions) -> Iterable[Observation]:
        for view in self._queues():
            where = _attributes_of(view)
            yield Observation(view.pending, {**where, QUEUE_STATE: "pending"})
            yield Observation(view.started, {**where, QUEUE_STATE: "started"})

    def _observe_oldest(self, _options: CallbackOptions) -> Iterable[Observation]:
        for view in self._queues():
            yield Observation(view.oldest_due or 0.0, _attributes_of(view))

    def _queues(self) -> Sequence[QueueView]:
        if self._read_queues is None:
            return ()
        views = self._seen | {view.name: view for view in self._read_queues()}
        shown = sorted(views.values(), key=lambda view: (-view.pending, view.name))[:MOST_QUEUES]
        self._seen = {view.name: QueueView(name=view.name) for view in shown}
        return shown


def _attributes_of(view: QueueView) -> Mapping[str, str]:
    return {SYSTEM: "horae", DESTINATION: view.name}
