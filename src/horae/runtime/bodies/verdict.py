"""From what came of a body to what is written of it."""

import json
import logging
from random import Random
from typing import Any, NamedTuple

from horae.domain.backoff import Backoff
from horae.domain.cluster.liveness import Isolation
from horae.domain.jobs.job import Claim, Failed, JobState, Settlement, Succeeded, decide, finished
from horae.errors import InvalidRequest
from horae.live.store import LiveReport
from horae.runtime.bodies.run import Run
from horae.runtime.bodies.runner import RETURNED_NOTHING, BodyResult
from horae.storage.jobs.owed_hooks import OWED_BY
from horae.types.job_type import JobType, has_hook

log = logging.getLogger("horae.runtime")


class FinishedRun(NamedTuple):
    """A claim that this node is done with, and what is to be written of it.

    No settlement: only that its body has stopped; or that it never began (`unbegun`), so that the job goes back to
    pending and the attempt does not count; or nothing, if its own transaction has `already` finished the job.
    """

    claim: Claim
    settlement: Settlement | None
    error: BaseException | None = None
    already: bool = False
    unbegun: bool = False


def ended_of(run: Run, performed: BodyResult, report: LiveReport | None, rng: Random) -> FinishedRun:
    """The end of a run: settled by its own transaction, to be settled, only stopped, or never begun."""
    if performed.unbegun:
        return FinishedRun(run.claim, None, performed.error, unbegun=True)
    if performed.outcome is None or performed.settled:
        return FinishedRun(run.claim, None, already=performed.settled)
    if performed is RETURNED_NOTHING and report is None:
        return FinishedRun(run.claim, finished(run.claim))  # what nearly every body comes to
    settlement = decide(run.claim, performed.outcome, backoff_of(run.claim, run.job_type), rng)
    if performed.took is not None:
        settlement = settlement._replace(took=performed.took)
    if not isinstance(performed.outcome, Succeeded):
        if isinstance(performed.outcome, Failed):
            _log_failure(run.claim, performed.outcome, settlement)
        settlement = owing(settlement, run.job_type)
    if report is not None:
        settlement = settlement._replace(progress=report.progress_percentage, label=report.label)
    return FinishedRun(run.claim, settlement, performed.error)


def owing(settlement: Settlement, job_type: JobType[Any] | None) -> Settlement:
    """The settlement with the hook that the row owes then: of a type that is not known here, whichever it may have."""
    hook = OWED_BY.get(settlement.state)
    if hook is None or not (job_type is None or has_hook(job_type, hook)):
        return settlement
    return settlement._replace(hook_owed=hook)


def _log_failure(claim: Claim, failed: Failed, settlement: Settlement) -> None:
    """Log each failing attempt with its traceback: the text that is stored, without what must not be shown."""
    message = "job %d (%s) failed in attempt %d of %d%s: %s"
    again = f", another follows in {settlement.delay:.3g} s" if settlement.state is JobState.PENDING else ""
    arguments = (claim.id, claim.type, claim.attempt, claim.max_attempts, again, failed.error)
    extra = {"job": claim.id, "type": claim.type, "lease": claim.lease}
    record = log.makeRecord(log.name, logging.ERROR, __file__, 0, message, arguments, None, extra=extra)
    record.exc_text = None if failed.traceback is None else failed.traceback.rstrip()
    log.handle(record)


def must_stop(claim: Claim, level: Isolation) -> bool:
    """Whether its body must stop because its node is out of contact and others may soon act on the job."""
    return level is Isolation.ALL or (level is Isolation.RETRYABLE and claim.attempt < claim.max_attempts)


def backoff_of(claim: Claim, job_type: JobType[Any] | None) -> Backoff:
    """The back-off of one job, or of its type."""
    of_type = Backoff() if job_type is None else job_type.backoff
    if claim.backoff is None:
        return of_type
    try:
        return Backoff.from_json(json.loads(claim.backoff))
    except (InvalidRequest, ValueError):
        log.warning("the back-off of job %d cannot be read: %s", claim.id, claim.backoff)
        return of_type
