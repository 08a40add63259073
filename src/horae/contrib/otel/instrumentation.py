"""Switches tracing and metrics of an application on and off."""

from collections.abc import Sequence
from importlib.metadata import version
from weakref import WeakKeyDictionary, ref

from opentelemetry.metrics import MeterProvider, get_meter
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import TracerProvider, get_tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from horae.app import Horae
from horae.contrib.otel.measures import Measures
from horae.contrib.otel.tracing import Tracing, log
from horae.storage.queues import QueueView, queues

_applications: WeakKeyDictionary[Horae, Tracing] = WeakKeyDictionary()


def instrument(
    horae: Horae,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    propagator: TextMapPropagator | None = None,
    queue_metrics: bool = True,
) -> None:
    """Make spans and metrics of the application's jobs, and let the trace context travel with them.

    Call it where the application is made, at the top level of its module, so that child processes
    are instrumented too. A second call changes nothing. Providers default to the global ones, which
    may be set later. `propagator`: how a context is written into the `meta` of a job; by default as
    `traceparent` and `tracestate` of the W3C, without baggage, which may be private.
    `queue_metrics`: read the depth of the queues from the database at each export of metrics.
    """
    if horae in _applications:
        return
    found = version("horae")
    application = ref(horae)
    measures = Measures(
        get_meter("horae", found, meter_provider),
        (lambda: _read_queues(application())) if queue_metrics else None,
    )
    tracing = _applications[horae] = Tracing(
        get_tracer("horae", found, tracer_provider),
        measures,
        propagator or TraceContextTextMapPropagator(),
    )
    horae.hooks.starts.append(tracing.observe_start)
    horae.hooks.settlements.append(tracing.observe_settlement)
    # The span is the outermost, so that it covers what the application runs around bodies.
    horae.hooks.around.insert(0, tracing.body)


def uninstrument(horae: Horae) -> None:
    """Make no more spans and metrics of the application's jobs; nothing if it makes none."""
    tracing = _applications.pop(horae, None)
    if tracing is None:
        return
    tracing.measures.close()
    horae.hooks.starts.remove(tracing.observe_start)
    horae.hooks.settlements.remove(tracing.observe_settlement)
    horae.hooks.around.remove(tracing.body)


def _read_queues(horae: Horae | None) -> Sequence[QueueView]:
    """Return the queues of an application that has opened its database; none if that fails."""
    if horae is None or "components" not in vars(horae.opened):
        return ()
    with log.guard("the queues cannot be read for metrics: %s"):
        return horae.opened.components.database.autocommit(queues.view)
    return ()
