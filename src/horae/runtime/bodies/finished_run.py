"""A run that has ended, and what is written to the row of its job."""

import json
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from horae.domain.backoff import Backoff
from horae.domain.jobs import Claim, JobId, JobState, Outcome, Settlement, decide
from horae.errors import InvalidRequest
from horae.guarded_log import guarded_log
from horae.live import LiveReport
from horae.quoting import quoted
from horae.sentences import rounded
from horae.storage.jobs import OWED_BY
from horae.types import Attempt, JobType, has_hook
from horae.types.logs import shown_error

log = guarded_log("horae.runtime")


class FinishedRun(NamedTuple):
    """A claim that this node no longer needs, and what is to be written about it.

    Without a settlement only the end of the body is recorded, because another node owns the job. If
    the body never began (`unbegun`), the job returns to pending and the attempt does not count. If
    its own transaction has `already` finished the job, nothing is written. `releases`: other jobs
    that waited for it may be claimed now. `error`: what the body raised. `batch`: the ends of all
    jobs of a batch, in place of one of its own.
    """

    claim: Claim
    settlement: Settlement | None
    error: BaseException | None = None
    already: bool = False
    unbegun: bool = False
    releases: bool = False
    batch: Sequence["FinishedRun"] = ()


@dataclass(slots=True)
class Settling:
    """The writing of results, for observers; `settled`: jobs whose results count, once it is over.

    The result of a job that was cancelled meanwhile, or that another node owns, does not count.
    """

    runs: Sequence[FinishedRun]
    settled: Collection[JobId] = ()


def finish(
    attempt: Attempt, outcome: Outcome | None, rng: Random, error: BaseException | None = None
) -> FinishedRun:
    """Decide what is written after a body's outcome; without one, another node owns the job."""
    claim, job_type = attempt.claim, attempt.job_type
    if outcome is None:
        return FinishedRun(claim, None, error)
    settlement = decide(claim, outcome, backoff_of(claim, job_type), rng)
    settlement = owing(settlement, job_type)._replace(took=attempt.took)
    return FinishedRun(claim, settlement, error)


def with_report(finished: FinishedRun, report: LiveReport | None) -> FinishedRun:
    """Add the last progress report to what is written, and log a failed attempt."""
    settlement = finished.settlement
    if settlement is None:
        return finished
    if settlement.error is not None:
        _log_failure(finished.claim, settlement, settlement.error, finished.error)
    if report is None:
        return finished
    settlement = settlement._replace(progress=report.progress_percentage, label=report.label)
    return finished._replace(settlement=settlement)


def _log_failure(
    claim: Claim, settlement: Settlement, text: str, raised: BaseException | None
) -> None:
    """Log a failed attempt, with the stored traceback, from which secrets are removed."""
    retried = settlement.state is JobState.PENDING
    then = f" and will be retried in {rounded(settlement.delay)} s" if retried else ", for good"
    record = log.logger.makeRecord(
        log.name,
        logging.ERROR,
        __file__,
        0,
        "job %d (%s) failed in attempt %d of %d%s: %s",
        (claim.id, claim.type, claim.attempt, claim.max_attempts, then, text),
        None,
        extra={
            "job": claim.id,
            "type": claim.type,
            "lease": claim.lease,
            "retry_in": settlement.delay if retried else None,
        },
    )
    if settlement.traceback is not None:
        shown = shown_error(text, settlement.traceback.rstrip(), raised)
        record.exc_info = (type(shown), shown, shown.__traceback__)
        record.exc_text = shown.stored  # formatters write this instead of formatting the error
    log.handle(record)


def owing(settlement: Settlement, job_type: JobType[Any] | None) -> Settlement:
    """Add the hook that the row owes; a job type unknown here may have any hook."""
    hook = OWED_BY.get(settlement.state)
    if hook is None or not (job_type is None or has_hook(job_type, hook)):
        return settlement
    return settlement._replace(hook_owed=hook)


def backoff_of(claim: Claim, job_type: JobType[Any] | None) -> Backoff:
    """Return the back-off of a job; by default it is that of its type."""
    of_type = Backoff() if job_type is None else job_type.backoff
    if claim.backoff is None:
        return of_type
    try:
        return Backoff.from_json(json.loads(claim.backoff))
    except (InvalidRequest, RecursionError, ValueError):
        log.warning("the back-off of job %d cannot be read: %s", claim.id, quoted(claim.backoff))
        return of_type
