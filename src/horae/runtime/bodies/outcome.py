"""The outcome of a body that raised an exception or was stopped."""

from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Final

from pydantic import ValidationError

from horae.domain.jobs import (
    INTERRUPTED_TEXT,
    BodyDecision,
    Cancelled,
    Claim,
    Discard,
    Failed,
    Outcome,
    Retry,
    Snooze,
    Snoozed,
    StoppedEarly,
    failed_text,
)
from horae.domain.storable import shortened, storable
from horae.errors import JobCancelled, JobStopped, LeaseLost, SoftTimeLimitExceeded
from horae.foreign_files import OF_HORAE
from horae.guarded_log import guarded_log
from horae.redaction import cleaner, formatted, text_of, traceback_text
from horae.runtime.bodies.orders import Interrupted, OutOfContact, OutOfTime, Overtaken
from horae.types import Attempt, JobContext, JobType
from horae.types.parameters import ModelParameters

log = guarded_log("horae.runtime")
MOST_PUT_OFF: Final = 20
"""How often a job is put off until a node with its code claims it: for about a quarter of an hour.

Other claims that were not counted, as of jobs that were claimed ahead, count here as well.
"""
LONGEST_PUT_OFF: Final = 60.0
"""Maximum number of seconds until it is claimed again; the first time it is one."""
_OTHER_NAMES: Final = frozenset({"extra_forbidden", "missing"})


def outcome_of(attempt: Attempt, error: BaseException) -> Outcome | None:
    """Return the outcome of an exception; an order to stop outranks what the body raised later."""
    order = attempt.order
    reason = order if isinstance(order, JobStopped) else error
    match reason:
        case JobCancelled(by=by) | Overtaken(by=by):
            return Cancelled(by)
        case LeaseLost() if reason is order:
            return None  # it was not raised by the body itself
        case OutOfTime(limit=limit):
            # The row of a body that went on was failed at the limit.
            text = limit.human_readable_error
            return Failed(limit.error, text, timed_out=True, final=attempt.failed)
        case OutOfContact():
            return Failed(reason.reason, INTERRUPTED_TEXT)
        case Interrupted():
            return _interruption(attempt)
        case _:
            if isinstance(order, SoftTimeLimitExceeded) and not isinstance(error, Exception):
                error = order
            return _put_off(attempt, error) or _raised_outcome(
                attempt.job_type, attempt.claim, error
            )


def _interruption(attempt: Attempt) -> StoppedEarly:
    """Return the outcome of a body that an orderly stop of its node has interrupted."""
    job_type = attempt.job_type
    match job_type.on_shutdown:
        case "requeue":
            again, advice = True, ""
        case "fail":
            again, advice = False, "its type declares on_shutdown='fail'"
        case _:
            # A transaction on Horae's database is rolled back with the body.
            again = attempt.claim.max_attempts > 1 or attempt.has_transaction
            if not again and job_type.isolation == "process":
                # Only the child process knows, and it may have been killed. A type of the
                # application may raise anything here.
                with suppress(Exception):
                    again = isinstance(job_type.transaction(JobContext(attempt)), str)
            advice = (
                "to have such jobs run again, declare on_shutdown='requeue', max_attempts or a"
                " transaction"
            )
    reason = Interrupted.reason if again else f"{Interrupted.reason}; {advice}"
    return StoppedEarly(reason, again=again, human_readable_error=INTERRUPTED_TEXT)


def _put_off(attempt: Attempt, error: BaseException) -> StoppedEarly | None:
    """Return the outcome of a job whose stored parameters have other names than its type has here.

    They were valid for the program that started it, so that program has other code, as while nodes
    are replaced one by one: a node with the same code may run the job. None for any other error,
    and if the job was put off for long enough.
    """
    claim, parameters = attempt.claim, attempt.job_type.parameters
    put_off = claim.lease - claim.attempt
    if (
        attempt.params is not None  # they were loaded, so it is an error of the application
        or put_off >= MOST_PUT_OFF
        or not isinstance(error, ValidationError)
        or not isinstance(parameters, ModelParameters)
    ):
        return None
    if _OTHER_NAMES.isdisjoint(item["type"] for item in error.errors(include_url=False)):
        return None
    delay = min(2.0**put_off, LONGEST_PUT_OFF)
    reason = (
        f"this node has other code for {claim.type} than the program that started the job:"
        f" {parameters.misfit(error, claim.params)}"
    )
    log.warning("job %d is put off for %g s: %s", claim.id, delay, reason)
    return StoppedEarly(storable(shortened(reason)), again=True, delay=delay)


def _raised_outcome(job_type: JobType[Any], claim: Claim, error: BaseException) -> Outcome:
    """Return the outcome of an error by the body's own decision or by the rules of its type.

    Its texts are stored without values and without the job's secret parameters.
    """
    clean = cleaner(job_type.parameters.secrets_in(claim.params), error)

    def store(text: str) -> str:
        return storable(shortened(clean(text)))

    if isinstance(error, Snooze):
        return Snoozed(error.delay.total_seconds(), store(str(error)))
    if isinstance(error, BodyDecision) and error.__cause__ is not None:
        # A decision that is raised from an error has the text for that error.
        text = job_type.explain(error.__cause__)
        if error.reason and text == failed_text(job_type.type):
            text = error.reason
    else:
        text = job_type.explain(error)
    failure = Failed(
        store(f"{type(error).__name__}: {text_of(error)}"),
        store(text),
        store(formatted(error, _frames_of_body(error))),
        timed_out=isinstance(error, SoftTimeLimitExceeded),
    )
    match error:
        case Discard():
            return replace(failure, final=True)
        case Retry():
            after = None if error.after is None else error.after.total_seconds()
            return replace(failure, after=after)
        case _:
            try:
                may_be_retried = job_type.retry_rules.allow(error)
            except Exception as raised:  # noqa: BLE001 - a rule of the application may raise anything
                log.error(
                    "a retry rule of job type %r raised:\n%s",
                    job_type.type,
                    traceback_text(raised),
                )
                may_be_retried = True
            return replace(failure, final=not may_be_retried)


def _frames_of_body(error: BaseException) -> TracebackType | None:
    """Leave out the frames by which Horae called the body: they are the same for every job."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(OF_HORAE):
        frames = frames.tb_next
    return frames or error.__traceback__
