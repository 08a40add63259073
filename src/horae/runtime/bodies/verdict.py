"""Turns the result of a body into what is written to the job's row."""

import json
import logging
from random import Random
from typing import Any, NamedTuple

from horae.domain.backoff import Backoff
from horae.domain.jobs.job import Claim, Failed, JobState, Settlement, Succeeded, decide, finished
from horae.errors import InvalidRequest
from horae.live.store import LiveReport
from horae.runtime.bodies.run import Run
from horae.runtime.bodies.runner import RETURNED_NOTHING, BodyResult
from horae.storage.jobs.owed_hooks import OWED_BY
from horae.types.job_type import JobType, has_hook

log = logging.getLogger("horae.runtime")


class FinishedRun(NamedTuple):
    """A claim that this node no longer needs, and what is to be written about it.

    Without a settlement only the end of the body is recorded. If the body never began (`unbegun`), the job returns to
    pending and the attempt does not count. If its own transaction has `already` finished the job, nothing is written.
    """

    claim: Claim
    settlement: Settlement | None
    error: BaseException | None = None
    already: bool = False
    unbegun: bool = False


def finished_run(run: Run, result: BodyResult, report: LiveReport | None, rng: Random) -> FinishedRun:
    """Return what to write about a run: it was settled already, is to be settled, only stopped, or never began."""
    if result.unbegun:
        return FinishedRun(run.claim, None, result.error, unbegun=True)
    if result.outcome is None or result.settled:
        return FinishedRun(run.claim, None, already=result.settled)
    if result is RETURNED_NOTHING and report is None:
        return FinishedRun(run.claim, finished(run.claim))  # the case of nearly every body
    settlement = decide(run.claim, result.outcome, backoff_of(run.claim, run.job_type), rng)
    if result.took is not None:
        settlement = settlement._replace(took=result.took)
    if not isinstance(result.outcome, Succeeded):
        if isinstance(result.outcome, Failed):
            _log_failure(run.claim, result.outcome, settlement)
        settlement = owing(settlement, run.job_type)
    if report is not None:
        settlement = settlement._replace(progress=report.progress_percentage, label=report.label)
    return FinishedRun(run.claim, settlement, result.error)


def owing(settlement: Settlement, job_type: JobType[Any] | None) -> Settlement:
    """Add the hook that the row owes; a job type unknown here may have any hook."""
    hook = OWED_BY.get(settlement.state)
    if hook is None or not (job_type is None or has_hook(job_type, hook)):
        return settlement
    return settlement._replace(hook_owed=hook)


def _log_failure(claim: Claim, failed: Failed, settlement: Settlement) -> None:
    """Log a failed attempt with the traceback that is stored, from which secrets are removed."""
    message = "job %d (%s) failed in attempt %d of %d%s: %s"
    again = f", another follows in {settlement.delay:.3g} s" if settlement.state is JobState.PENDING else ""
    arguments = (claim.id, claim.type, claim.attempt, claim.max_attempts, again, failed.error)
    extra = {"job": claim.id, "type": claim.type, "lease": claim.lease}
    record = log.makeRecord(log.name, logging.ERROR, __file__, 0, message, arguments, None, extra=extra)
    record.exc_text = None if failed.traceback is None else failed.traceback.rstrip()
    log.handle(record)


def backoff_of(claim: Claim, job_type: JobType[Any] | None) -> Backoff:
    """Return the back-off of a job, or else of its type."""
    of_type = Backoff() if job_type is None else job_type.backoff
    if claim.backoff is None:
        return of_type
    try:
        return Backoff.from_json(json.loads(claim.backoff))
    except (InvalidRequest, ValueError):
        log.warning("the back-off of job %d cannot be read: %s", claim.id, claim.backoff)
        return of_type
