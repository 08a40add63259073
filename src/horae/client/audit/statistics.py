"""Check the statistics of a schedule: they add up, and they count the runs that are kept."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from horae.client.audit.finding import SLACK, Audit, Invariant, show
from horae.client.audit.jobs import IN_ONE_TRANSACTION
from horae.client.audit.runs import Runs


def check(row: Any, runs: Runs, audit: Audit, *, all_kept: bool) -> None:
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
