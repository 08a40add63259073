"""The spans of a job: start (producer), wait, run (consumer) and settle.

The trace context of the start travels in the job's `meta`, by the keys of the W3C. All attempts at
a job are children of its start. Links lead to the start, to the previous attempt, to the previous
run of the schedule, and to the job that a retry repeats. The context of an attempt that is followed
by another one is written to `meta` together with its end, and so is that of a run to the `meta` of
the next run of its schedule.
"""

import json
import time
from collections.abc import Mapping
from typing import Any, Final

from opentelemetry import context as contexts
from opentelemetry.context import Context
from opentelemetry.propagators.textmap import TextMapPropagator
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)

from horae.contrib.bounded_memory import Memory
from horae.contrib.otel import attributes
from horae.contrib.otel.measures import Measures
from horae.domain.jobs import FAILED_OUTCOMES, Claim
from horae.guarded_log import guarded_log
from horae.runtime.bodies import FinishedRun, Settling
from horae.types import Hook, JobContext, Starting, around_hook

DUE: Final = "horae_due"
"""The key in `meta` of the moment at which the job is due, in seconds since 1970."""
PREVIOUS: Final = "horae_previous"
"""The key in `meta` of what an attempt leaves for the next one: the job and the lease to which it
belongs, the moment at which the next attempt is due, and its trace context.
"""
PREVIOUS_RUN: Final = "horae_previous_run"
"""The key in `meta` of what a run leaves for the next one: its schedule and its trace context."""
BILLION: Final = 1_000_000_000
SEVERAL: Final = "(several)"
"""Stands for the type, or for the queue, of a group of jobs."""

log = guarded_log("horae.otel")


class Tracing:
    """Makes the spans of one application, and measures what they cover."""

    def __init__(self, tracer: Tracer, measures: Measures, propagator: TextMapPropagator) -> None:
        self.tracer, self.measures, self.propagator = tracer, measures, propagator
        self.runs: Memory[tuple[int, int], SpanContext] = Memory()
        """The run spans by job and lease, until the results are written."""
        # A child process that cannot find it runs its jobs all the same.
        self.body: Hook[Any] = around_hook(self.observe_body, required=False)

    def observe_start(self, starting: Starting) -> "StartSpan":
        """Make the span of a call that starts jobs."""
        return StartSpan(self, starting)

    def observe_body(self, job: JobContext[Any]) -> "RunSpan":
        """Make the spans of the wait for a body, and of its run."""
        return RunSpan(self, job)

    def observe_settlement(self, settling: Settling) -> "SettleSpans":
        """Make the spans of the writing of results."""
        return SettleSpans(self, settling)

    def context_in(self, meta: Mapping[str, Any]) -> Context | None:
        """Return the trace context that a job carries; None if there is none."""
        # Any value may be in `meta`, which belongs to the caller.
        carrier = {key: value for key, value in meta.items() if isinstance(value, str)}
        context = self.propagator.extract(carrier, Context())
        return context if get_current_span(context).get_span_context().is_valid else None


class StartSpan:
    """The span of a call that starts jobs; its context is put into their `meta`."""

    def __init__(self, tracing: Tracing, starting: Starting) -> None:
        self._tracing, self._starting = tracing, starting
        self._attributes = _attributes("start", starting.type, starting.queue)

    def __enter__(self) -> None:
        """Begin the span, and put its context into the `meta` of the jobs."""
        starting, tracing = self._starting, self._tracing
        self._began = time.time_ns()
        starting.meta[DUE] = self._began / BILLION + starting.delay
        given = tracing.context_in(starting.given)
        links: list[Link] = []
        if starting.earlier is not None:
            links = _links(retried_job=_span_context(tracing.context_in(starting.earlier)))
        self._span = tracing.tracer.start_span(
            f"start {starting.type or SEVERAL}",
            context=given,
            kind=SpanKind.PRODUCER,
            attributes=self._attributes,
            links=links,
            start_time=self._began,
        )
        context = set_span_in_context(self._span)
        if given is None:
            tracing.propagator.inject(starting.meta, context)
        self._token = contexts.attach(context)

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        """End the span and count the jobs."""
        contexts.detach(self._token)
        now = time.time_ns()
        ids, span, measures = self._starting.ids, self._span, self._tracing.measures
        attributed = dict(self._attributes)
        if error is None:
            count = len(ids) or self._starting.count
            if len(ids) == 1:
                span.set_attribute(attributes.MESSAGE_ID, str(ids[0]))
            elif count is not None:
                span.set_attribute(attributes.MESSAGE_COUNT, count)
            measures.sent.add(1 if count is None else count, attributed)
        else:  # its text may repeat what the caller has given
            attributed[attributes.ERROR_TYPE] = type(error).__qualname__
            span.set_attribute(attributes.ERROR_TYPE, type(error).__qualname__)
            span.set_status(Status(StatusCode.ERROR))
        measures.operations.record((now - self._began) / BILLION, attributed)
        span.end(now)


