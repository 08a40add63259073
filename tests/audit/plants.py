"""Faults to plant in a database without constraints: each is one change that the tables can show.

They are written in the SQL that both databases know. Each table has a `rowid`.
"""

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, text

from horae.storage.jobs.tables import jobs

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


class Ground:
    """A connection on which faults are planted, and what they are drawn from."""

    def __init__(self, connection: Connection, random: Random) -> None:
        self.connection, self.random = connection, random
        self._is_sqlite = connection.dialect.name == "sqlite"

    def rows(self, query: str, **values: Any) -> Sequence[Any]:
        return self.connection.execute(text(query), self._stored(values)).all()

    def _stored(self, values: dict[str, Any]) -> dict[str, Any]:
        """Give spans of time as the database adds them to moments."""
        return {
            name: value // MICROSECOND
            if self._is_sqlite and isinstance(value, timedelta)
            else value
            for name, value in values.items()
        }

    def one(self, query: str, **values: Any) -> Any:
        """Draw one row."""
        found = self.rows(query, **values)
        return self.random.choice(found) if found else None

    def change(self, statement: str, **values: Any) -> None:
        assert self.connection.execute(text(statement), self._stored(values)).rowcount

    def delete_job(self, job_id: int) -> None:
        """Delete a job with its attempts."""
        for table, key in (("horae_jobs", "id"), ("horae_job_attempts", "job_id")):
            self.connection.execute(text(f"DELETE FROM {table} WHERE {key} = :id"), {"id": job_id})

    def tick(self, where: str = "true") -> Any:
        return self.one(f"SELECT t.rowid AS row_id, t.* FROM horae_ticks t WHERE {where}")

    def job(self, where: str = "true") -> Any:
        return self.one(f"SELECT * FROM horae_jobs WHERE {where}")

    def attempt(self, where: str = "true") -> Any:
        query = "SELECT a.rowid AS row_id, a.*, j.schedule_id, j.lease AS current FROM horae_job_attempts a JOIN horae_jobs j ON j.id = a.job_id"
        return self.one(f"{query} WHERE {where}")


def deleted_tick(ground: Ground) -> Planted:
    row = ground.tick()
    ground.change("DELETE FROM horae_ticks WHERE rowid = :id", id=row.row_id)
    return Planted(f"decision {row.nominal_time} deleted", row.schedule_id)


def doubled_tick(ground: Ground) -> Planted:
    row = ground.tick()
    ground.change(
        "INSERT INTO horae_ticks SELECT * FROM horae_ticks WHERE rowid = :id", id=row.row_id
    )
    return Planted("decision doubled", row.schedule_id)


def wrong_count(ground: Ground) -> Planted:
    row = ground.tick()
    ground.change(
        "UPDATE horae_ticks SET count = count + :by WHERE rowid = :id",
        by=ground.random.choice([1, 7]),
        id=row.row_id,
    )
    return Planted("count raised", row.schedule_id)


def shifted_tick(ground: Ground) -> Planted:
    row, by = ground.tick(), ground.random.choice([-17 * SECOND, 17 * SECOND])
    ground.change(
        "UPDATE horae_ticks SET nominal_time = nominal_time + :by, until = until + :by WHERE rowid = :id",
        by=by,
        id=row.row_id,
    )
    return Planted(f"decision moved by {by}", row.schedule_id)


def moved_decision(ground: Ground) -> Planted:
    row, by = (
        ground.tick("count = 1 AND reason <> 'altered'"),
        ground.random.choice([-30 * DAY, 30 * DAY]),
    )
    ground.change(
        "UPDATE horae_ticks SET decided_at = decided_at + :by WHERE rowid = :id",
        by=by,
        id=row.row_id,
    )
    return Planted(f"decided_at moved by {by}", row.schedule_id)


def other_reason(ground: Ground) -> Planted:
    row = ground.tick()
    reason = ground.random.choice(
        sorted({"window", "catch_up_none", "on_time", "manual"} - {row.reason})
    )
    decision = "fired" if row.decision != "fired" else "skipped"
    ground.change(
        "UPDATE horae_ticks SET decision = :decision, reason = :reason WHERE rowid = :id",
        decision=decision,
        reason=reason,
        id=row.row_id,
    )
    return Planted(f"{row.decision} {row.reason} became {decision} {reason}", row.schedule_id)


