"""The outcome of a body that raised an exception or was stopped."""

import traceback
from dataclasses import replace
from typing import Any, Final

from horae.domain.jobs import (
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
)
from horae.domain.storable import shortened, storable
from horae.errors import JobCancelled, JobStopped, LeaseLost, SoftTimeLimitExceeded
from horae.guarded_log import guarded_log
from horae.redaction import Redactor, text_of, traceback_text
from horae.runtime.bodies.orders import Interrupted, OutOfContact, OutOfTime, Overtaken
from horae.types import Attempt, JobContext, JobType, failed_text
from horae.types.values import secret_values

INTERRUPTED_TEXT: Final = "This job was interrupted; please start it again."

log = guarded_log("horae.runtime")


def outcome_of(attempt: Attempt, error: BaseException) -> Outcome | None:
    """Return the outcome of an exception; an order to stop outranks what the body raised later."""
    order = attempt.order
    reason = order if isinstance(order, JobStopped) else error
    match reason:
        case JobCancelled():
            return Cancelled(reason.by)
        case LeaseLost() if reason is order or isinstance(
            reason, Overtaken
        ):  # it was not raised by the body itself
            return None
        case OutOfTime() | Interrupted():
            return _stopped(attempt, reason)
        case _:
            timed_out = isinstance(order, SoftTimeLimitExceeded) and not isinstance(
                error, Exception
            )
            return _raised_outcome(
                attempt.job_type, attempt.claim, order if timed_out and order is not None else error
            )


def _stopped(attempt: Attempt, order: OutOfTime | Interrupted) -> Failed | StoppedEarly:
    """Return the outcome of a body that its node has stopped."""
    match order:
        case OutOfTime(limit=limit):
            return Failed(limit.error, limit.human_readable_error, timed_out=True)
        case OutOfContact():
            return Failed(order.reason, INTERRUPTED_TEXT)
        case Interrupted():
            return _interrupted(attempt)


def _interrupted(attempt: Attempt) -> StoppedEarly:
    """Return the outcome of a body that an orderly stop of its node has interrupted."""
    job_type = attempt.job_type
    if job_type.on_shutdown is None:
        again = attempt.claim.max_attempts > 1 or _is_rolled_back(attempt)
    else:
        again = job_type.on_shutdown == "requeue"
    text = Interrupted.reason if again else f"{Interrupted.reason}; {_advice(job_type)}"
    return StoppedEarly(text, again, INTERRUPTED_TEXT)


def _advice(job_type: JobType[Any]) -> str:
    """Return how an interrupted job could run again."""
    if job_type.on_shutdown is not None:
        return "its type declares on_shutdown='fail'"
    return (
        "to have such jobs run again, declare on_shutdown='requeue', max_attempts or a transaction"
    )


def _is_rolled_back(attempt: Attempt) -> bool:
    """Return whether the body ran in a transaction on Horae's database, which is lost with it."""
    if attempt.has_transaction:
        return True
    if attempt.job_type.isolation != "process":
        return False
    try:  # only the child process knows, and it may have been killed
        return isinstance(attempt.job_type.transaction(JobContext(attempt)), str)
    except Exception:  # noqa: BLE001 - code of the application
        return False


def _raised_outcome(job_type: JobType[Any], claim: Claim, error: BaseException) -> Outcome:
    """Return the outcome of an error by the body's own decision or by the rules of its type."""
    match error:
        case Snooze():
            return Snoozed(
                error.delay.total_seconds(), *_stored(job_type, claim, error, str(error))
            )
        case Discard():
            return replace(_failure(job_type, claim, error), final=True)
        case Retry():
            after = None if error.after is None else error.after.total_seconds()
            return replace(_failure(job_type, claim, error), after=after)
        case _:
            return replace(
                _failure(job_type, claim, error), final=not _may_be_retried(job_type, error)
            )


def _may_be_retried(job_type: JobType[Any], error: BaseException) -> bool:
    try:
        return job_type.retry_rules.allow(error)
    except Exception as failure:  # noqa: BLE001 - a rule of the application may raise anything
        log.error("a retry rule of job type %r raised:\n%s", job_type.type, traceback_text(failure))
        return True


def _failure(job_type: JobType[Any], claim: Claim, error: BaseException) -> Failed:
    """Return the failure that an error is."""
    technical, human_readable, trace = _stored(
        job_type,
        claim,
        error,
        f"{type(error).__name__}: {text_of(error)}",
        _text_for_users(job_type, error),
        "".join(traceback.format_exception(error)),
    )
    return Failed(
        technical, human_readable, trace, timed_out=isinstance(error, SoftTimeLimitExceeded)
    )


def _text_for_users(job_type: JobType[Any], error: BaseException) -> str:
    """Return the text for users; a decision raised from an error has the text for that error."""
    if not isinstance(error, BodyDecision) or error.__cause__ is None:
        return job_type.explain(error)
    text = job_type.explain(error.__cause__)
    return error.reason if error.reason and text == failed_text(job_type.type) else text


def _stored(job_type: JobType[Any], claim: Claim, error: BaseException, *texts: str) -> list[str]:
    """Return texts about an error without values and without the job's secret parameters."""
    redactor = Redactor(error, secret_values(job_type.parameters.model, claim.params))
    return [storable(shortened(redactor.clean(text))) for text in texts]
