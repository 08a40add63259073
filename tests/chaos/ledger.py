"""The rules that must hold after any faults: one decision for each nominal time, no job twice, no overlap."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import Connection, select

from horae.storage.engine.database import Database
from horae.storage.jobs.tables import job_attempts, jobs
from horae.storage.schedules.tables import schedule_statistics, schedules, ticks

SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True)
class Findings:
    """Figures, and the violations of the rules."""

    figures: Counter[str]
    violations: list[str]


def examine(database: Database) -> Findings:
    """Examine ticks, jobs and attempts of schedules that fire every second with overlap `skip`."""
    return database.autocommit(_examine)


def _examine(connection: Connection) -> Findings:
    rows = connection.execute(
        select(ticks, ticks.c.count.label("times")).order_by(ticks.c.schedule_id, ticks.c.nominal_time)
    ).all()
    by_schedule: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        by_schedule[row.schedule_id].append(row)
    figures: Counter[str] = Counter()
    for row in rows:
        figures[row.decision] += row.times
    violations = [
        *(violation for entries in by_schedule.values() for violation in gaps(entries)),
        *jobs_against_ticks(connection),
        *attempts_of_runs(connection, figures),
        *states_of_schedules(connection, by_schedule),
    ]
    return Findings(figures, violations)


def gaps(entries: Sequence[Any]) -> Iterator[str]:
    """Yield the nominal times between the first and the last decision that have none or two."""
    for before, after in pairwise(entries):
        if after.nominal_time - before.until != SECOND:
            yield f"schedule {after.schedule_id}: after {before.until} follows {after.nominal_time}"
    for entry in entries:
        if entry.until - entry.nominal_time != (entry.times - 1) * SECOND:
            yield f"schedule {entry.schedule_id}: {entry.times} times from {entry.nominal_time} to {entry.until}"


def jobs_against_ticks(connection: Connection) -> Iterator[str]:
    """Check that every fired tick has its job, and every job its tick."""
    fired = {
        (row.schedule_id, row.nominal_time): row.job_id
        for row in connection.execute(select(ticks).where(ticks.c.decision == "fired"))
    }
    made = {
        (row.schedule_id, row.nominal_time): row.id
        for row in connection.execute(select(jobs).where(jobs.c.schedule_id.is_not(None)))
    }
    for key in fired.keys() ^ made.keys():
        yield f"schedule {key[0]}, {key[1]}: tick {fired.get(key)}, job {made.get(key)}"
    for key in fired.keys() & made.keys():
        if fired[key] != made[key]:
            yield f"schedule {key[0]}, {key[1]}: the tick names job {fired[key]}, but it is {made[key]}"


def attempts_of_runs(connection: Connection, figures: Counter[str]) -> Iterator[str]:
    """Check that no job finished twice, and that no two runs of a schedule overlapped."""
    joined = (
        select(jobs.c.schedule_id, job_attempts)
        .join(jobs, jobs.c.id == job_attempts.c.job_id)
        .where(jobs.c.schedule_id.is_not(None))
        .order_by(jobs.c.schedule_id, job_attempts.c.started_at, job_attempts.c.lease)
    )
    ended: Counter[int] = Counter()
    last: dict[int, tuple[int, datetime]] = {}
    for row in connection.execute(joined):
        figures[f"attempts {row.outcome}"] += 1
        ended[row.job_id] += row.outcome == "finished"
        job_id, until = last.get(row.schedule_id, (row.job_id, row.started_at))
        if row.started_at < until:
            yield f"schedule {row.schedule_id}: job {row.job_id} began before job {job_id} had ended"
        last[row.schedule_id] = row.job_id, row.finished_at
    yield from (f"job {job_id} finished {count} times" for job_id, count in ended.items() if count > 1)


def states_of_schedules(connection: Connection, entries: dict[int, list[Any]]) -> Iterator[str]:
    """Check that the statistics match the ticks, and that no schedule waits for ever."""
    joined = select(schedules, schedule_statistics).join(
        schedule_statistics, schedule_statistics.c.schedule_id == schedules.c.id
    )
    for row in connection.execute(joined):
        fired = sum(entry.times for entry in entries.get(row.id, []) if entry.decision == "fired")
        if row.total_runs != fired:
            yield f"schedule {row.id}: {row.total_runs} runs are counted, {fired} were fired"
        if row.total_runs != row.total_successes + row.total_failures + row.total_crashes:
            yield f"schedule {row.id}: the totals do not add up"
        if row.state != "idle":
            yield f"schedule {row.id} is {row.state} after everything has ended"
        if fired == 0:
            yield f"schedule {row.id} never fired"