def wrong_job(ground: Ground) -> Planted:
    row = ground.tick("decision = 'fired'")
    other = ground.job(f"id <> {row.job_id}")
    ground.change(
        "UPDATE horae_ticks SET job_id = :job WHERE rowid = :id", job=other.id, id=row.row_id
    )
    return Planted(f"decision names job {other.id}", row.schedule_id)


def deleted_job(ground: Ground) -> Planted:
    row = ground.job(
        "finished_at IS NOT NULL AND (SELECT count(*) FROM horae_job_attempts WHERE job_id = id) > 0"
    )
    ground.change("DELETE FROM horae_jobs WHERE id = :id", id=row.id)
    return Planted(f"job {row.id} deleted", row.schedule_id, row.id)


def deleted_job_with_attempts(ground: Ground) -> Planted:
    row = ground.job(
        "nominal_time < (SELECT max(nominal_time) FROM horae_ticks t WHERE t.schedule_id = horae_jobs.schedule_id) "
        "AND NOT EXISTS (SELECT 1 FROM horae_jobs o WHERE o.schedule_id = horae_jobs.schedule_id "
        "AND o.id < horae_jobs.id AND o.finished_at > horae_jobs.created_at)"
    )
    ground.delete_job(row.id)
    return Planted(f"job {row.id} deleted with its attempts", row.schedule_id, row.id)


def deleted_attempt(ground: Ground) -> Planted:
    row = ground.attempt("a.lease = j.lease AND j.state = 'finished'")
    ground.change("DELETE FROM horae_job_attempts WHERE rowid = :id", id=row.row_id)
    return Planted(f"the attempt of job {row.job_id} deleted", row.schedule_id, row.job_id)


def unfenced_attempt(ground: Ground) -> Planted:
    row = ground.attempt("a.lease = j.lease")
    ground.change(
        "INSERT INTO horae_job_attempts (job_id, lease, attempt, node_id, started_at, finished_at, outcome, error, traceback) SELECT job_id, lease + 1, attempt, node_id, started_at, finished_at, outcome, error, traceback FROM horae_job_attempts WHERE rowid = :id",
        id=row.row_id,
    )
    return Planted(
        f"job {row.job_id} has an attempt with a later lease", row.schedule_id, row.job_id
    )


def attempt_before_the_one_before(ground: Ground) -> Planted | None:
    row = ground.attempt(
        "a.lease > 1 AND (SELECT count(*) FROM horae_job_attempts b WHERE b.job_id = a.job_id AND b.lease < a.lease) > 0"
    )
    if row is None:
        return None
    ground.change(
        "UPDATE horae_job_attempts SET started_at = started_at - :by WHERE rowid = :id",
        by=30 * DAY,
        id=row.row_id,
    )
    return Planted(
        f"job {row.job_id}: attempt {row.attempt} began too early", row.schedule_id, row.job_id
    )


def edited_state(ground: Ground) -> Planted:
    row = ground.job("finished_at IS NOT NULL")
    state = ground.random.choice(sorted({"finished", "failed", "pending"} - {row.state}))
    if row.state == "failed":
        state = "finished"
    ground.change("UPDATE horae_jobs SET state = :state WHERE id = :id", state=state, id=row.id)
    return Planted(f"job {row.id} was {row.state}, is {state}", row.schedule_id, row.id)


def changed_after_its_end(ground: Ground) -> Planted:
    row = ground.job("finished_at IS NOT NULL")
    ground.change(
        "UPDATE horae_jobs SET updated_at = updated_at + :by WHERE id = :id", by=HOUR, id=row.id
    )
    return Planted(f"job {row.id} changed after its end", row.schedule_id, row.id)


def moved_end(ground: Ground) -> Planted:
    row, by = ground.job("finished_at IS NOT NULL"), ground.random.choice([-HOUR, HOUR, -2 * DAY])
    ground.change(
        "UPDATE horae_jobs SET finished_at = finished_at + :by WHERE id = :id", by=by, id=row.id
    )
    return Planted(f"the end of job {row.id} moved", row.schedule_id, row.id)


def doubled_run(ground: Ground) -> Planted:
    row = ground.job("nominal_time IS NOT NULL")
    names = ", ".join(column.name for column in jobs.c if column.name != "id")
    ground.change(
        f"INSERT INTO horae_jobs (id, {names}) SELECT 1000000, {names} FROM horae_jobs WHERE id = :id",
        id=row.id,
    )
    return Planted(f"job {row.id} doubled", row.schedule_id, 1_000_000)


