"""An application whose jobs run in child processes, and are traced there as in the node."""

import os
import sys
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

from horae import Horae
from horae.contrib.otel import instrument

SPANS = "TEST_OTEL_SPANS"
"""Names the file to which all processes append their spans."""

provider = TracerProvider()
if SPANS in os.environ:
    file = Path(os.environ[SPANS]).open("a")  # noqa: SIM115 - open as long as the process lives
    exporter = ConsoleSpanExporter(
        out=file, formatter=lambda span: span.to_json(indent=None) + "\n"
    )
    # Nothing is exported before the process ends.
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=3_600_000))

horae = Horae("sqlite:////nowhere/horae.db")
if "LEFT_OUT_IN_CHILD" not in os.environ or "horae.runtime.executors.child" not in sys.modules:
    instrument(horae, tracer_provider=provider)


@horae.job(isolation="process")
def elsewhere() -> dict[str, Any]:
    context = trace.get_current_span().get_span_context()
    return {"pid": os.getpid(), "span": f"0x{context.span_id:016x}"}
