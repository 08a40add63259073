"""A Celery application whose jobs have sealed secrets and large values, and are traced. Its worker imports this module."""

import os
from pathlib import Path
from typing import Annotated, Any, TextIO

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from horae import Backoff, Horae, JobContext, Previous, Secret
from horae.contrib.celery import setup, task_type
from horae.contrib.celery.library import celery_module
from horae.contrib.otel import instrument

SPANS = "TEST_CELERY_SPANS"
"""Names the file to which all processes append their spans."""
LIMIT = 2000
"""Bytes beyond which a value goes to the store."""


def provider_of(spans: TextIO) -> TracerProvider:
    """Return a provider whose spans are appended to a file, each when it ends."""
    provider = TracerProvider()
    exporter = ConsoleSpanExporter(
        out=spans, formatter=lambda span: span.to_json(indent=None) + "\n"
    )
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider


def declare(horae: Horae, provider: TracerProvider) -> Any:
    """Declare the job types, and return the Celery application."""
    instrument(horae, tracer_provider=provider)
    app = celery_module("celery").Celery("features", broker=os.environ.get("CELERY_BROKER_URL"))
    app.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)
    setup(app, horae)

    @horae.job(backend="celery")
    def log_in(user: str, password: Annotated[str, Secret()]) -> str:
        return f"{user} knows {len(password)} characters"

    @horae.job(backend="celery", max_attempts=2, backoff=Backoff(base="1ms"))
    def refuse(job: JobContext, password: Annotated[str, Secret()]) -> None:
        raise PermissionError(f"{password} is wrong in attempt {job.attempt}")

    @horae.job(backend="celery", transaction="read committed")
    def shout(text: str) -> str:
        return text.upper()

    @horae.job(backend="celery")
    async def length(text: Previous[str]) -> int:
        return len(text)

    @horae.job(backend="celery")
    def span() -> str:
        return f"0x{trace.get_current_span().get_span_context().span_id:016x}"

    @app.task(name="features.task")  # type: ignore[untyped-decorator]
    def task(text: str) -> str:
        return text.upper()

    task_type(horae, "features.task")
    return app


if SPANS in os.environ:
    spans = Path(os.environ[SPANS]).open("a")  # noqa: SIM115 - open as long as the process lives
    app = declare(Horae(), provider_of(spans))