def overlapping_run(ground: Ground) -> Planted | None:
    row = ground.one(
        "SELECT b.id, b.schedule_id, a.id AS earlier FROM horae_jobs a JOIN horae_jobs b ON b.schedule_id = a.schedule_id "
        "AND b.id > a.id JOIN horae_schedules s ON s.id = a.schedule_id WHERE a.finished_at > a.created_at AND CAST(s.rules AS TEXT) NOT LIKE '%allow_all%'"
    )
    ground.change(
        "UPDATE horae_jobs SET created_at = (SELECT created_at FROM horae_jobs WHERE id = :earlier) WHERE id = :id",
        earlier=row.earlier,
        id=row.id,
    )
    return Planted(f"job {row.id} was created while another one ran", row.schedule_id, row.id)


def held_by_nobody(ground: Ground) -> Planted:
    row = ground.job("finished_at IS NOT NULL")
    ground.change(
        "UPDATE horae_jobs SET node_id = 'gone', updated_at = updated_at - :by WHERE id = :id",
        id=row.id,
        by=10 * SECOND,
    )
    return Planted(f"job {row.id} is held by a node that is gone", row.schedule_id, row.id)


def edited_total(ground: Ground) -> Planted:
    name = ground.random.choice(
        ["total_runs", "total_successes", "total_failures", "total_crashes"]
    )
    row = ground.one("SELECT schedule_id FROM horae_schedule_statistics")
    by = ground.random.choice([-1, 1, 5])
    ground.change(
        f"UPDATE horae_schedule_statistics SET {name} = {name} + :by WHERE schedule_id = :id",
        by=by,
        id=row.schedule_id,
    )
    return Planted(f"{name} changed by {by}", row.schedule_id)


def edited_totals_that_add_up(ground: Ground) -> Planted:
    one, other = ground.random.sample(
        ["total_successes", "total_failures", "total_crashes", "none"], 2
    )
    row = ground.one("SELECT schedule_id FROM horae_schedule_statistics")
    changes = [f"{name} = {name} + {by}" for name, by in ((one, 1), (other, -1)) if name != "none"]
    if len(changes) == 1:
        changes.append(
            f"total_runs = total_runs {changes[0].rpartition(' ')[0][-1]} {changes[0].rpartition(' ')[2]}"
        )
    ground.change(
        f"UPDATE horae_schedule_statistics SET {', '.join(changes)} WHERE schedule_id = :id",
        id=row.schedule_id,
    )
    return Planted(f"{', '.join(changes)}", row.schedule_id)


def edited_duration(ground: Ground) -> Planted:
    name = ground.random.choice(["total_duration", "total_duration_failures"])
    row = ground.one("SELECT schedule_id FROM horae_schedule_statistics")
    ground.change(
        f"UPDATE horae_schedule_statistics SET {name} = {name} + :by WHERE schedule_id = :id",
        by=ground.random.choice([-60.0, 60.0]),
        id=row.schedule_id,
    )
    return Planted(f"{name} changed", row.schedule_id)


def moved_last_finish(ground: Ground) -> Planted:
    row = ground.one(
        "SELECT schedule_id FROM horae_schedule_statistics WHERE last_finish IS NOT NULL"
    )
    ground.change(
        "UPDATE horae_schedule_statistics SET last_finish = last_finish - :by WHERE schedule_id = :id",
        by=HOUR,
        id=row.schedule_id,
    )
    return Planted("last_finish moved", row.schedule_id)


def deleted_statistics(ground: Ground) -> Planted:
    row = ground.one("SELECT schedule_id FROM horae_schedule_statistics")
    ground.change(
        "DELETE FROM horae_schedule_statistics WHERE schedule_id = :id", id=row.schedule_id
    )
    return Planted("statistics deleted", row.schedule_id)


def no_next_start(ground: Ground) -> Planted | None:
    row = ground.one("SELECT id FROM horae_schedules WHERE enabled AND run_token IS NULL")
    if row is None:
        return None
    ground.change("UPDATE horae_schedules SET next_start = NULL WHERE id = :id", id=row.id)
    return Planted("next_start removed", row.id)


def late_next_start(ground: Ground) -> Planted | None:
    row = ground.one(
        "SELECT id FROM horae_schedules JOIN horae_schedule_statistics ON schedule_id = id WHERE enabled AND state = 'idle' "
        "AND consecutive_crashes = 0 AND trigger_kind = 'cron'"
    )
    if row is None:
        return None
    ground.change(
        "UPDATE horae_schedules SET next_start = next_start + :by WHERE id = :id",
        by=2 * DAY,
        id=row.id,
    )
    return Planted("next_start moved by two days", row.id)


