"""From what came of a body to what is written of it."""

import json
from random import Random
from typing import Any

from horae.domain.backoff import Backoff
from horae.domain.job import Claim, decide
from horae.live.store import LiveReport
from horae.runtime.run import Run
from horae.runtime.runner import Performed
from horae.runtime.settler import Ended
from horae.types.job_type import JobType


def ended_of(run: Run, performed: Performed, report: LiveReport | None, rng: Random) -> Ended:
    """The end of a run: settled by its own transaction, to be settled, or only stopped."""
    if performed.outcome is None or performed.settled:
        return Ended(run.claim, None, already=performed.settled)
    settlement = decide(run.claim, performed.outcome, backoff_of(run.claim, run.job_type), rng)
    if report is not None:
        settlement = settlement._replace(progress=report.progress_percentage, label=report.label)
    return Ended(run.claim, settlement, performed.error)


def backoff_of(claim: Claim, job_type: JobType[Any] | None) -> Backoff:
    """The back-off of one job, or of its type."""
    if claim.backoff is not None:
        return Backoff.from_json(json.loads(claim.backoff))
    return Backoff() if job_type is None else job_type.backoff