class RunSpan:
    """The span of a run, as the context manager around its body."""

    def __init__(self, tracing: Tracing, job: JobContext[Any]) -> None:
        self._tracing, self._job = tracing, job
        self._span: Span | None = None
        self._token: Any = None
        self._attributes = _attributes("run", job.type, job.claim.queue)

    def __enter__(self) -> None:
        """Begin the span, and add that of the wait before it."""
        # An error before the body would be the failure of the body.
        with log.guard("job %d is not traced: %s", self._job.id):
            job, tracing = self._job, self._tracing
            claim = job.claim
            parent = tracing.context_in(job.meta)
            previous = _left_in(job.meta.get(PREVIOUS), "job", claim.id)
            due = _due(job, previous)
            previous_run = _left_in(job.meta.get(PREVIOUS_RUN), "schedule", claim.schedule_id)
            self._began = now = time.time_ns()
            self._span = span = tracing.tracer.start_span(
                f"run {claim.type}",
                context=parent or Context(),
                kind=SpanKind.CONSUMER,
                attributes=self._attributes | _of_claim(claim),
                links=_links(
                    start=_span_context(parent),
                    previous_attempt=_span_context(tracing.context_in(previous)),
                    previous_run=_span_context(tracing.context_in(previous_run)),
                ),
                start_time=now,
            )
            context = set_span_in_context(span)
            self._token = contexts.attach(context)
            if claim.schedule_id is not None:
                left: dict[str, Any] = {"schedule": claim.schedule_id}
                tracing.propagator.inject(left, set_span_in_context(span, Context()))
                job.leave_for_next_run({PREVIOUS_RUN: left})
            if due is not None:
                begin = min(int(due * BILLION), now)  # clocks of two machines may differ
                attributed = _attributes("wait", claim.type, claim.queue)
                tracing.measures.waiting.record((now - begin) / BILLION, attributed)
                # A job that carries no context has one trace with its run.
                tracing.tracer.start_span(
                    f"wait {claim.type}",
                    context=parent or context,
                    attributes=attributed | _of_claim(claim),
                    start_time=begin,
                ).end(now)

    def __exit__(self, *_: object) -> None:
        """End the span with the outcome of the attempt."""
        if self._token is not None:
            contexts.detach(self._token)
        ended, span, now = self._job.ended, self._span, time.time_ns()
        if span is None or ended is None:
            return
        claim, tracing = self._job.claim, self._tracing
        outcome = "dropped" if ended.outcome is None else ended.outcome.value
        attributed = self._attributes | {attributes.OUTCOME: outcome}
        span.set_attribute(attributes.OUTCOME, outcome)
        if ended.outcome in FAILED_OUTCOMES:
            name = "unknown" if ended.error is None else type(ended.error).__qualname__
            attributed[attributes.ERROR_TYPE] = name
            span.set_attribute(attributes.ERROR_TYPE, name)
            span.set_status(Status(StatusCode.ERROR, ended.error_text))
            span.add_event(
                attributes.EXCEPTION_EVENT,
                {
                    attributes.EXCEPTION_TYPE: name,
                    attributes.EXCEPTION_MESSAGE: ended.error_text or "",
                    attributes.EXCEPTION_STACKTRACE: ended.traceback or "",
                },
                now,
            )
        tracing.measures.consumed.add(1, attributed)
        tracing.measures.processing.record((now - self._began) / BILLION, attributed)
        if ended.retry_in is not None:
            due = now / BILLION + ended.retry_in
            left: dict[str, Any] = {"job": claim.id, "lease": claim.lease, DUE: due}
            tracing.propagator.inject(left, set_span_in_context(span, Context()))
            ended.meta[PREVIOUS] = left
        tracing.runs.put((claim.id, claim.lease), span.get_span_context())
        span.end(now)


