"""Spans and metrics of jobs, made by the real SDK and kept in memory."""

import asyncio
import importlib
import json
import logging
import os
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from horae import Backoff, Horae, JobContext, Retry, Secret
from horae.contrib.otel import attributes, instrument, uninstrument
from horae.storage.engine.database import Database
from tests.contrib import otel_application
from tests.harness.applications import application
from tests.harness.nodes import running_node, until, until_state
from tests.runtime.executor_under_test import is_gone

pytestmark = pytest.mark.one_database

SECRET = "sesame-opens-the-door"


class Telemetry:
    """What an application has exported."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.traces, self.meters = TracerProvider(), MeterProvider([self.reader])
        self.traces.add_span_processor(SimpleSpanProcessor(self.exporter))

    def instrument(self, horae: Horae, **options: Any) -> None:
        instrument(horae, tracer_provider=self.traces, meter_provider=self.meters, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def points(self, name: str) -> dict[tuple[Any, ...], Any]:
        """Return the data points of a metric, by the values of their own attributes."""
        data = self.reader.get_metrics_data()
        assert data is not None
        return {
            tuple(
                value
                for key, value in sorted((point.attributes or {}).items())
                if key.startswith(("horae", "messaging.destination", "error"))
            ): point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        }


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
def horae(database: Database, telemetry: Telemetry) -> Iterator[Horae]:
    with application(database) as horae:
        telemetry.instrument(horae)
        yield horae


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def own_id(span: ReadableSpan) -> int:
    assert span.context is not None
    own: int = span.context.span_id
    return own


def links_of(span: ReadableSpan) -> dict[str, int]:
    return {
        str((link.attributes or {})[attributes.LINK]): link.context.span_id for link in span.links
    }


def attribute(span: ReadableSpan, name: str) -> Any:
    return (span.attributes or {}).get(name)


async def settled(telemetry: Telemetry, name: str, count: int = 1) -> None:
    await until(lambda: len(telemetry.named(f"settle {name}")) >= count)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_job_is_one_trace_from_its_start_to_its_result(
    horae: Horae, telemetry: Telemetry, is_async: bool
) -> None:
    seen: list[int] = []

    def note() -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    if is_async:

        @horae.job(name="work")
        async def work() -> None:
            note()

    else:

        @horae.job(name="work")
        def plain() -> None:
            note()

    with telemetry.traces.get_tracer("web").start_as_current_span("request"):
        job = await horae.aio.jobs.start("work", delay="10ms", meta={"tenant": "acme"})
    assert job.meta["tenant"] == "acme"
    async with running_node(horae):
        await settled(telemetry, "work")
    request, start, wait, run, settle = (
        telemetry.named(name)[0]
        for name in ("request", "start work", "wait work", "run work", "settle work")
    )
    assert [span.kind for span in (start, wait, run, settle)] == [
        SpanKind.PRODUCER,
        SpanKind.INTERNAL,
        SpanKind.CONSUMER,
        SpanKind.CLIENT,
    ]
    assert parent_of(start) == own_id(request)
    assert parent_of(wait) == parent_of(run) == own_id(start)
    assert parent_of(settle) == own_id(run)
    assert links_of(run) == {"start": own_id(start)}
    assert seen == [own_id(run)]
    assert (wait.end_time, settle.status.status_code) == (run.start_time, StatusCode.UNSET)
    assert (start.start_time or 0) < (wait.start_time or 0) <= (wait.end_time or 0)
    assert dict(run.attributes or {}) == {
        "messaging.system": "horae",
        "messaging.operation.name": "run",
        "messaging.operation.type": "process",
        "messaging.destination.name": "default",
        "messaging.message.id": str(job.id),
        "horae.job.type": "work",
        "horae.job.attempt": 1,
        "horae.job.max_attempts": 1,
        "horae.job.outcome": "finished",
    }
    assert attribute(start, "messaging.message.id") == str(job.id)


async def test_attempts_share_a_trace_and_are_linked(horae: Horae, telemetry: Telemetry) -> None:
    @horae.job(max_attempts=2, backoff=Backoff(base="1ms"))
    def fails(password: Annotated[str, Secret()]) -> None:
        raise LookupError(f"no entry for {password}")

    job = horae.jobs.start(fails, password=SECRET)
    async with running_node(horae):
        await until_state(horae, job.id, "failed")
        await settled(telemetry, "fails", 2)
    [start], [first, second] = telemetry.named("start fails"), telemetry.named("run fails")
    assert links_of(second) == {"start": own_id(start), "previous_attempt": own_id(first)}
    assert [attribute(span, "horae.job.attempt") for span in (first, second)] == [1, 2]
    assert len(telemetry.named("wait fails")) == 2  # the second one from when the retry was due
    assert second.status.status_code is StatusCode.ERROR
    [event] = second.events
    recorded = dict(event.attributes or {})
    assert recorded["exception.type"] == "LookupError"
    assert "in fails" in str(recorded["exception.stacktrace"])
    exported = "".join(span.to_json() for span in telemetry.spans)
    assert SECRET not in exported
    again = horae.jobs.retry(job.id)
    assert again.meta["traceparent"] != job.meta["traceparent"]
    assert links_of(telemetry.named("start fails")[1]) == {"retried_job": own_id(start)}


async def test_an_attempt_in_another_process_is_linked_to_the_one_before(
    horae: Horae, telemetry: Telemetry
) -> None:
    """Nothing of the first node is left in memory when the second one runs the job."""
    begun = asyncio.Event()

    @horae.job(on_shutdown="requeue")
    async def work() -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()

    job = horae.jobs.start(work, meta={"tenant": "acme"})
    async with running_node(horae, grace=timedelta(0)):
        await begun.wait()
    uninstrument(horae)
    later = Telemetry()
    later.instrument(horae)
    async with running_node(horae):
        await settled(later, "work")
    [start], [first], [second] = (
        telemetry.named("start work"),
        telemetry.named("run work"),
        later.named("run work"),
    )
    assert links_of(second) == {"start": own_id(start), "previous_attempt": own_id(first)}
    [wait] = later.named("wait work")
    assert (wait.start_time or 0) + 1000 >= (first.end_time or 0), "stored in microseconds"
    meta = horae.jobs.get(job.id).meta
    assert (meta["tenant"], meta["traceparent"]) == ("acme", job.meta["traceparent"])


async def test_what_another_job_has_left_is_no_link(horae: Horae, telemetry: Telemetry) -> None:
    @horae.job(max_count=None)
    def work() -> None: ...

    copied = {"job": -1, "lease": 1, "traceparent": f"00-{'1' * 32}-{'2' * 16}-01"}
    of_another = horae.jobs.start(work, meta={"horae_previous": copied})
    unreadable = horae.jobs.start(work, meta={"horae_previous": {"job": [], "traceparent": 7}})
    async with running_node(horae):
        for job in (of_another, unreadable):
            await until_state(horae, job.id, "finished")
        await settled(telemetry, "work", 2)
    assert [list(links_of(run)) for run in telemetry.named("run work")] == [["start"], ["start"]]


async def test_each_job_of_a_batch_has_its_own_trace(horae: Horae, telemetry: Telemetry) -> None:
    @horae.job(batch=5)
    async def several(jobs: list[JobContext]) -> list[Exception | None]:
        await asyncio.sleep(0)
        return [None, LookupError("no entry")]

    for _ in range(2):
        horae.jobs.start(several)
    async with running_node(horae):
        await settled(telemetry, "several", 2)
    starts, runs = telemetry.named("start several"), telemetry.named("run several")
    assert {parent_of(run) for run in runs} == {own_id(start) for start in starts}
    assert sorted(attribute(run, "horae.job.outcome") for run in runs) == ["failed", "finished"]
    settles = telemetry.named("settle several")
    assert {parent_of(settle) for settle in settles} == {own_id(run) for run in runs}


async def test_runs_of_a_schedule_are_linked_whichever_process_runs_them(horae: Horae) -> None:
    """Nothing of a node is left in memory when the next one runs the schedule."""
    fails = iter([False, True, False])

    @horae.cron("0 3 1 1 *")
    def nightly() -> None:
        if next(fails):
            raise LookupError

    horae.deploy()
    [schedule] = horae.schedules.list()
    runs: list[ReadableSpan] = []
    for _ in range(3):
        uninstrument(horae)
        of_node = Telemetry()
        of_node.instrument(horae)
        async with running_node(horae):
            horae.schedules.run_now(schedule.id)
            await settled(of_node, "nightly")
            await until(lambda: horae.schedules.get(schedule.id).state == "idle")
        runs += of_node.named("run nightly")
    assert [links_of(run) for run in runs] == [
        {},
        {"previous_run": own_id(runs[0])},
        {"previous_run": own_id(runs[1])},
    ]
    assert attribute(runs[0], "horae.schedule.id") == schedule.id


def test_a_start_without_a_node_is_traced_in_its_own_thread(
    horae: Horae, telemetry: Telemetry
) -> None:
    @horae.job(max_count=None)
    def work(number: int = 0) -> int:
        return number

    assert horae.jobs.start(work, sync=True, number=3).result == 3
    [start], [run], [settle] = (
        telemetry.named(f"{operation} work") for operation in ("start", "run", "settle")
    )
    assert (parent_of(run), parent_of(settle)) == (own_id(start), own_id(run))
    ids = horae.jobs.start_many(work, [{"number": 1}, {"number": 2}])
    horae.jobs.start_group([(work, {"number": 1}), work], then=work)
    _, many = telemetry.named("start work")
    assert attribute(many, "messaging.batch.message_count") == 2
    [group] = telemetry.named("start (several)")
    context = f"{own_id(group):016x}"
    carried = [job.meta["traceparent"].split("-")[2] for job in horae.jobs.list().jobs]
    assert carried.count(context) == 3
    assert carried.count(f"{own_id(many):016x}") == len(ids)
    with pytest.raises(Exception, match="number"):
        horae.jobs.start("work", number=SECRET)
    refused = telemetry.named("start work")[-1]
    assert (refused.status.status_code, attribute(refused, "error.type")) == (
        StatusCode.ERROR,
        "InvalidParameters",
    )
    assert SECRET not in refused.to_json()


def test_a_context_of_the_caller_stays(horae: Horae, telemetry: Telemetry) -> None:
    @horae.job
    def work() -> None: ...

    given = f"00-{'1' * 32}-{'2' * 16}-01"
    job = horae.jobs.start(work, meta={"traceparent": given})
    assert job.meta["traceparent"] == given
    [start] = telemetry.named("start work")
    assert parent_of(start) == int("2" * 16, 16)


@pytest.mark.parametrize("meta", [{"traceparent": 7, "horae_due": "soon"}, {"traceparent": "x"}])
async def test_whatever_meta_has_the_body_runs(
    horae: Horae, telemetry: Telemetry, meta: dict[str, Any]
) -> None:
    @horae.job
    def work() -> None: ...

    uninstrument(horae)
    job = horae.jobs.start(work, meta=meta)
    telemetry.instrument(horae)
    async with running_node(horae):
        await until_state(horae, job.id, "finished")
        await settled(telemetry, "work")
    [run] = telemetry.named("run work")
    assert (run.parent, links_of(run)) == (None, {})


class Broken:
    """A tracer, a meter and a propagator that fail at each call."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("the tracer is broken")


