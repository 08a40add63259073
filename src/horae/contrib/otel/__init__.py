"""OpenTelemetry: spans and metrics of jobs, and a trace context that travels with them.

`instrument(horae)` switches it on. Spans are made of what the runtime lets integrations observe, so
nothing is patched. Invariant: whatever OpenTelemetry raises is logged, and no job fails by it.
"""

from horae.optional_packages import packages_required

with packages_required(
    {"opentelemetry"}, "OpenTelemetry is not installed: pip install 'horae[otel]'"
):
    from horae.contrib.otel.instrumentation import instrument, uninstrument

__all__ = ["instrument", "uninstrument"]