def moved_watermark(ground: Ground) -> Planted:
    row = ground.one("SELECT id, trigger_kind FROM horae_schedules WHERE name <> 'every'")
    by = ground.random.choice([-40 * DAY, 40 * DAY])
    ground.change(
        "UPDATE horae_schedules SET last_tick = last_tick + :by WHERE id = :id", by=by, id=row.id
    )
    return Planted(f"last_tick moved by {by}", row.id)


def wrong_token(ground: Ground) -> Planted | None:
    row = ground.one(
        "SELECT id, run_token FROM horae_schedules WHERE CAST(rules AS TEXT) NOT LIKE '%allow_all%'"
    )
    token = None if row.run_token is not None else 1
    ground.change(
        "UPDATE horae_schedules SET run_token = :token WHERE id = :id", token=token, id=row.id
    )
    return Planted(f"run_token is {token}", row.id)


def exceeded_limit(ground: Ground) -> Planted:
    ground.change("INSERT INTO horae_queues (name, concurrency_limit) VALUES ('default', 1)")
    return Planted("more jobs than a limit allows", queue="default")


def begun_after_its_expiry(ground: Ground) -> Planted:
    row = ground.job("finished_at IS NOT NULL AND started_at IS NOT NULL")
    ground.change(
        "UPDATE horae_jobs SET expires_at = started_at - :by WHERE id = :id", by=HOUR, id=row.id
    )
    return Planted(f"job {row.id} began after it had expired", row.schedule_id, row.id)


def exceeded_key_limit(ground: Ground) -> Planted | None:
    later = ground.one(
        "SELECT a.job_id, b.job_id AS beside FROM horae_job_attempts a JOIN horae_job_attempts b "
        "ON b.job_id <> a.job_id AND b.started_at < a.started_at AND b.finished_at > a.started_at "
        "WHERE 2 = (SELECT count(*) FROM horae_job_attempts WHERE job_id IN (a.job_id, b.job_id))"
    )
    if later is None:
        return None
    limits = '{"weight": 1, "limits": [["api", "a", {"concurrency": 1}]]}'
    ground.change(
        "UPDATE horae_jobs SET limits = :limits WHERE id IN (:one, :other)",
        limits=limits,
        one=later.job_id,
        other=later.beside,
    )
    return Planted(
        f"job {later.job_id} began beside job {later.beside} under one limit", job=later.job_id
    )


def shared_key(ground: Ground) -> Planted | None:
    query = (
        "SELECT b.id, a.id AS before FROM horae_jobs a JOIN horae_jobs b ON b.type = a.type AND b.id > a.id "
        "WHERE b.created_at > a.created_at AND b.created_at < a.finished_at - :long"
    )
    row = ground.one(query, long=60 * SECOND)
    if row is None:
        return None
    ground.change(
        "UPDATE horae_jobs SET unique_key = 'k' WHERE id IN (:one, :other)",
        one=row.id,
        other=row.before,
    )
    return Planted(f"job {row.id} has the key of job {row.before}", job=row.id)


def counted_snooze(ground: Ground) -> Planted:
    row = ground.attempt(
        "a.attempt = 1 AND a.lease = j.lease AND j.lease = 1 AND j.state = 'finished'"
    )
    ground.change(
        "UPDATE horae_jobs SET lease = 2, attempt = 2, max_attempts = 2 WHERE id = :id",
        id=row.job_id,
    )
    ground.change(
        "UPDATE horae_job_attempts SET lease = 2, attempt = 2 WHERE job_id = :id", id=row.job_id
    )
    ground.change(
        "INSERT INTO horae_job_attempts (job_id, lease, attempt, started_at, finished_at, outcome) "
        "SELECT job_id, 1, 1, started_at - :by, started_at - :by, 'snoozed' FROM horae_job_attempts WHERE job_id = :id",
        id=row.job_id,
        by=MICROSECOND,
    )
    return Planted(f"the snooze of job {row.job_id} counts", row.schedule_id, row.job_id)


def deleted_last_attempt(ground: Ground) -> Planted:
    row = ground.attempt("a.lease = j.lease AND j.state IN ('failed', 'pending')")
    ground.change("DELETE FROM horae_job_attempts WHERE rowid = :id", id=row.row_id)
    return Planted(f"the last attempt of job {row.job_id} deleted", row.schedule_id, row.job_id)


