"""The rules of schedules: their ledger, their runs and their statistics."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from tests.checker.body_log import BodyLog
from tests.checker.reference_cron import fires_after
from tests.checker.settings import Settings
from tests.checker.tables import Attempt, Job, Schedule, Tables, Tick, shown

OF_THEIR_OWN: Final = frozenset({"manual", "retry", "moved"})
"""Reasons of runs that are no nominal times of the trigger."""
ALTERATIONS: Final = frozenset({"schedule.alter", "schedule.put", "schedule.reset"})
MOST_COUNTED: Final = 200_000
"""Nominal times of one row of the ledger that are counted one by one; longer rows are not."""


def one_decision(tables: Tables, _log: BodyLog, settings: Settings) -> Iterator[str]:
    """Each nominal time has one decision, and each run one nominal time."""
    for schedule, jobs in tables.runs():
        ticks = tables.ticks[schedule.id]
        for time, count in Counter(tick.nominal_time for tick in ticks).items():
            if count > 1:
                yield f"{schedule}: {shown(time)} has {count} decisions"
        backfilled = {tick.nominal_time for tick in ticks if tick.reason == "backfill"}
        planned = [
            tick for tick in ticks if tick.reason not in OF_THEIR_OWN and tick.reason != "backfill"
        ]
        for tick in planned:
            for time in sorted(
                time for time in backfilled if tick.nominal_time <= time <= tick.until
            ):
                yield f"{schedule}: {shown(time)} was run by a backfill, and is in the row that begins at {shown(tick.nominal_time)}"
        for before, after in pairwise(planned):
            if before.nominal_time < after.nominal_time <= before.until:
                yield f"{schedule}: {shown(after.nominal_time)} is decided twice, also in the row that begins at {shown(before.nominal_time)}"
        yield from _jobs_and_ticks(schedule, jobs, ticks, settings)
        yield from _against_the_expression(
            schedule, planned, backfilled, _changed_at(tables, schedule)
        )


def _jobs_and_ticks(
    schedule: Schedule, jobs: Sequence[Job], ticks: Sequence[Tick], settings: Settings
) -> Iterator[str]:
    fired: set[tuple[int | None, int | None]] = {
        (tick.nominal_time, tick.job_id) for tick in ticks if tick.decision == "fired"
    }
    first = [job for job in jobs if job.retry_of is None]
    made: set[tuple[int | None, int | None]] = {(job.nominal_time, job.id) for job in first}
    newest: dict[int | None, int] = {
        job.nominal_time: job.id for job in jobs if job.retry_of is not None
    }
    named: dict[int | None, int] = {
        tick.nominal_time: tick.retried_as for tick in ticks if tick.retried_as is not None
    }
    for time in sorted(newest.keys() | named.keys(), key=str):
        if newest.get(time) != named.get(time) and (settings.kept or time in newest):
            yield f"{schedule}: {shown(time)} was last retried as job {newest.get(time)}, but its decision names {named.get(time)}"
    for time, count in Counter(job.nominal_time for job in first).items():
        if count > 1:
            yield f"{schedule}: {shown(time)} has {count} jobs"
    for nominal, job in sorted(made - fired, key=str):
        yield f"{schedule}: job {job} runs for {shown(nominal)}, but no decision names it"
    if settings.kept:
        for nominal, job in sorted(fired - made, key=str):
            yield f"{schedule}: the decision about {shown(nominal)} names job {job}, which does not run for it"


def _against_the_expression(
    schedule: Schedule, planned: Sequence[Tick], backfilled: Collection[int], since: int
) -> Iterator[str]:
    """Compare consecutive decisions with the times of a cron expression, by another implementation of cron."""
    ticks = [tick for tick in planned if tick.nominal_time > since]
    if (
        not ticks
        or fires_after(schedule.trigger_kind, schedule.trigger, schedule.timezone, 0) is None
    ):
        return
    for tick, following in zip(ticks, [*ticks[1:], None], strict=True):
        fires = fires_after(
            schedule.trigger_kind, schedule.trigger, schedule.timezone, tick.nominal_time
        )
        assert fires is not None
        if tick.times > MOST_COUNTED:
            continue
        listed = [tick.nominal_time, *islice(fires, tick.times - 1)]
        if listed[-1] != tick.until:
            yield f"{schedule}: the row of {shown(tick.nominal_time)} counts {tick.times} times, which end at {shown(listed[-1])}, not at {shown(tick.until)}"
            continue
        due = next((time for time in fires if time not in backfilled), None)
        decided = schedule.last_tick if following is None else following.nominal_time
        if due is not None and decided is not None and due < decided + (following is None):
            yield f"{schedule}: {shown(due)} has no decision"
        if following is not None and due is not None and due > following.nominal_time > tick.until:
            yield f"{schedule}: {shown(following.nominal_time)} has a decision, but is no time of {schedule.trigger!r}"


def _changed_at(tables: Tables, schedule: Schedule) -> int:
    """Return the moment since when the schedule has had its present rules, as far as the tables show."""
    names = {str(schedule.id), schedule.name}
    altered = [
        change.at
        for change in tables.changes
        if (change.action in ALTERATIONS and change.target in names)
        or (change.action == "deployment.deploy" and change.target == schedule.module)
    ]
    passed = [tick.until for tick in tables.ticks[schedule.id] if tick.reason == "altered"]
    return max([*altered, *passed], default=-1)


def no_overlap(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """Two runs of a schedule never overlap, unless it allows that."""
    for schedule, jobs in tables.runs():
        if schedule.overlap == "allow_all":
            continue
        since = _changed_at(tables, schedule)
        runs = [job for job in jobs if job.created_at > since]
        if settings.steady_clock:
            yield from _attempts_overlap(
                schedule, [each for job in runs for each in tables.attempts[job.id]]
            )
            for before, after in pairwise(sorted(runs)):
                if before.finished_at is None or after.created_at < before.finished_at:
                    yield f"{schedule}: job {after.id} was created before job {before.id} had ended"
        if not settings.frozen_processes:
            yield from _bodies_overlap(schedule, {job.id for job in runs}, log)


def _attempts_overlap(schedule: Schedule, attempts: Sequence[Attempt]) -> Iterator[str]:
    for before, after in pairwise(
        sorted(attempts, key=lambda each: (each.started_at, each.finished_at))
    ):
        if before.job_id != after.job_id and after.started_at < before.finished_at:
            yield f"{schedule}: job {after.job_id} began at {shown(after.started_at)}, before job {before.job_id} had ended"


def _bodies_overlap(schedule: Schedule, jobs: set[int], log: BodyLog) -> Iterator[str]:
    for before, after in pairwise([body for body in log.bodies() if body.job in jobs]):
        if before.job != after.job and before.end is not None and after.begin < before.end:
            yield f"{schedule}: the bodies of jobs {before.job} and {after.job} ran at the same time"


def statistics(tables: Tables, _log: BodyLog, settings: Settings) -> Iterator[str]:
    """The totals add up, and match the runs where all of these are kept."""
    for schedule, jobs in tables.runs():
        counted = tables.statistics.get(schedule.id)
        if counted is None:
            yield f"{schedule} has no statistics"
            continue
        if (
            counted.total_runs
            != counted.total_successes + counted.total_failures + counted.total_crashes
        ):
            yield (
                f"{schedule}: {counted.total_successes} successes, {counted.total_failures} failures and "
                f"{counted.total_crashes} crashes are not {counted.total_runs} runs"
            )
        if settings.kept and settings.over:
            yield from _against_the_runs(tables, schedule, jobs)


def _against_the_runs(tables: Tables, schedule: Schedule, jobs: Sequence[Job]) -> Iterator[str]:
    counted = tables.statistics[schedule.id]
    begun = [job for job in jobs if tables.attempts[job.id]]
    successes = sum(job.state == "finished" for job in begun)
    ended_by_a_crash = sum(
        job.state == "failed" and _last(job, tables) == "crashed" for job in begun
    )
    # A run that was stopped with its node does not count, unless its job was failed by a limit later.
    stopped = sum(job.state == "failed" and _last(job, tables) == "interrupted" for job in begun)
    if not len(begun) - stopped <= counted.total_runs <= len(begun):
        yield f"{schedule}: {counted.total_runs} runs are counted, but {len(begun)} began"
    if counted.total_successes != successes:
        yield f"{schedule}: {counted.total_successes} successes are counted, but {successes} runs finished"
    # A job may be failed by a limit while it waits after a crash: then its run counts as a failure.
    if counted.total_crashes > ended_by_a_crash:
        yield f"{schedule}: {counted.total_crashes} crashes are counted, but only {ended_by_a_crash} runs crashed"


def _last(job: Job, tables: Tables) -> str:
    return tables.attempts[job.id][-1].outcome


def waiting(tables: Tables, _log: BodyLog, settings: Settings) -> Iterator[str]:
    """No schedule waits for ever: an enabled one has a next start, and none waits for a run that has ended."""
    for schedule in tables.schedules.values():
        if schedule.enabled and schedule.next_start is None:
            yield f"{schedule} is enabled, but has no next start"
        run = None if schedule.run_token is None else tables.jobs.get(schedule.run_token)
        if schedule.run_token is not None and settings.over:
            yield f"{schedule} is {schedule.state}, waiting for {run or f'job {schedule.run_token}'}"
