"""Faults to plant in a database without constraints: each is one change that the tables can show.

They are written in the SQL that both databases know. Each table has a `rowid`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, text

from horae.storage.jobs import jobs

SECOND: Final = timedelta(seconds=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
MICROSECOND: Final = timedelta(microseconds=1)


class Planted(NamedTuple):
    """What was changed, and the schedule, job, group, queue or limit that the audit must name."""

    what: str
    schedule: int | None = None
    job: int | None = None
    queue: str | None = None
    group: int | None = None
    limit: str | None = None


@dataclass(frozen=True, slots=True)
class Plant:
    """A fault: the rows of which it strikes one, and the statements that change it.

    The columns of the row are parameters of the statements; those named `schedule_id`, `job_id` and `group_id` say what
    the audit must name. `draws` has a choice for each further parameter, or for each part `{…}` of a statement.
    """

    name: str
    rows: str
    changes: tuple[str, ...]
    draws: Mapping[str, tuple[Any, ...]] = field(default_factory=dict[str, tuple[Any, ...]])
    computed: Callable[[Any], dict[str, Any]] = lambda _row: {}
    queue: str | None = None
    limit: str | None = None

    def plant(self, connection: Connection, random: Random) -> Planted | None:
        """Change one row; None if there is none to strike."""
        found = connection.execute(text(self.rows), _stored(connection, {"minute": 60 * SECOND}))
        candidates = found.mappings().all()
        if not candidates:
            return None
        row = random.choice(candidates)
        drawn = {name: random.choice(choices) for name, choices in self.draws.items()}
        values = _stored(connection, {**row, **drawn, **self.computed(row)})
        first, *others = (text(change.format(**drawn)) for change in self.changes)
        assert connection.execute(first, values).rowcount
        for change in others:
            connection.execute(change, values)
        named = (row.get("schedule_id"), row.get("job_id"), self.queue, row.get("group_id"))
        return Planted(f"{self.name} {drawn or ''}, {dict(row)}", *named, self.limit)


def _stored(connection: Connection, values: dict[str, Any]) -> dict[str, Any]:
    """Give spans of time as the database adds them to moments."""
    is_sqlite = connection.dialect.name == "sqlite"
    return {
        name: value // MICROSECOND if is_sqlite and isinstance(value, timedelta) else value
        for name, value in values.items()
    }


def _of_tick(name: str, change: str, where: str = "true", /, **draws: tuple[Any, ...]) -> Plant:
    query = f"SELECT rowid AS row_id, schedule_id FROM horae_ticks WHERE {where}"
    return Plant(name, query, (f"{change} WHERE rowid = :row_id",), draws)


def _of_job(name: str, change: str, where: str = "true", /, **draws: tuple[Any, ...]) -> Plant:
    query = f"SELECT schedule_id, id AS job_id FROM horae_jobs WHERE {where}"
    return Plant(name, query, (f"UPDATE horae_jobs SET {change} WHERE id = :job_id",), draws)


def _of_attempt(name: str, change: str, where: str = "true", /, **draws: tuple[Any, ...]) -> Plant:
    query = (
        "SELECT a.rowid AS row_id, j.schedule_id, a.job_id FROM horae_job_attempts a "
        f"JOIN horae_jobs j ON j.id = a.job_id WHERE {where}"
    )
    return Plant(name, query, (f"{change} WHERE rowid = :row_id",), draws)


def _of_statistics(
    name: str, change: str, where: str = "true", /, **draws: tuple[Any, ...]
) -> Plant:
    query = f"SELECT schedule_id FROM horae_schedule_statistics WHERE {where}"
    return Plant(name, query, (f"{change} WHERE schedule_id = :schedule_id",), draws)


def _of_schedule(name: str, change: str, where: str, /, **draws: tuple[Any, ...]) -> Plant:
    query = f"SELECT id AS schedule_id FROM horae_schedules s WHERE {where}"
    update = f"UPDATE horae_schedules SET {change} WHERE id = :schedule_id"
    return Plant(name, query, (update,), draws)


def _of_queue(name: str, change: str) -> Plant:
    return Plant(name, "SELECT 1 AS one", (change,), queue="default")


def _full_bucket(row: Any) -> dict[str, Any]:
    _, at, period = json.loads(row["state"])
    return {"full": json.dumps([5_000 * period, at, period])}


DELETE_ATTEMPT: Final = "DELETE FROM horae_job_attempts"
SET_ATTEMPT: Final = "UPDATE horae_job_attempts SET"
SET_TICK: Final = "UPDATE horae_ticks SET"
SET_STATISTICS: Final = "UPDATE horae_schedule_statistics SET"
DELETE_JOB: Final = (
    "DELETE FROM horae_jobs WHERE id = :struck",
    "DELETE FROM horae_job_attempts WHERE job_id = :struck",
)
ENDED: Final = "finished_at IS NOT NULL"
HAS_ATTEMPTS: Final = "EXISTS (SELECT 1 FROM horae_job_attempts WHERE job_id = id)"
IN_LANE: Final = "state = 'pending' AND lane_id IS NOT NULL"
MAY_NOT_OVERLAP: Final = "CAST(s.rules AS TEXT) NOT LIKE '%allow_all%'"
FIRST_MEMBER: Final = "(SELECT min(id) FROM horae_jobs WHERE group_id = g.id)"
COLUMNS: Final = ", ".join(column.name for column in jobs.c if column.name != "id")
LATER: Final = (
    "SELECT max(id) FROM horae_jobs WHERE state = 'finished' AND type = 'task' AND group_id IS NULL"
)
EARLIER: Final = "SELECT min(id) FROM horae_jobs WHERE state = 'finished' AND type = 'task'"

PLANTS: Final = (
    _of_tick("deleted decision", "DELETE FROM horae_ticks"),
    _of_tick("doubled decision", "INSERT INTO horae_ticks SELECT * FROM horae_ticks"),
    _of_tick("raised count", f"{SET_TICK} count = count + :by", by=(1, 7)),
    _of_tick(
        "moved decision",
        f"{SET_TICK} nominal_time = nominal_time + :by, until = until + :by",
        by=(-17 * SECOND, 17 * SECOND),
    ),
    _of_tick(
        "moved moment of a decision",
        f"{SET_TICK} decided_at = decided_at + :by",
        "count = 1 AND reason <> 'altered'",
        by=(-30 * DAY, 30 * DAY),
    ),
    _of_tick(
        "late decision that is on time",
        f"{SET_TICK} decided_at = decided_at + :by",
        "reason = 'on_time'",
        by=(90 * SECOND,),
    ),
    _of_tick(
        "other decision",
        f"{SET_TICK} decision = CASE decision WHEN 'fired' THEN 'skipped' ELSE 'fired' END, "
        "reason = CASE reason WHEN :reason THEN 'catch_up_none' ELSE :reason END",
        reason=("window", "on_time", "manual"),
    ),
    Plant(
        "decision that names another job",
        "SELECT t.rowid AS row_id, t.schedule_id, j.id AS other FROM horae_ticks t JOIN horae_jobs j "
        "ON j.id = (SELECT min(id) FROM horae_jobs WHERE id <> t.job_id) WHERE t.decision = 'fired'",
        (f"{SET_TICK} job_id = :other WHERE rowid = :row_id",),
    ),
    Plant(
        "deleted job",
        f"SELECT schedule_id, id AS job_id FROM horae_jobs WHERE {ENDED} AND {HAS_ATTEMPTS}",
        ("DELETE FROM horae_jobs WHERE id = :job_id",),
    ),
    Plant(
        "deleted job with its attempts",
        "SELECT schedule_id, id AS job_id, id AS struck FROM horae_jobs j WHERE nominal_time < "
        "(SELECT max(nominal_time) FROM horae_ticks t WHERE t.schedule_id = j.schedule_id) AND NOT EXISTS (SELECT 1 FROM "
        "horae_jobs o WHERE o.schedule_id = j.schedule_id AND o.id < j.id AND o.finished_at > j.created_at)",
        DELETE_JOB,
    ),
    _of_attempt("deleted attempt", DELETE_ATTEMPT, "a.lease = j.lease AND j.state = 'finished'"),
    _of_attempt(
        "deleted last attempt",
        DELETE_ATTEMPT,
        "a.lease = j.lease AND j.state IN ('failed', 'pending')",
    ),
    _of_attempt(
        "deleted earlier attempt",
        DELETE_ATTEMPT,
        "a.lease < j.lease AND a.outcome NOT IN ('snoozed', 'interrupted')",
    ),
    _of_attempt(
        "attempt with a later lease",
        "INSERT INTO horae_job_attempts (job_id, lease, attempt, node_id, started_at, finished_at, outcome) "
        "SELECT job_id, lease + 1, attempt, node_id, started_at, finished_at, outcome FROM horae_job_attempts",
        "a.lease = j.lease",
    ),
    _of_attempt(
        "attempt before the one before",
        f"{SET_ATTEMPT} started_at = started_at - :by",
        "EXISTS (SELECT 1 FROM horae_job_attempts b WHERE b.job_id = a.job_id AND b.lease < a.lease)",
        by=(30 * DAY,),
    ),
    _of_attempt("renumbered attempt", f"{SET_ATTEMPT} attempt = attempt + :by", by=(-1, 1)),
    _of_attempt(
        "other outcome of an earlier attempt",
        f"{SET_ATTEMPT} outcome = :outcome",
        "a.lease < j.lease",
        outcome=("cancelled", "finished"),
    ),
    _of_attempt(
        "other outcome of the last attempt",
        f"{SET_ATTEMPT} outcome = :outcome",
        "a.lease = j.lease AND j.state IN ('failed', 'finished')",
        outcome=("cancelled", "snoozed"),
    ),
    _of_attempt(
        "attempt before its job",
        f"{SET_ATTEMPT} started_at = started_at - :by",
        "a.lease = 1",
        by=(40 * DAY,),
    ),
    _of_attempt(
        "moved last attempt",
        f"{SET_ATTEMPT} started_at = started_at + :by, finished_at = finished_at + :by",
        "a.lease = j.lease",
        by=(-HOUR, HOUR),
    ),
    _of_attempt(
        "later end of an attempt",
        f"{SET_ATTEMPT} finished_at = finished_at + :by",
        "a.lease = j.lease",
        by=(HOUR,),
    ),
    Plant(
        "ended attempt of a running job",
        "SELECT id AS job_id FROM horae_jobs WHERE state = 'started'",
        (
            (
                "INSERT INTO horae_job_attempts (job_id, lease, attempt, node_id, started_at, finished_at, outcome) "
                "SELECT id, lease, attempt, node_id, started_at, started_at, 'failed' FROM horae_jobs WHERE id = :job_id"
            ),
        ),
    ),
    Plant(
        "snooze that counts",
        "SELECT j.schedule_id, a.job_id FROM horae_job_attempts a JOIN horae_jobs j ON j.id = a.job_id "
        "WHERE a.attempt = 1 AND a.lease = j.lease AND j.lease = 1 AND j.state = 'finished'",
        (
            "UPDATE horae_jobs SET lease = 2, attempt = 2, max_attempts = 2 WHERE id = :job_id",
            f"{SET_ATTEMPT} lease = 2, attempt = 2 WHERE job_id = :job_id",
            (
                "INSERT INTO horae_job_attempts (job_id, lease, attempt, started_at, finished_at, outcome) SELECT job_id, 1, 1, "
                "started_at - :by, started_at - :by, 'snoozed' FROM horae_job_attempts WHERE job_id = :job_id"
            ),
        ),
        {"by": (MICROSECOND,)},
    ),
    _of_job(
        "edited state",
        "state = CASE state WHEN 'finished' THEN :state ELSE 'finished' END",
        ENDED,
        state=("failed", "pending"),
    ),
    _of_job("changed after its end", "updated_at = updated_at + :by", ENDED, by=(HOUR,)),
    _of_job("moved end", "finished_at = finished_at + :by", ENDED, by=(-HOUR, HOUR, -2 * DAY)),
    _of_job(
        "held by nobody",
        "node_id = 'gone', updated_at = updated_at - :by",
        ENDED,
        by=(10 * SECOND,),
    ),
    _of_job(
        "begun after its expiry",
        "expires_at = started_at - :by",
        f"{ENDED} AND started_at IS NOT NULL",
        by=(HOUR,),
    ),
    _of_job(
        "other number of attempts",
        "attempt = attempt + :by, lease = lease + 1",
        "attempt > 0 AND state <> 'cancelled'",
        by=(-1, 1),
    ),
    _of_job("other lease", "lease = lease + :by", "state = 'finished'", by=(-1, 1)),
    Plant(
        "doubled run",
        "SELECT schedule_id, id AS source, 1000000 AS job_id FROM horae_jobs WHERE nominal_time IS NOT NULL",
        (
            f"INSERT INTO horae_jobs (id, {COLUMNS}) SELECT :job_id, {COLUMNS} FROM horae_jobs WHERE id = :source",
        ),
    ),
    Plant(
        "overlapping run",
        "SELECT b.id AS job_id, b.schedule_id, a.id AS earlier FROM horae_jobs a JOIN horae_jobs b "
        "ON b.schedule_id = a.schedule_id AND b.id > a.id JOIN horae_schedules s ON s.id = a.schedule_id "
        f"WHERE a.finished_at > a.created_at AND {MAY_NOT_OVERLAP}",
        (
            "UPDATE horae_jobs SET created_at = (SELECT created_at FROM horae_jobs WHERE id = :earlier) WHERE id = :job_id",
        ),
    ),
    Plant(
        "second retry",
        f"SELECT retry_of, ({LATER}) AS job_id FROM horae_jobs WHERE retry_of IS NOT NULL AND id < ({LATER})",
        ("UPDATE horae_jobs SET retry_of = :retry_of WHERE id = :job_id",),
    ),
    Plant(
        "retry of what finished",
        f"SELECT id AS job_id, ({EARLIER}) AS other FROM horae_jobs WHERE retry_of IS NOT NULL AND id > ({EARLIER})",
        ("UPDATE horae_jobs SET retry_of = :other WHERE id = :job_id",),
    ),
    _of_statistics(
        "edited total",
        f"{SET_STATISTICS} {{name}} = {{name}} + :by",
        name=("total_runs", "total_successes", "total_failures", "total_crashes"),
        by=(-1, 1, 5),
    ),
    _of_statistics(
        "edited totals that add up",
        f"{SET_STATISTICS} {{change}}",
        change=(
            "total_successes = total_successes + 1, total_failures = total_failures - 1",
            "total_crashes = total_crashes + 1, total_successes = total_successes - 1",
            "total_failures = total_failures + 1, total_runs = total_runs + 1",
            "total_crashes = total_crashes - 1, total_runs = total_runs - 1",
        ),
    ),
    _of_statistics(
        "edited duration",
        f"{SET_STATISTICS} {{name}} = {{name}} + :by",
        name=("total_duration", "total_duration_failures"),
        by=(-60.0, 60.0),
    ),
    _of_statistics(
        "moved last end",
        f"{SET_STATISTICS} last_finish = last_finish - :by",
        "last_finish IS NOT NULL",
        by=(HOUR,),
    ),
    _of_statistics(
        "moved last start",
        f"{SET_STATISTICS} last_start = {{change}}",
        "last_start IS NOT NULL",
        change=("last_start - :by", "last_start + :by", "NULL"),
        by=(2 * DAY,),
    ),
    _of_statistics("deleted statistics", "DELETE FROM horae_schedule_statistics"),
    _of_schedule("no next start", "next_start = NULL", "enabled AND run_token IS NULL"),
    _of_schedule(
        "late next start",
        "next_start = next_start + :by",
        "enabled AND state = 'idle' AND trigger_kind = 'cron' AND EXISTS (SELECT 1 FROM "
        "horae_schedule_statistics WHERE schedule_id = s.id AND consecutive_crashes = 0)",
        by=(2 * DAY,),
    ),
    _of_schedule(
        "moved watermark",
        "last_tick = last_tick + :by",
        "name <> 'every'",
        by=(-40 * DAY, 40 * DAY),
    ),
    _of_schedule(
        "wrong token", "run_token = CASE WHEN run_token IS NULL THEN 1 END", MAY_NOT_OVERLAP
    ),
    _of_queue(
        "more jobs than a limit allows",
        "INSERT INTO horae_queues (name, concurrency_limit) VALUES ('default', 1)",
    ),
    _of_queue(
        "jobs that began in a paused queue",
        "INSERT INTO horae_queues (name, paused_at) SELECT 'default', min(created_at) FROM horae_jobs WHERE type = 'task'",
    ),
    Plant(
        "two jobs at once under a limit of one",
        "SELECT a.job_id, b.job_id AS beside FROM horae_job_attempts a JOIN horae_job_attempts b "
        "ON b.job_id <> a.job_id AND b.started_at < a.started_at AND b.finished_at > a.started_at "
        "WHERE 2 = (SELECT count(*) FROM horae_job_attempts WHERE job_id IN (a.job_id, b.job_id))",
        ("UPDATE horae_jobs SET limits = :limits WHERE id IN (:job_id, :beside)",),
        {"limits": ('{"weight": 1, "limits": [["api", "a", {"concurrency": 1}]]}',)},
    ),
    Plant(
        "key of another active job",
        "SELECT b.id AS job_id, a.id AS before FROM horae_jobs a JOIN horae_jobs b ON b.type = a.type AND b.id > a.id "
        "WHERE b.created_at > a.created_at AND b.created_at < a.finished_at - :minute",
        ("UPDATE horae_jobs SET unique_key = 'k' WHERE id IN (:job_id, :before)",),
    ),
    Plant(
        "miscounted group",
        "SELECT id AS group_id FROM horae_groups WHERE finished > 0",
        ("UPDATE horae_groups SET {change} WHERE id = :group_id",),
        {
            "change": (
                "finished = finished - 1, failed = failed + 1",
                "finished = finished - 1",
                "cancelled = cancelled + 1",
                "total = total + 1",
                "total = total - 1",
            )
        },
    ),
    Plant(
        "deleted member",
        "SELECT id AS job_id, id AS struck, group_id FROM horae_jobs WHERE group_id IS NOT NULL",
        DELETE_JOB,
    ),
    Plant(
        "lost member",
        "SELECT id AS job_id, group_id FROM horae_jobs WHERE group_id IS NOT NULL",
        ("UPDATE horae_jobs SET group_id = NULL WHERE id = :job_id",),
    ),
    Plant(
        "added member",
        "SELECT id AS job_id, (SELECT min(id) FROM horae_groups) AS group_id FROM horae_jobs "
        f"WHERE group_id IS NULL AND schedule_id IS NULL AND {ENDED}",
        ("UPDATE horae_jobs SET group_id = :group_id WHERE id = :job_id",),
    ),
    Plant(
        "deleted group",
        f"SELECT g.id AS struck, {FIRST_MEMBER} AS job_id FROM horae_groups g WHERE ended_at IS NOT NULL",
        ("DELETE FROM horae_groups WHERE id = :struck",),
    ),
    Plant(
        "lost ids of a group",
        f"SELECT g.id AS struck, {FIRST_MEMBER} AS job_id FROM horae_groups g "
        "WHERE EXISTS (SELECT 1 FROM horae_group_parts WHERE group_id = g.id)",
        ("DELETE FROM horae_group_parts WHERE group_id = :struck",),
    ),
    Plant(
        "group that ended after its next job had begun",
        "SELECT g.id AS group_id, g.then_id AS job_id FROM horae_groups g JOIN horae_jobs j ON j.id = g.then_id WHERE j.state = 'finished'",
        ("UPDATE horae_groups SET ended_at = ended_at + :by WHERE id = :group_id",),
        {"by": (2 * HOUR,)},
    ),
    Plant(
        "next job that began before its group had ended",
        "SELECT g.id AS group_id, g.then_id AS job_id FROM horae_groups g JOIN horae_jobs j ON j.id = g.then_id WHERE j.state = 'finished'",
        (
            "UPDATE horae_jobs SET started_at = started_at - :by WHERE id = :job_id",
            f"{SET_ATTEMPT} started_at = started_at - :by WHERE job_id = :job_id",
        ),
        {"by": (2 * HOUR,)},
    ),
    Plant(
        "next job that may begin before its group has ended",
        "SELECT id AS group_id, then_id AS job_id FROM horae_groups WHERE ended_at IS NULL",
        ("UPDATE horae_jobs SET waits_for = NULL WHERE id = :job_id",),
    ),
    Plant(
        "deleted next job of a group",
        "SELECT id AS group_id, then_id AS struck FROM horae_groups",
        DELETE_JOB,
    ),
    Plant(
        "successor that began early",
        "SELECT d.job_id FROM horae_dependencies d JOIN horae_jobs j ON j.id = d.job_id WHERE j.state = 'finished'",
        (
            "UPDATE horae_jobs SET started_at = created_at WHERE id = :job_id",
            f"{SET_ATTEMPT} started_at = (SELECT created_at FROM horae_jobs WHERE id = :job_id) WHERE job_id = :job_id",
        ),
    ),
    Plant(
        "successor that may begin early",
        "SELECT job_id FROM horae_dependencies WHERE NOT ended",
        ("UPDATE horae_jobs SET waits_for = NULL WHERE id = :job_id",),
    ),
    Plant(
        "dependency that is marked as ended",
        "SELECT rowid AS row_id, job_id FROM horae_dependencies WHERE NOT ended",
        ("UPDATE horae_dependencies SET ended = true WHERE rowid = :row_id",),
    ),
    Plant(
        "deleted dependency",
        "SELECT rowid AS row_id, job_id FROM horae_dependencies WHERE NOT ended",
        ("DELETE FROM horae_dependencies WHERE rowid = :row_id",),
    ),
    Plant(
        "jobs that wait for each other",
        "SELECT after_id AS job_id, job_id AS later FROM horae_dependencies WHERE NOT ended",
        (
            "INSERT INTO horae_dependencies (after_id, job_id, on_failure, ended) VALUES (:later, :job_id, 'cancel', false)",
            "UPDATE horae_jobs SET waits_for = 'jobs' WHERE id = :job_id",
            "UPDATE horae_jobs SET awaited = 2 WHERE id = :later",
        ),
    ),
    Plant(
        "deleted lane",
        f"SELECT id AS job_id, lane_id FROM horae_jobs WHERE {IN_LANE}",
        ("DELETE FROM horae_lanes WHERE id = :lane_id",),
    ),
    Plant(
        "wrong lane",
        f"SELECT id AS job_id, lane_id FROM horae_jobs WHERE {IN_LANE}",
        ("UPDATE horae_lanes SET {change} WHERE id = :lane_id",),
        {"change": ("queue = 'other'", "type = 'task'", "priority = priority + 1")},
    ),
    Plant(
        "in no lane for hours",
        f"SELECT id AS job_id FROM horae_jobs WHERE {IN_LANE}",
        (
            (
                "UPDATE horae_jobs SET lane_id = NULL, run_at = run_at - :by, created_at = created_at - :by, "
                "updated_at = updated_at - :by WHERE id = :job_id"
            ),
        ),
        {"by": (3 * HOUR,)},
    ),
    Plant(
        "bucket of 1,000 bursts",
        "SELECT id AS bucket, CAST(state AS TEXT) AS state FROM horae_limit_buckets WHERE state IS NOT NULL",
        ("UPDATE horae_limit_buckets SET state = :full WHERE id = :bucket",),
        computed=_full_bucket,
        limit="partner",
    ),
    Plant(
        "lost tag",
        "SELECT job_id, tag FROM horae_job_tags",
        ("DELETE FROM horae_job_tags WHERE job_id = :job_id AND tag = :tag",),
    ),
    Plant(
        "tag that its job has not",
        "SELECT schedule_id, id AS job_id FROM horae_jobs WHERE tags IS NULL",
        ("INSERT INTO horae_job_tags (tag, job_id) VALUES ('east', :job_id)",),
    ),
    Plant(
        "other tags",
        "SELECT id AS job_id FROM horae_jobs WHERE tags IS NOT NULL",
        ("UPDATE horae_jobs SET tags = {tags} WHERE id = :job_id",),
        {"tags": ("NULL", """'["east"]'""")},
    ),
)