def deleted_earlier_attempt(ground: Ground) -> Planted:
    row = ground.attempt("a.lease < j.lease AND a.outcome NOT IN ('snoozed', 'interrupted')")
    ground.change("DELETE FROM horae_job_attempts WHERE rowid = :id", id=row.row_id)
    return Planted(
        f"attempt {row.attempt} of job {row.job_id} deleted", row.schedule_id, row.job_id
    )


def renumbered_attempt(ground: Ground) -> Planted:
    row, by = ground.attempt(), ground.random.choice([-1, 1])
    ground.change(
        "UPDATE horae_job_attempts SET attempt = attempt + :by WHERE rowid = :id",
        by=by,
        id=row.row_id,
    )
    return Planted(
        f"attempt {row.attempt} of job {row.job_id} renumbered by {by}", row.schedule_id, row.job_id
    )


def other_number_of_attempts(ground: Ground) -> Planted:
    row = ground.job("attempt > 0 AND state <> 'cancelled'")
    by = ground.random.choice([-1, 1])
    ground.change(
        "UPDATE horae_jobs SET attempt = attempt + :by, lease = lease + 1 WHERE id = :id",
        by=by,
        id=row.id,
    )
    return Planted(f"job {row.id} counts {row.attempt} + {by} attempts", row.schedule_id, row.id)


def other_outcome_of_earlier_attempt(ground: Ground) -> Planted:
    row = ground.attempt("a.lease < j.lease")
    outcome = ground.random.choice(["cancelled", "finished"])
    ground.change(
        "UPDATE horae_job_attempts SET outcome = :new WHERE rowid = :id", new=outcome, id=row.row_id
    )
    return Planted(
        f"attempt {row.attempt} of job {row.job_id} is {outcome}", row.schedule_id, row.job_id
    )


def other_outcome_of_last_attempt(ground: Ground) -> Planted:
    row = ground.attempt("a.lease = j.lease AND j.state IN ('failed', 'finished')")
    outcome = ground.random.choice(["cancelled", "snoozed"])
    ground.change(
        "UPDATE horae_job_attempts SET outcome = :new WHERE rowid = :id", new=outcome, id=row.row_id
    )
    return Planted(
        f"the last attempt of job {row.job_id} is {outcome}", row.schedule_id, row.job_id
    )


def attempt_before_its_job(ground: Ground) -> Planted:
    row = ground.attempt("a.lease = 1")
    ground.change(
        "UPDATE horae_job_attempts SET started_at = started_at - :by WHERE rowid = :id",
        by=40 * DAY,
        id=row.row_id,
    )
    return Planted(f"job {row.job_id} began before it was created", row.schedule_id, row.job_id)


def moved_last_attempt(ground: Ground) -> Planted:
    row, by = ground.attempt("a.lease = j.lease"), ground.random.choice([-HOUR, HOUR])
    ground.change(
        "UPDATE horae_job_attempts SET started_at = started_at + :by, finished_at = finished_at + :by WHERE rowid = :id",
        by=by,
        id=row.row_id,
    )
    return Planted(
        f"the last attempt of job {row.job_id} moved by {by}", row.schedule_id, row.job_id
    )


def later_end_of_attempt(ground: Ground) -> Planted:
    row = ground.attempt("a.lease = j.lease")
    ground.change(
        "UPDATE horae_job_attempts SET finished_at = finished_at + :by WHERE rowid = :id",
        by=HOUR,
        id=row.row_id,
    )
    return Planted(f"the last attempt of job {row.job_id} ended later", row.schedule_id, row.job_id)


def ended_attempt_of_running_job(ground: Ground) -> Planted:
    row = ground.job("state = 'started'")
    ground.change(
        "INSERT INTO horae_job_attempts (job_id, lease, attempt, node_id, started_at, finished_at, outcome) "
        "SELECT id, lease, attempt, node_id, started_at, started_at, 'failed' FROM horae_jobs WHERE id = :id",
        id=row.id,
    )
    return Planted(f"job {row.id} runs, but its attempt has ended", job=row.id)


def other_lease(ground: Ground) -> Planted:
    row, by = ground.job("state = 'finished'"), ground.random.choice([-1, 1])
    ground.change("UPDATE horae_jobs SET lease = lease + :by WHERE id = :id", by=by, id=row.id)
    return Planted(f"the lease of job {row.id} changed by {by}", row.schedule_id, row.id)