class SettleSpans:
    """The spans of the writing of results, one for each run of a batch."""

    def __init__(self, tracing: Tracing, settling: Settling) -> None:
        self._tracing, self._settling = tracing, settling

    def __enter__(self) -> None:
        """Note the time."""
        self._began = time.time_ns()

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        """Add the spans of what is written."""
        now = time.time_ns()
        for run in self._settling.runs:
            # What is not written now is written again, and what a transaction has written or a
            # body has never begun has no result.
            if error is None and not (run.already or run.unbegun):
                self._add(run, now)
        attributed: dict[str, Any] = {
            attributes.SYSTEM: "horae",
            attributes.OPERATION_NAME: "settle",
            attributes.OPERATION_TYPE: attributes.OPERATION_TYPES["settle"],
        }
        if error is not None:
            attributed[attributes.ERROR_TYPE] = type(error).__qualname__
        self._tracing.measures.operations.record((now - self._began) / BILLION, attributed)

    def _add(self, run: FinishedRun, now: int) -> None:
        claim, tracing = run.claim, self._tracing
        of_run = tracing.runs.take((claim.id, claim.lease))
        if of_run is not None:
            context: Context | None = set_span_in_context(NonRecordingSpan(of_run), Context())
        else:  # the body has run in a child process
            context = tracing.context_in(json.loads(claim.meta))
        if context is None:
            return
        attributed = _attributes("settle", claim.type, claim.queue) | _of_claim(claim)
        if run.settlement is not None:
            counts = claim.id in self._settling.settled
            attributed[attributes.OUTCOME] = run.settlement.outcome.value if counts else "dropped"
        tracing.tracer.start_span(
            f"settle {claim.type}",
            context=context,
            kind=SpanKind.CLIENT,
            attributes=attributed,
            start_time=self._began,
        ).end(now)


def _attributes(operation: str, job_type: str | None, queue: str | None) -> dict[str, Any]:
    """Return the attributes of an operation that spans and metrics share; few values for each."""
    return {
        attributes.SYSTEM: "horae",
        attributes.OPERATION_NAME: operation,
        attributes.OPERATION_TYPE: attributes.OPERATION_TYPES[operation],
        attributes.DESTINATION: queue or SEVERAL,
        attributes.JOB_TYPE: job_type or SEVERAL,
    }


def _of_claim(claim: Claim) -> dict[str, Any]:
    """Return the attributes of one attempt at a job."""
    found: dict[str, Any] = {
        attributes.MESSAGE_ID: str(claim.id),
        attributes.ATTEMPT: claim.attempt,
        attributes.MAX_ATTEMPTS: claim.max_attempts,
    }
    if claim.schedule_id is not None:
        found[attributes.SCHEDULE_ID] = claim.schedule_id
    if claim.nominal_time is not None:
        found[attributes.NOMINAL_TIME] = claim.nominal_time.isoformat()
    return found


def _left_in(found: Any, owner: str, own: int | None) -> Mapping[str, Any]:
    """Return what the previous attempt or run has left in `meta`; empty if there was none.

    The `meta` of another job may have been copied to this one.
    """
    if own is not None and isinstance(found, Mapping) and found.get(owner) == own:
        return found
    return {}


def _due(job: JobContext[Any], previous: Mapping[str, Any]) -> float | None:
    """Return when an attempt was due; None if nobody has noted it.

    Nobody has if a node has died, or has handed the job back, since the start or the previous
    attempt.
    """
    lease = job.claim.lease
    if lease == 1:
        if job.nominal_time is not None:
            return job.nominal_time.timestamp()
        noted = job.meta.get(DUE)
    else:
        noted = previous.get(DUE) if previous.get("lease") == lease - 1 else None
    return float(noted) if isinstance(noted, int | float) and noted >= 0 else None


def _span_context(context: Context | None) -> SpanContext | None:
    return None if context is None else get_current_span(context).get_span_context()


def _links(**contexts_by_reason: SpanContext | None) -> list[Link]:
    return [
        Link(context, {attributes.LINK: reason})
        for reason, context in contexts_by_reason.items()
        if context is not None
    ]