async def test_a_broken_tracer_breaks_no_job(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with application(database) as horae:
        instrument(horae, propagator=Broken())  # type: ignore[arg-type]

        @horae.job
        def work() -> int:
            return 3

        job = await horae.aio.jobs.start(work)
        async with running_node(horae):
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == 3
        assert horae.jobs.start(work, sync=True).result == 3
    assert "the tracer is broken" in caplog.text
    assert any(record.levelno == logging.WARNING for record in caplog.records)


def test_instrument_is_idempotent_and_can_be_undone(horae: Horae, telemetry: Telemetry) -> None:
    @horae.job(max_count=None)
    def work() -> None: ...

    telemetry.instrument(horae)
    horae.jobs.start(work, sync=True)
    assert len(telemetry.named("run work")) == 1
    uninstrument(horae)
    uninstrument(horae)
    assert horae.jobs.start(work, sync=True).meta == {}
    assert len(telemetry.named("run work")) == 1
    hooks = horae.hooks
    assert (hooks.starts, hooks.settlements, hooks.around) == ([], [], [])
    assert telemetry.points("horae.queue.depth") == {}


async def test_metrics(horae: Horae, telemetry: Telemetry) -> None:
    @horae.job(max_count=None)
    def work(fails: bool) -> None:
        if fails:
            raise LookupError

    jobs = [horae.jobs.start(work, fails=fails) for fails in (False, True, True)]
    horae.jobs.start(work, queue="later", delay="1h", fails=False)
    assert telemetry.points("horae.queue.depth")["pending", "default"].value == 3
    async with running_node(horae):
        for job in jobs:
            await until_state(horae, job.id, "finished", "failed")
        await settled(telemetry, "work", 3)
    ended = telemetry.points("messaging.client.consumed.messages")
    assert {key: point.value for key, point in ended.items()} == {
        ("finished", "work", "default"): 1,
        ("LookupError", "failed", "work", "default"): 2,
    }
    sent = telemetry.points("messaging.client.sent.messages")
    assert sorted(point.value for point in sent.values()) == [1, 3]
    for name, count in (("messaging.process.duration", 3), ("horae.job.wait.duration", 3)):
        assert sum(point.count for point in telemetry.points(name).values()) == count
    depth = telemetry.points("horae.queue.depth")
    assert depth["pending", "default"].value == 0  # not left out, or its last value would stay
    assert depth["pending", "later"].value == 1
    assert telemetry.points("horae.queue.oldest_due")["later",].value == 0


def test_names_are_those_of_the_conventions(horae: Horae, telemetry: Telemetry) -> None:
    # Without annotations, so that it is imported by name.
    conventions = "opentelemetry.semconv._incubating"
    messaging_attributes = importlib.import_module(f"{conventions}.attributes.messaging_attributes")
    messaging_metrics = importlib.import_module(f"{conventions}.metrics.messaging_metrics")
    known = {value for name, value in vars(messaging_attributes).items() if name.isupper()}
    for name, value in vars(attributes).items():
        if isinstance(value, str) and value.startswith("messaging."):
            assert value in known, name
    assert set(attributes.OPERATION_TYPES.values()) <= {
        value.value for value in messaging_attributes.MessagingOperationTypeValues
    }
    metrics = {value for name, value in vars(messaging_metrics).items() if name.isupper()}
    assert metrics >= {
        "messaging.client.sent.messages",
        "messaging.client.consumed.messages",
        "messaging.process.duration",
        "messaging.client.operation.duration",
    }


async def test_a_body_in_the_callers_transaction_and_hooks_are_inside_the_span(
    horae: Horae, telemetry: Telemetry
) -> None:
    inside: list[int] = []

    @horae.around
    @contextmanager
    def surround(job: JobContext) -> Generator[None]:
        inside.append(trace.get_current_span().get_span_context().span_id)
        yield

    @horae.job(transaction="read committed", max_attempts=2)
    async def work(job: JobContext) -> None:
        await asyncio.sleep(0)
        if job.attempt == 1:
            raise Retry("once more", after="0s")

    job = await horae.aio.jobs.start(work)
    async with running_node(horae):
        await until_state(horae, job.id, "finished")
    assert inside == [own_id(span) for span in telemetry.named("run work")]


@pytest.mark.slow
@pytest.mark.parametrize("found_in_child", [True, False])
async def test_a_body_in_a_child_process_is_in_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found_in_child: bool
) -> None:
    monkeypatch.setenv(otel_application.SPANS, str(tmp_path / "spans"))
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    if not found_in_child:
        monkeypatch.setenv("LEFT_OUT_IN_CHILD", "1")
    application = importlib.reload(otel_application)
    horae = application.horae
    horae.settings = horae.settings.model_copy(
        update={"database": f"sqlite:///{tmp_path}/horae.db"}
    )
    with closing(horae):
        async with running_node(horae):
            job = await horae.aio.jobs.start(application.elsewhere)
            result = await horae.aio.jobs.wait(job.id, timeout="30s")
        # It exports its spans at its exit, for which a node does not wait.
        await is_gone(result["pid"])
    application.provider.shutdown()
    application.file.close()
    spans = [json.loads(line) for line in (tmp_path / "spans").read_text().splitlines()]
    runs = [span for span in spans if span["name"] == "run elsewhere"]
    assert result["pid"] != os.getpid()
    if not found_in_child:
        assert runs == []
        return
    [run], [settle], [start] = (
        runs,
        [span for span in spans if span["name"] == "settle elsewhere"],
        [span for span in spans if span["name"] == "start elsewhere"],
    )
    assert result["span"] == run["context"]["span_id"]
    assert run["parent_id"] == settle["parent_id"] == start["context"]["span_id"]
