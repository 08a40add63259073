"""An invented history: jobs that ended in the last hours, the course of queues, and ticks."""

import json
import math
from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from horae.domain.history import (
    BOUNDS,
    LENGTHS,
    Ended,
    Figures,
    Gauges,
    HistoryBucket,
    Seen,
    bucket_of,
    floor,
)
from horae.storage.engine import seconds_from_now
from horae.storage.history import writing
from horae.storage.jobs import creation
from horae.storage.jobs.creation import JobRow
from horae.storage.jobs.tables import job_attempts, jobs
from horae.storage.schedules import deployments as deploying
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
QUEUES: Final = (
    *("default", "export", "mail", "images", "search", "reports"),
    *(f"tenant-{number:02}" for number in range(1, 55)),
)
"""Sixty queues; `mail` falls behind."""
BEHIND: Final = timedelta(minutes=50)
"""For how long `mail` has been behind."""
BUCKETS: Final = ((60, 1440), (600, 1008))
"""Lengths of buckets in seconds, and how many of each are written: for a day, and for a week."""
QUIET: Final = Gauges(waiting=1, lateness=0.5, slots=4, slots_used=1)
FALLING: Final = Gauges(waiting=900, lateness=1500.0, slots=4, slots_used=4)
DECLINED: Final = "The bank has declined the card of order 8120; ask the customer for another one."


def write_history(connection: Connection, now: datetime, rng: Random) -> None:
    """Fill the tables with an hour of jobs, and with the history of each schedule."""
    for moment in _busy_minutes(now, rng):
        _ended_job(connection, moment, rng)
    _write_course(connection, now, rng)
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


def _write_course(connection: Connection, now: datetime, rng: Random) -> None:
    """Write what nodes would have recorded in the last week."""
    for seconds, count in BUCKETS:
        length = timedelta(seconds=seconds)
        for number in range(1, count + 1):
            start = floor(now, seconds) - number * length
            bucket = _bucket(now, start, seconds, rng)
            parts = {
                name: json.dumps(getattr(bucket, name).as_json())
                for name in ("everything", "queues", "types")
            }
            connection.execute(writing.PUT, {**parts, "seconds": seconds, "start": start})


def _bucket(now: datetime, start: datetime, seconds: int, rng: Random) -> HistoryBucket:
    """Return the figures of one time: busy by day, and quiet by night."""
    day = 1.1 - math.cos(start.hour / 12 * math.pi) * 0.9
    ended_of: dict[str, Figures] = {}
    seen_of: dict[str, Gauges] = {}
    for place, name in enumerate(QUEUES):
        count = round(day * seconds / 60 * 8 / (1 + place / 4) * rng.uniform(0.7, 1.3))
        late = max(timedelta(), start - (now - BEHIND)) if name == "mail" else timedelta()
        waiting = round(late.total_seconds() / 100) + (rng.randrange(3) if place < 4 else 0)
        seen_of[name] = Gauges(
            waiting=waiting, lateness=late.total_seconds() + 0.2, slots=20, slots_used=place % 3
        )
        if count and not late:
            ended_of[name] = Figures(finished=count)
    types: dict[str, Figures] = {}
    for kind, _queue, took in TYPES:
        count = round(day * seconds / 60 * 6 * rng.uniform(0.7, 1.3))
        failed = round(count * 0.02)
        durations = {bisect_left(BOUNDS, took * rng.uniform(0.6, 1.6)): count}
        waits = {bisect_left(BOUNDS, rng.uniform(0.005, 0.05)): count}
        types[kind] = Figures(finished=count, failed=failed, runs=durations, waits=waits)
    everything = Figures(
        finished=sum(each.finished for each in types.values()),
        failed=sum(each.failed for each in types.values()),
    )
    waiting = sum(each.waiting for each in seen_of.values())
    total = Gauges(waiting=waiting, lateness=0.2, slots=20, slots_used=9)
    return bucket_of(Ended(everything, ended_of, types), Seen(total, seen_of, {}))


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


def let_a_queue_fall_behind(connection: Connection) -> None:
    """Write ten minutes of sixty queues; `q-41` fell behind 25 minutes ago, and type `letters` fails since `v2`."""
    row = JobRow(type="unknown", queue="q-41", priority=0, params=None)
    waiting = creation.add(connection, row).id
    due = seconds_from_now(-FALLING.lateness)
    connection.execute(update(jobs).where(jobs.c.id == waiting).values(run_at=due))
    deploying.add(connection, "v2", "shop", "[]", "1", 1)
    deployed = update(deployments).where(deployments.c.key == "v2")
    connection.execute(deployed.values(created_at=seconds_from_now(-300.0)))
    now = writing.progress(connection).now
    names = [f"q-{number:02}" for number in range(60)]
    seen = Seen(FALLING, dict.fromkeys(names, QUIET) | {"q-41": FALLING}, {"letters": QUIET})
    ended = Ended(
        Figures(finished=118, failed=3),
        dict.fromkeys(names, Figures(finished=2)) | {"q-41": Figures(failed=3)},
        {"letters": Figures(finished=2, failed=3, runs={20: 5})},
    )
    length = timedelta(seconds=LENGTHS[0].seconds)
    end = floor(now, LENGTHS[0].seconds) - length
    for number in range(60, 0, -1):
        found, start = writing.progress(connection), end - number * length
        behind = {"q-41": now - timedelta(seconds=FALLING.lateness)}
        assert writing.write(connection, found, start, bucket_of(ended, seen), behind)


def miss_last_nights_run(connection: Connection, schedule: int) -> None:
    """Write that no node was up at the last full hour but nine, when the schedule should have run."""
    now = writing.progress(connection).now
    moment = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=9)
    connection.execute(
        insert(ticks).values(
            schedule_id=schedule,
            nominal_time=moment,
            until=moment,
            count=1,
            decision="missed",
            reason="catch_up_none",
            decided_at=now,
            decided_by="gone",
        )
    )