def second_retry(ground: Ground) -> Planted:
    later = "state = 'finished' AND type = 'task' AND group_id IS NULL"
    row = ground.job(
        f"retry_of IS NOT NULL AND id < (SELECT max(id) FROM horae_jobs WHERE {later})"
    )
    other = ground.job(f"id > {row.id} AND {later}")
    ground.change(
        "UPDATE horae_jobs SET retry_of = :job WHERE id = :id", job=row.retry_of, id=other.id
    )
    return Planted(f"jobs {row.id} and {other.id} retry job {row.retry_of}", job=other.id)


def retry_of_finished(ground: Ground) -> Planted:
    earlier = "state = 'finished' AND type = 'task'"
    row = ground.job(
        f"retry_of IS NOT NULL AND id > (SELECT min(id) FROM horae_jobs WHERE {earlier})"
    )
    other = ground.job(f"id < {row.id} AND {earlier}")
    ground.change("UPDATE horae_jobs SET retry_of = :job WHERE id = :id", job=other.id, id=row.id)
    return Planted(f"job {row.id} retries job {other.id}, which finished", job=row.id)


def miscounted_group(ground: Ground) -> Planted:
    row = ground.one("SELECT * FROM horae_groups WHERE finished > 0")
    change = ground.random.choice(
        [
            "finished = finished - 1, failed = failed + 1",
            "finished = finished - 1",
            "cancelled = cancelled + 1",
            "total = total + 1",
            "total = total - 1",
        ]
    )
    ground.change(f"UPDATE horae_groups SET {change} WHERE id = :id", id=row.id)
    return Planted(change, group=row.id)


def deleted_member(ground: Ground) -> Planted:
    row = ground.job("group_id IS NOT NULL")
    ground.delete_job(row.id)
    return Planted(f"job {row.id} deleted, a member", job=row.id, group=row.group_id)


def lost_member(ground: Ground) -> Planted:
    row = ground.job("group_id IS NOT NULL")
    ground.change("UPDATE horae_jobs SET group_id = NULL WHERE id = :id", id=row.id)
    return Planted(f"job {row.id} is no member any more", job=row.id, group=row.group_id)


def added_member(ground: Ground) -> Planted:
    group = ground.one("SELECT id FROM horae_groups")
    row = ground.job("group_id IS NULL AND schedule_id IS NULL AND finished_at IS NOT NULL")
    ground.change(
        "UPDATE horae_jobs SET group_id = :group WHERE id = :id", group=group.id, id=row.id
    )
    return Planted(f"job {row.id} made a member", job=row.id, group=group.id)


def deleted_group(ground: Ground) -> Planted:
    row = ground.one("SELECT id FROM horae_groups WHERE ended_at IS NOT NULL")
    member = ground.one("SELECT min(id) AS id FROM horae_jobs WHERE group_id = :id", id=row.id)
    ground.change("DELETE FROM horae_groups WHERE id = :id", id=row.id)
    return Planted(f"group {row.id} deleted", job=member.id)


def lost_part_of_group(ground: Ground) -> Planted:
    row = ground.one("SELECT group_id FROM horae_group_parts")
    member = ground.one(
        "SELECT min(id) AS id FROM horae_jobs WHERE group_id = :id", id=row.group_id
    )
    ground.change("DELETE FROM horae_group_parts WHERE group_id = :id", id=row.group_id)
    return Planted(f"the ids of group {row.group_id} deleted", job=member.id)


def then_begun_early(ground: Ground) -> Planted:
    row = ground.one(
        "SELECT g.id, g.then_id FROM horae_groups g JOIN horae_jobs j ON j.id = g.then_id WHERE j.state = 'finished'"
    )
    if ground.random.random() < 0.5:
        ground.change(
            "UPDATE horae_groups SET ended_at = ended_at + :by WHERE id = :id",
            by=2 * HOUR,
            id=row.id,
        )
    else:
        table, key = ("horae_jobs", "id"), ("horae_job_attempts", "job_id")
        for name, column in (table, key):
            ground.change(
                f"UPDATE {name} SET started_at = started_at - :by WHERE {column} = :id",
                by=2 * HOUR,
                id=row.then_id,
            )
    return Planted(
        f"job {row.then_id} began before its group had ended", job=row.then_id, group=row.id
    )


