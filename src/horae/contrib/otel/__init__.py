"""OpenTelemetry: spans and metrics of jobs, and a trace context that travels with them.

`instrument(horae)` switches it on. Spans are made of what the runtime lets integrations observe, so
nothing is patched. Invariant: whatever OpenTelemetry raises is logged, and no job fails by it.
"""

from horae.errors import ConfigurationError

try:
    from horae.contrib.otel.instrumentation import instrument, uninstrument
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "opentelemetry":
        raise
    raise ConfigurationError("OpenTelemetry is not installed: pip install 'horae[otel]'") from error

__all__ = ["instrument", "uninstrument"]
