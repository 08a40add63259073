"""Check the runs of a schedule: that they do not overlap, and that the statistics add up and count
them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from horae.client.audit.finding import SLACK, Audit, Invariant, show
from horae.client.audit.jobs import IN_ONE_TRANSACTION, attempts_of
from horae.client.audit.known_rules import KnownRules
from horae.domain.jobs import AttemptOutcome, JobState
from horae.domain.schedules import Overlap
from horae.storage.engine import LATEST

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

    def count(self, job: Any, attempts: Sequence[Any], awaited: int | None) -> None:
        """Count a job. `awaited`: that of the run for whose end the schedule waits."""
        end: datetime | None = job.finished_at
        if end is None or job.node_id is not None:
            self.open += 1
            return
        self.unreported |= job.id == awaited
        self.last_end = max(end, self.last_end or end)
        last: Any = attempts[-1] if attempts else None
        # Whether the last attempt ended its job, which nothing else ended later.
        by_it = (
            last is not None and last.its_lease == job.lease and end - last.its_end <= CRASH_SLACK
        )
        is_finished = job.state == JobState.FINISHED
        if last is None or (
            by_it and last.its_outcome == AttemptOutcome.INTERRUPTED and not is_finished
        ):
            self.last_uncounted_end = max(end, self.last_uncounted_end or end)
            return
        took = max(end - (job.started_at or end), _NO_TIME)
        if is_finished:
            self.finished += 1
            self.success_time += took
        elif job.state == JobState.FAILED and last.its_outcome == AttemptOutcome.CRASHED:
            self.crashed += by_it
            self.perhaps += not by_it
        else:
            self.failed += 1
            self.failure_time += took
        if job.started_at is not None:
            self.last_start = max(job.started_at, self.last_start or job.started_at)
            self.stopped |= last.its_outcome in {AttemptOutcome.CANCELLED, AttemptOutcome.TIMED_OUT}


def check(row: Any, rules: KnownRules, jobs: Iterable[Any], audit: Audit) -> Runs:
    """Check that the runs of a schedule do not overlap, and count them. `jobs`: in order."""

    def add(job: Any, message: str) -> None:
        audit.add(
            Invariant.OVERLAP,
            f"schedule {row.id} ({row.name}), job {job.id}: {message}",
            job=job.id,
            schedule=row.id,
        )

    runs = Runs()
    latest: Any = None
    latest_end: tuple[datetime, int] | None = None
    unsuccessful: set[int] = set()
    for _, grouped in groupby(jobs, key=lambda job: job.id):
        found = list(grouped)
        job, attempts = found[0], attempts_of(found)
        runs.count(job, attempts, row.run_token)
        if job.retry_of is None:
            runs.jobs += 1
        elif job.retry_of in unsuccessful:
            runs.retries.add(job.id)
        if job.state in (JobState.FAILED, JobState.CANCELLED):
            unsuccessful.add(job.id)
        known = rules.at(job.created_at)
        excludes_others = known is not None and known.overlap is not Overlap.ALLOW_ALL
        end = job.finished_at or LATEST
        if excludes_others and end >= audit.since:
            if latest is not None and job.created_at < (latest.finished_at or LATEST):
                when = (
                    "has not ended"
                    if latest.finished_at is None
                    else f"ended at {show(latest.finished_at)}"
                )
                add(job, f"it was created at {show(job.created_at)}, but job {latest.id} {when}")
            if latest_end and attempts and attempts[0].its_start < latest_end[0]:
                began = show(attempts[0].its_start)
                add(job, f"its body began at {began}, before job {latest_end[1]} had ended")
        if latest is None or end >= (latest.finished_at or LATEST):
            latest = job
        if attempts:
            its_end = attempts[-1].its_end, job.id
            latest_end = max(its_end, latest_end or its_end)
    return runs


def check_statistics(row: Any, runs: Runs, audit: Audit, *, all_kept: bool) -> None:
    """Check the statistics of a schedule. `all_kept`: none of its jobs was deleted."""
    audit.checked["schedules"] += 1
    problems = (
        ["it has none"]
        if row.counted is None
        else [
            *_check_alone(row),
            *_check_last_success(row, runs, all_kept=all_kept),
            *_check_last_start(row, runs, all_kept=all_kept),
            *_check_with_runs(row, runs, all_kept=all_kept),
        ]
    )
    for problem in problems:
        audit.add(
            Invariant.STATISTICS, f"schedule {row.id} ({row.name}): {problem}", schedule=row.id
        )


def _check_alone(row: Any) -> Iterator[str]:
    """Yield contradictions within the statistics, whatever the runs were."""
    totals = (row.total_runs, row.total_successes, row.total_failures, row.total_crashes)
    if totals[0] != sum(totals[1:]):
        yield "total_runs is {}, but there were {} successes, {} failures and {} crashes".format(
            *totals
        )
    if min(totals) < 0 or min(row.consecutive_failures, row.consecutive_crashes) < 0:
        yield "a count is negative"
    if row.consecutive_crashes > row.total_crashes:
        yield (
            f"{row.consecutive_crashes} crashes in a row are more than the {row.total_crashes}"
            " crashes in total"
        )
    if row.consecutive_failures > row.total_failures + row.total_crashes:
        yield f"{row.consecutive_failures} failures in a row are more than there were in total"
    if row.last_run_success and row.consecutive_failures:
        yield (
            f"the last run succeeded, but {row.consecutive_failures} failures in a row are counted"
        )
    if min(row.total_duration, row.total_duration_failures) < 0:
        yield "a duration is negative"
    success: datetime | None = row.last_successful_finish
    if success is None:
        if row.last_run_success:
            yield "the last run succeeded, but there is no last success"
    elif row.last_finish is None or success - row.last_finish > SLACK:
        yield f"the last success was at {show(success)}, after the last finish"


def _check_last_success(row: Any, runs: Runs, *, all_kept: bool) -> Iterator[str]:
    """Yield a last success that is not the last finish, unless an uncounted run has ended later."""
    success, finish = row.last_successful_finish, row.last_finish
    if not row.last_run_success or success is None or finish is None or finish - success <= SLACK:
        return  # not compared exactly, because SQLite reads its clock for each of the two
    uncounted = runs.last_uncounted_end is not None and runs.last_uncounted_end >= finish - SLACK
    its_run_is_kept = all_kept or (runs.last_end is not None and runs.last_end >= finish - SLACK)
    if its_run_is_kept and not uncounted:
        yield "the last run succeeded, but the last success is not the last finish"


def _check_last_start(row: Any, runs: Runs, *, all_kept: bool) -> Iterator[str]:
    """Yield a last start that is not the latest run's; a stopped run may have been counted with a
    later start.
    """
    if runs.unreported:
        return
    start: datetime | None = row.last_start
    if start is None:
        if runs.last_start is not None:
            yield f"it has no last start, but a run began at {show(runs.last_start)}"
        return
    if row.last_finish is None or start > row.last_finish + SLACK:
        yield f"the last start was at {show(start)}, after the last finish"
    elif runs.last_start is not None and start < runs.last_start - IN_ONE_TRANSACTION:
        yield f"the last start was at {show(start)}, but a run began at {show(runs.last_start)}"
    elif all_kept and not runs.stopped and start > (runs.last_start or start) + IN_ONE_TRANSACTION:
        yield (
            f"the last start was at {show(start)}, but the latest run began at"
            f" {show(runs.last_start or start)}"
        )


def _check_with_runs(row: Any, runs: Runs, *, all_kept: bool) -> Iterator[str]:
    """Yield contradictions to the runs; the counts may be larger if older runs were deleted."""
    if runs.unreported:
        return
    if runs.last_end is not None and (
        row.last_finish is None or row.last_finish < runs.last_end - SLACK
    ):
        last = "none" if row.last_finish is None else show(row.last_finish)
        yield f"last_finish is {last}, but a run ended at {show(runs.last_end)}"
    counts = [
        ("runs", row.total_runs, runs.counted, runs.counted),
        ("successes", row.total_successes, runs.finished, runs.finished),
        ("failures", row.total_failures, runs.failed, runs.failed + runs.perhaps),
        (
            "crashes or open runs",
            row.total_crashes,
            runs.crashed + runs.open,
            runs.crashed + runs.open + runs.perhaps,
        ),
    ]
    for name, counted, least, most in counts:
        if counted < least or (all_kept and counted > most):
            yield (
                f"{counted} {name} are counted, but there were {least if counted < least else most}"
            )
    durations = [
        ("total_duration", row.total_duration, runs.success_time, runs.finished),
        ("total_duration_failures", row.total_duration_failures, runs.failure_time, runs.failed),
    ]
    for name, stored, kept, number in durations:
        # The stored sum may differ by a millisecond for each run.
        seconds, slack = kept.total_seconds(), 0.001 * (number + 1)
        more = stored - seconds
        if more < -slack or (all_kept and not runs.perhaps and more > slack):
            yield f"{name} is {stored:.3f} s, but the runs took {seconds:.3f} s"
