"""An invented history for the screenshots: jobs that ended in the last hours, and ticks of schedules."""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from horae.storage.jobs.tables import job_attempts, jobs
from horae.storage.schedules.tables import deployments, schedule_statistics, schedules, ticks

TYPES: Final = (
    ("export_table", "export", 21.0),
    ("import_orders", "default", 9.0),
    ("send_newsletter", "mail", 1.4),
    ("rebuild_search_index", "default", 34.0),
)
OWNERS: Final = ("alice", "bob", "chloe", None)
MINUTES: Final = 60
"""Minutes of job history, as many as the overview shows."""
RUNS: Final = 30
"""Ticks of each schedule, more than one page shows."""
DECLINED: Final = "The bank has declined the card of order 8120; ask the customer for another one."


def write_history(connection: Connection, now: datetime, rng: Random) -> None:
    """Fill the tables with an hour of jobs, and with the history of each schedule."""
    for moment in _busy_minutes(now, rng):
        _ended_job(connection, moment, rng)
    for row in connection.execute(
        select(schedules.c.id, schedules.c.name, schedules.c.queue)
    ).all():
        _history(connection, row, now, rng)
    current = connection.execute(select(deployments.c.id, deployments.c.schema)).one()
    replaced = {
        "module": "shop",
        "schema": current.schema,
        "min_replicas": 1,
        "replaced_by": current.id,
    }
    for days in (2, 9):
        connection.execute(
            insert(deployments).values(
                **replaced,
                key=f"dpl-shop-{rng.randbytes(5).hex()}",
                schema_hash=rng.randbytes(32).hex(),
                created_at=now - timedelta(days=days + 5),
                ended_at=now - timedelta(days=days),
            )
        )


def _busy_minutes(now: datetime, rng: Random) -> Iterator[datetime]:
    """Yield moments of the last hour, in waves."""
    for minute in range(MINUTES, 0, -1):
        wave = 7 + 4 * math.sin(minute / 7) + 3 * math.sin(minute / 3)
        for _ in range(max(1, round(wave + rng.random() * 3))):
            yield now - timedelta(minutes=minute - rng.random())


def _ended_job(connection: Connection, ended: datetime, rng: Random) -> None:
    kind, queue, seconds = rng.choice(TYPES)
    chance = rng.random()
    state = "failed" if chance > 0.97 else "cancelled" if chance > 0.95 else "finished"
    values: dict[str, Any] = {"type": kind, "queue": queue, "owner": rng.choice(OWNERS)}
    if state == "failed":
        values |= {
            "type": "charge_card",
            "error": "CardDeclined: 8120",
            "human_readable_error": DECLINED,
        }
    took = timedelta(seconds=seconds * rng.lognormvariate(0, 0.4))
    waited = timedelta(seconds=rng.lognormvariate(-4.5, 1.0))
    _insert(connection, values | {"state": state}, ended, took, waited)


def _insert(
    connection: Connection,
    values: dict[str, Any],
    ended: datetime,
    took: timedelta,
    waited: timedelta,
) -> int:
    """Insert a job that has ended, with its attempt. Return its id."""
    started = ended - took
    due = started - waited
    done = 100 if values["state"] == "finished" else 62
    statement = insert(jobs).values(
        **values,
        params="{}",
        priority=0,
        progress_percentage=done,
        attempt=1,
        lease=1,
        run_at=due,
        created_at=due,
        started_at=started,
        finished_at=ended,
        updated_at=ended,
    )
    identifier: int = connection.execute(statement.returning(jobs.c.id)).scalar_one()
    connection.execute(
        insert(job_attempts).values(
            job_id=identifier,
            lease=1,
            attempt=1,
            node_id="9bb7b9a9ca98bc44",
            started_at=started,
            finished_at=ended,
            outcome=values["state"],
            error=values.get("error"),
        )
    )
    return identifier


def _history(connection: Connection, schedule: Any, now: datetime, rng: Random) -> None:
    """Insert a tick for every quarter of an hour; some did not run, with a reason."""
    times = [
        now.replace(minute=0, second=0, microsecond=0) - timedelta(minutes=15 * step)
        for step in range(1, RUNS)
    ]
    fired = failures = 0
    for step, nominal in enumerate(times):
        decision, reason = _decision(step)
        job = None
        if decision == "fired":
            fired += 1
            failed = step in (4, 17)
            failures += failed
            values = {
                "type": schedule.name,
                "queue": schedule.queue,
                "state": "failed" if failed else "finished",
            }
            values |= {"schedule_id": schedule.id, "nominal_time": nominal}
            if failed:
                values |= {
                    "error": "TimeoutError: bank.example",
                    "human_readable_error": "The bank does not answer.",
                }
            took = timedelta(seconds=40 * rng.lognormvariate(0, 0.5))
            job = _insert(connection, values, nominal + took, took, timedelta(milliseconds=12))
        connection.execute(
            insert(ticks).values(
                schedule_id=schedule.id,
                nominal_time=nominal,
                until=nominal,
                count=1,
                decision=decision,
                reason=reason,
                job_id=job,
                decided_at=nominal,
                decided_by="9bb7b9a9ca98bc44",
            )
        )
    runs = fired * 14
    connection.execute(
        update(schedule_statistics)
        .where(schedule_statistics.c.schedule_id == schedule.id)
        .values(
            last_start=times[0],
            last_finish=times[0],
            last_successful_finish=times[0],
            last_run_success=True,
            total_runs=runs,
            total_successes=runs - failures,
            total_failures=failures,
            total_crashes=0,
            total_duration=runs * 43.0,
            total_duration_failures=failures * 43.0,
        )
    )


def _decision(step: int) -> tuple[str, str]:
    if step == 6:
        return "skipped", "overlap"
    if step in (12, 13):
        return "skipped", "paused"
    if step == 20:
        return "missed", "catch_up_none"
    return "fired", "late" if step == 14 else "on_time"
