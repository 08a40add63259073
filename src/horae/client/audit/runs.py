"""Check the runs of a schedule: that they do not overlap, and that the statistics count them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from horae.client.audit.finding import Audit, Invariant, show
from horae.client.audit.jobs import attempts_of
from horae.client.audit.known_rules import KnownRules
from horae.domain.jobs import AttemptOutcome, JobState
from horae.domain.schedules import Overlap

CRASH_SLACK: Final = timedelta(milliseconds=100)
"""Longest time between the end of an attempt and that of its job, if the attempt ended the job."""
_NO_TIME: Final = timedelta(0)


@dataclass
class Runs:
    """The jobs of a schedule that are kept, counted as the statistics count runs.

    A run does not count if it ended before its body began, or was stopped with its node; an open
    one counts as a crash. `perhaps`: runs that crashed last and failed later, which may have been
    counted as either. `retries`: retries of jobs that are kept as well; `jobs`: all other jobs.
    """

    jobs: int = 0
    retries: set[int] = field(default_factory=set[int])
    open: int = 0
    finished: int = 0
    failed: int = 0
    crashed: int = 0
    perhaps: int = 0
    success_time: timedelta = _NO_TIME
    failure_time: timedelta = _NO_TIME
    unreported: bool = False
    """Whether the run that the schedule waits for has ended, so that its end is not counted yet."""
    last_end: datetime | None = None
    last_uncounted_end: datetime | None = None
    """Last end of a run that does not count; the schedule still treats it as a finish."""
    last_start: datetime | None = None
    """Latest start of a body among the runs that have ended and count."""
    stopped: bool = False
    """Whether a run ended while its body ran: the statistics know its duration, but not its start.
    """

    @property
    def counted(self) -> int:
        """Return how many runs the statistics must have counted."""
        return self.open + self.finished + self.failed + self.crashed + self.perhaps


@dataclass
class RunCheck:
    """The check of the runs of one schedule."""

    row: Any
    rules: KnownRules
    audit: Audit

    def check(self, rows: Iterable[Any]) -> Runs:
        """Check that runs do not overlap, in the order of their jobs, and count them."""
        runs = Runs()
        latest: Any = None
        latest_end: tuple[datetime, int] | None = None
        unsuccessful: set[int] = set()
        for _, grouped in groupby(rows, key=lambda row: row.id):
            found = list(grouped)
            job, attempts = found[0], attempts_of(found)
            self._count(runs, job, attempts)
            if job.retry_of is None:
                runs.jobs += 1
            elif job.retry_of in unsuccessful:
                runs.retries.add(job.id)
            if job.state in (JobState.FAILED, JobState.CANCELLED):
                unsuccessful.add(job.id)
            rules = self.rules.at(job.created_at)
            excludes_others = rules is not None and rules.overlap is not Overlap.ALLOW_ALL
            if excludes_others and (job.finished_at is None or job.finished_at >= self.audit.since):
                if latest is not None and job.created_at < _end(latest):
                    when = (
                        "has not ended"
                        if latest.finished_at is None
                        else f"ended at {show(latest.finished_at)}"
                    )
                    self._add(
                        job,
                        f"it was created at {show(job.created_at)}, but job {latest.id} {when}",
                    )
                if latest_end and attempts and attempts[0].its_start < latest_end[0]:
                    self._add(
                        job,
                        f"its body began at {show(attempts[0].its_start)}, before job"
                        f" {latest_end[1]} had ended",
                    )
            latest = job if latest is None or _end(job) >= _end(latest) else latest
            if attempts:
                latest_end = max(
                    (attempts[-1].its_end, job.id), latest_end or (attempts[-1].its_end, job.id)
                )
        return runs

    def _count(self, runs: Runs, job: Any, attempts: Sequence[Any]) -> None:
        end: datetime | None = job.finished_at
        if end is None or job.node_id is not None:
            runs.open += 1
            return
        runs.unreported |= job.id == self.row.run_token
        counted = runs.counted
        self._count_ended(runs, job, attempts, end)
        if runs.counted > counted and job.started_at is not None:
            runs.last_start = max(job.started_at, runs.last_start or job.started_at)
            runs.stopped |= attempts[-1].its_outcome in {
                AttemptOutcome.CANCELLED,
                AttemptOutcome.TIMED_OUT,
            }

    def _count_ended(self, runs: Runs, job: Any, attempts: Sequence[Any], end: datetime) -> None:
        runs.last_end = max(end, runs.last_end or end)
        if not attempts:
            runs.last_uncounted_end = max(end, runs.last_uncounted_end or end)
            return
        began = end if job.started_at is None else job.started_at
        took = max(end - began, _NO_TIME)
        if job.state == JobState.FINISHED:
            runs.finished += 1
            runs.success_time += took
        elif job.state == JobState.FAILED and attempts[-1].its_outcome == AttemptOutcome.CRASHED:
            by_it = _has_ended(attempts[-1], job, end)
            runs.crashed += by_it
            runs.perhaps += not by_it
        elif attempts[-1].its_outcome == AttemptOutcome.INTERRUPTED and _has_ended(
            attempts[-1], job, end
        ):
            # The run was stopped with its node, and not repeated.
            runs.last_uncounted_end = max(end, runs.last_uncounted_end or end)
        else:
            runs.failed += 1
            runs.failure_time += took

    def _add(self, job: Any, message: str) -> None:
        self.audit.add(
            Invariant.OVERLAP,
            f"schedule {self.row.id} ({self.row.name}), job {job.id}: {message}",
            job=job.id,
            schedule=self.row.id,
        )


def _has_ended(attempt: Any, job: Any, end: datetime) -> bool:
    """Return whether an attempt ended its job, which was not ended by something else later."""
    return bool(attempt.its_lease == job.lease and end - attempt.its_end <= CRASH_SLACK)


def _end(job: Any) -> datetime:
    return (
        datetime.max.replace(tzinfo=job.created_at.tzinfo)
        if job.finished_at is None
        else job.finished_at
    )