def then_released_early(ground: Ground) -> Planted:
    row = ground.one("SELECT id, then_id FROM horae_groups WHERE ended_at IS NULL")
    ground.change("UPDATE horae_jobs SET waits_for = NULL WHERE id = :id", id=row.then_id)
    return Planted(
        f"job {row.then_id} may begin before its group has ended", job=row.then_id, group=row.id
    )


def deleted_then(ground: Ground) -> Planted:
    row = ground.one("SELECT id, then_id FROM horae_groups")
    ground.delete_job(row.then_id)
    return Planted(f"job {row.then_id} deleted, which is to run after its group", group=row.id)


def successor_begun_early(ground: Ground) -> Planted:
    row = ground.one(
        "SELECT d.job_id, d.after_id FROM horae_dependencies d JOIN horae_jobs j ON j.id = d.job_id WHERE j.state = 'finished'"
    )
    before = "(SELECT created_at FROM horae_jobs WHERE id = :id)"
    ground.change(f"UPDATE horae_jobs SET started_at = {before} WHERE id = :id", id=row.job_id)
    ground.change(
        f"UPDATE horae_job_attempts SET started_at = {before} WHERE job_id = :id", id=row.job_id
    )
    return Planted(f"job {row.job_id} began before job {row.after_id} had ended", job=row.job_id)


def successor_released_early(ground: Ground) -> Planted:
    row = ground.one(
        "SELECT d.job_id FROM horae_dependencies d JOIN horae_jobs j ON j.id = d.job_id WHERE NOT d.ended"
    )
    ground.change("UPDATE horae_jobs SET waits_for = NULL WHERE id = :id", id=row.job_id)
    return Planted(
        f"job {row.job_id} may begin although a job before it has not ended", job=row.job_id
    )


def dependency_marked_ended(ground: Ground) -> Planted:
    row = ground.one("SELECT rowid AS row_id, job_id FROM horae_dependencies WHERE NOT ended")
    ground.change("UPDATE horae_dependencies SET ended = true WHERE rowid = :id", id=row.row_id)
    return Planted(f"job {row.job_id} takes the one before it for ended", job=row.job_id)


def deleted_dependency(ground: Ground) -> Planted:
    row = ground.one("SELECT rowid AS row_id, job_id FROM horae_dependencies WHERE NOT ended")
    ground.change("DELETE FROM horae_dependencies WHERE rowid = :id", id=row.row_id)
    return Planted(f"job {row.job_id} waits for nothing", job=row.job_id)


def circle_of_jobs(ground: Ground) -> Planted:
    row = ground.one("SELECT job_id, after_id FROM horae_dependencies WHERE NOT ended")
    ground.change(
        "INSERT INTO horae_dependencies (after_id, job_id, on_failure, ended) VALUES (:after, :job, 'cancel', false)",
        after=row.job_id,
        job=row.after_id,
    )
    ground.change("UPDATE horae_jobs SET waits_for = 'jobs' WHERE id = :id", id=row.after_id)
    ground.change("UPDATE horae_jobs SET awaited = 2 WHERE id = :id", id=row.job_id)
    return Planted(f"jobs {row.job_id} and {row.after_id} wait for each other", job=row.after_id)


def missing_lane(ground: Ground) -> Planted:
    row = ground.job("state = 'pending' AND lane_id IS NOT NULL")
    ground.change("DELETE FROM horae_lanes WHERE id = :id", id=row.lane_id)
    return Planted(f"the lane of job {row.id} deleted", job=row.id)


def wrong_lane(ground: Ground) -> Planted:
    row = ground.job("state = 'pending' AND lane_id IS NOT NULL")
    change = ground.random.choice(["queue = 'other'", "type = 'task'", "priority = priority + 1"])
    ground.change(f"UPDATE horae_lanes SET {change} WHERE id = :id", id=row.lane_id)
    return Planted(f"the lane of job {row.id} has {change}", job=row.id)


def unfiled_for_hours(ground: Ground) -> Planted:
    row = ground.job("state = 'pending' AND lane_id IS NOT NULL")
    ground.change(
        "UPDATE horae_jobs SET lane_id = NULL, run_at = run_at - :by, created_at = created_at - :by, "
        "updated_at = updated_at - :by WHERE id = :id",
        by=3 * HOUR,
        id=row.id,
    )
    return Planted(f"job {row.id} is in no lane for hours", job=row.id)


