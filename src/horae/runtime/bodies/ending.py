"""The begin and the end of a body, as they are recorded, whatever it was called with."""

import sys

from horae.domain.jobs import Claim, Failed, failed_text, finished
from horae.guarded_log import guarded_log
from horae.redaction import UNREADABLE
from horae.resource_shortage import lacks_resource
from horae.runtime.bodies.environment import RunEnvironment
from horae.runtime.bodies.finished_run import FinishedRun, finish
from horae.runtime.bodies.forked_body import Forks, end_child
from horae.runtime.bodies.orders import Interrupted
from horae.runtime.bodies.outcome import outcome_of
from horae.runtime.journal import JournalUnavailable
from horae.storage.engine import is_transient
from horae.types import Attempt
from horae.types.parameters.large_values import LargeValuesUnavailable

log = guarded_log("horae.runtime")


def begin(attempt: Attempt, environment: RunEnvironment) -> None:
    """Record that the body itself is called now; inside hooks, it counts as begun with them."""
    if attempt.is_surrounded:
        attempt.body_is_called = True
    else:
        environment.journal.begin(attempt.claim)


def finish_returned(text: str | None, attempt: Attempt, environment: RunEnvironment) -> FinishedRun:
    """Return the end of a body that has returned outside a transaction."""
    claim = attempt.claim
    if text is not None:
        return FinishedRun(claim, finished(claim, text))
    if attempt.label is None:
        environment.journal.succeed(claim)
    return FinishedRun(claim, finished(claim))


def stopped_by(
    error: BaseException,
    attempt: Attempt,
    environment: RunEnvironment,
) -> FinishedRun:
    """Return how an exception ends a run.

    It is no attempt if the database was unavailable or the machine lacked something before the body
    began, or if the node stops before that.
    """
    _restore_recursion_limit(attempt, environment)
    if attempt.is_surrounded:
        called = attempt.body_is_called
    else:  # the journal has it as soon as the first hook is entered, which may have failed
        called = attempt.claim in environment.journal
    if called:
        return ended_by(error, attempt, environment)
    if isinstance(attempt.order, Interrupted):
        return FinishedRun(attempt.claim, None, error, unbegun=True)
    if attempt.order is None and (
        is_transient(error)
        or lacks_resource(error)
        or isinstance(error, (LargeValuesUnavailable, JournalUnavailable))
    ):
        return unbegun(attempt.claim, error)
    return ended_by(error, attempt, environment)


def unbegun(claim: Claim, error: BaseException) -> FinishedRun:
    """Return how a run ends whose body cannot begin here for now: its job is handed back."""
    log.warning("job %d (%s) cannot begin yet: %s", claim.id, claim.type, error)
    return FinishedRun(claim, None, error, unbegun=True)


def ended_by(
    error: BaseException,
    attempt: Attempt,
    environment: RunEnvironment,
) -> FinishedRun:
    """Return how a run ends that has raised this error, or that was stopped with it."""
    try:
        outcome = outcome_of(attempt, error)
    except BaseException as raised:  # noqa: BLE001 - any part of the error may raise when it is read
        log.error(
            "the error of job %d (%s) cannot be described, because reading it raised %s",
            attempt.claim.id,
            attempt.claim.type,
            type(raised).__name__,
        )
        text = f"{type(error).__name__}: {UNREADABLE}"
        failed = Failed(text, failed_text(attempt.claim.type))
        return finish(attempt, failed, environment.rng)
    return finish(attempt, outcome, environment.rng, error)


def close(
    attempt: Attempt, run: FinishedRun, forks_before: int, environment: RunEnvironment
) -> FinishedRun:
    """Close a body's log and note its duration; end the process if the body has forked it."""
    if Forks.count != forks_before:
        end_child(run.error)
    _restore_recursion_limit(attempt, environment)
    if attempt.log_lines is not None:
        attempt.log_lines.close()
    took = attempt.took
    if took is None or run.settlement is None:
        return run
    return run._replace(settlement=run.settlement._replace(took=took))


def _restore_recursion_limit(attempt: Attempt, environment: RunEnvironment) -> None:
    """Undo what a body did to the whole process, which may be unable to execute a statement now."""
    if (left := sys.getrecursionlimit()) < environment.recursion_limit:
        sys.setrecursionlimit(environment.recursion_limit)
        log.warning(
            "job %d (%s) had lowered the recursion limit of the process to %d; it is %d again",
            attempt.claim.id,
            attempt.claim.type,
            left,
            environment.recursion_limit,
        )