def bucket_of_many_bursts(ground: Ground) -> Planted:
    row = ground.one(
        "SELECT id, CAST(state AS TEXT) AS state FROM horae_limit_buckets WHERE state IS NOT NULL"
    )
    _, at, period = json.loads(row.state)
    state = json.dumps([5_000 * period, at, period])
    ground.change(
        "UPDATE horae_limit_buckets SET state = :state WHERE id = :id", state=state, id=row.id
    )
    return Planted("a bucket of 1,000 bursts", limit="partner")


def claimed_while_paused(ground: Ground) -> Planted:
    ground.change(
        "INSERT INTO horae_queues (name, paused_at) SELECT 'default', min(created_at) FROM horae_jobs WHERE type = 'task'"
    )
    return Planted("jobs began in a paused queue", queue="default")


def late_decision_on_time(ground: Ground) -> Planted:
    row = ground.tick("reason = 'on_time'")
    ground.change(
        "UPDATE horae_ticks SET decided_at = decided_at + :by WHERE rowid = :id",
        by=90 * SECOND,
        id=row.row_id,
    )
    return Planted(f"decision {row.nominal_time} was 90 s late, but on_time", row.schedule_id)


def moved_last_start(ground: Ground) -> Planted:
    row = ground.one(
        "SELECT schedule_id FROM horae_schedule_statistics WHERE last_start IS NOT NULL"
    )
    change = ground.random.choice(["last_start - :by", "last_start + :by", "NULL"])
    given = {} if change == "NULL" else {"by": 2 * DAY}
    ground.change(
        f"UPDATE horae_schedule_statistics SET last_start = {change} WHERE schedule_id = :id",
        id=row.schedule_id,
        **given,
    )
    return Planted(f"last_start is {change}", row.schedule_id)


def lost_tag(ground: Ground) -> Planted:
    row = ground.one("SELECT * FROM horae_job_tags")
    ground.change(
        "DELETE FROM horae_job_tags WHERE job_id = :id AND tag = :tag", id=row.job_id, tag=row.tag
    )
    return Planted(f"tag {row.tag} of job {row.job_id} deleted", job=row.job_id)


def stray_tag(ground: Ground) -> Planted:
    row = ground.job("tags IS NULL")
    ground.change("INSERT INTO horae_job_tags (tag, job_id) VALUES ('east', :id)", id=row.id)
    return Planted(f"job {row.id} is found by a tag that it has not", row.schedule_id, row.id)


def other_tags(ground: Ground) -> Planted:
    row = ground.job("tags IS NOT NULL")
    tags = ground.random.choice(["NULL", """'["east"]'"""])
    ground.change(f"UPDATE horae_jobs SET tags = {tags} WHERE id = :id", id=row.id)
    return Planted(f"the tags of job {row.id} are {tags}", job=row.id)


Plant: TypeAlias = Callable[[Ground], Planted | None]
PLANTS: Final[Sequence[Plant]] = [
    deleted_tick,
    doubled_tick,
    wrong_count,
    shifted_tick,
    moved_decision,
    other_reason,
    wrong_job,
    deleted_job,
    deleted_job_with_attempts,
    deleted_attempt,
    unfenced_attempt,
    attempt_before_the_one_before,
    edited_state,
    changed_after_its_end,
    moved_end,
    doubled_run,
    overlapping_run,
    held_by_nobody,
    edited_total,
    edited_totals_that_add_up,
    edited_duration,
    moved_last_finish,
    deleted_statistics,
    no_next_start,
    late_next_start,
    moved_watermark,
    wrong_token,
    exceeded_limit,
    begun_after_its_expiry,
    exceeded_key_limit,
    shared_key,
    counted_snooze,
    deleted_last_attempt,
    deleted_earlier_attempt,
    renumbered_attempt,
    other_number_of_attempts,
    other_outcome_of_earlier_attempt,
    other_outcome_of_last_attempt,
    attempt_before_its_job,
    moved_last_attempt,
    later_end_of_attempt,
    ended_attempt_of_running_job,
    other_lease,
    second_retry,
    retry_of_finished,
    miscounted_group,
    deleted_member,
    lost_member,
    added_member,
    deleted_group,
    lost_part_of_group,
    then_begun_early,
    then_released_early,
    deleted_then,
    successor_begun_early,
    successor_released_early,
    dependency_marked_ended,
    deleted_dependency,
    circle_of_jobs,
    missing_lane,
    wrong_lane,
    unfiled_for_hours,
    bucket_of_many_bursts,
    claimed_while_paused,
    late_decision_on_time,
    moved_last_start,
    lost_tag,
    stray_tag,
    other_tags,
]
