"""Faults to plant in a database without constraints: each is one change that the tables can show."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, text

HOUR: Final = 3_600_000_000
"""Microseconds."""


class Planted(NamedTuple):
    """What was changed, and the schedule, job or queue that the audit must name."""

    what: str
    schedule: int | None = None
    job: int | None = None
    queue: str | None = None


class Ground:
    """A connection on which faults are planted, and what they are drawn from."""

    def __init__(self, connection: Connection, random: Random) -> None:
        self.connection, self.random = connection, random

    def rows(self, query: str, **values: Any) -> Sequence[Any]:
        return self.connection.execute(text(query), values).all()

    def one(self, query: str, **values: Any) -> Any:
        """Draw one row."""
        found = self.rows(query, **values)
        return self.random.choice(found) if found else None

    def change(self, statement: str, **values: Any) -> None:
        assert self.connection.execute(text(statement), values).rowcount

    def tick(self, where: str = "1") -> Any:
        return self.one(f"SELECT rowid, * FROM horae_ticks WHERE {where}")

    def job(self, where: str = "1") -> Any:
        return self.one(f"SELECT * FROM horae_jobs WHERE {where}")

    def attempt(self, where: str = "1") -> Any:
        query = "SELECT a.rowid, a.*, j.schedule_id, j.lease AS current FROM horae_job_attempts a JOIN horae_jobs j ON j.id = a.job_id"
        return self.one(f"{query} WHERE {where}")


def deleted_tick(ground: Ground) -> Planted:
    row = ground.tick()
    ground.change("DELETE FROM horae_ticks WHERE rowid = :id", id=row.rowid)
    return Planted(f"decision {row.nominal_time} deleted", row.schedule_id)


def doubled_tick(ground: Ground) -> Planted:
    row = ground.tick()
    ground.change("INSERT INTO horae_ticks SELECT * FROM horae_ticks WHERE rowid = :id", id=row.rowid)
    return Planted("decision doubled", row.schedule_id)


def wrong_count(ground: Ground) -> Planted:
    row = ground.tick()
    ground.change(
        "UPDATE horae_ticks SET count = count + :by WHERE rowid = :id", by=ground.random.choice([1, 7]), id=row.rowid
    )
    return Planted("count raised", row.schedule_id)


def shifted_tick(ground: Ground) -> Planted:
    row, by = ground.tick(), ground.random.choice([-17_000_000, 17_000_000])
    ground.change(
        "UPDATE horae_ticks SET nominal_time = nominal_time + :by, until = until + :by WHERE rowid = :id",
        by=by,
        id=row.rowid,
    )
    return Planted(f"decision moved by {by}", row.schedule_id)


def moved_decision(ground: Ground) -> Planted:
    row, by = ground.tick("count = 1 AND reason <> 'altered'"), ground.random.choice([-30 * 24 * HOUR, 30 * 24 * HOUR])
    ground.change("UPDATE horae_ticks SET decided_at = decided_at + :by WHERE rowid = :id", by=by, id=row.rowid)
    return Planted(f"decided_at moved by {by}", row.schedule_id)


def other_reason(ground: Ground) -> Planted:
    row = ground.tick()
    reason = ground.random.choice(sorted({"window", "catch_up_none", "on_time", "manual"} - {row.reason}))
    decision = "fired" if row.decision != "fired" else "skipped"
    ground.change("UPDATE horae_ticks SET decision = :decision, reason = :reason WHERE rowid = :id", decision=decision, reason=reason, id=row.rowid)  # fmt: skip
    return Planted(f"{row.decision} {row.reason} became {decision} {reason}", row.schedule_id)


def wrong_job(ground: Ground) -> Planted:
    row = ground.tick("decision = 'fired'")
    other = ground.job(f"id <> {row.job_id}")
    ground.change("UPDATE horae_ticks SET job_id = :job WHERE rowid = :id", job=other.id, id=row.rowid)
    return Planted(f"decision names job {other.id}", row.schedule_id)


def deleted_job(ground: Ground) -> Planted:
    row = ground.job("finished_at IS NOT NULL AND (SELECT count(*) FROM horae_job_attempts WHERE job_id = id) > 0")
    ground.change("DELETE FROM horae_jobs WHERE id = :id", id=row.id)
    return Planted(f"job {row.id} deleted", row.schedule_id, row.id)


def deleted_job_with_attempts(ground: Ground) -> Planted | None:
    row = ground.job(
        "nominal_time < (SELECT max(nominal_time) FROM horae_ticks t WHERE t.schedule_id = horae_jobs.schedule_id)"
    )
    if row is None or ground.rows(
        "SELECT 1 FROM horae_jobs WHERE schedule_id = :s AND id < :id AND finished_at > :created",
        s=row.schedule_id,
        id=row.id,
        created=row.created_at,
    ):
        return None
    ground.change("DELETE FROM horae_jobs WHERE id = :id", id=row.id)
    ground.connection.execute(text("DELETE FROM horae_job_attempts WHERE job_id = :id"), {"id": row.id})
    return Planted(f"job {row.id} deleted with its attempts", row.schedule_id, row.id)


def deleted_attempt(ground: Ground) -> Planted:
    row = ground.attempt("a.lease = j.lease AND j.state = 'finished'")
    ground.change("DELETE FROM horae_job_attempts WHERE rowid = :id", id=row.rowid)
    return Planted(f"the attempt of job {row.job_id} deleted", row.schedule_id, row.job_id)


def unfenced_attempt(ground: Ground) -> Planted:
    row = ground.attempt("a.lease = j.lease")
    ground.change(
        "INSERT INTO horae_job_attempts SELECT job_id, lease + 1, attempt, node_id, started_at, finished_at, outcome, error, traceback FROM horae_job_attempts WHERE rowid = :id",
        id=row.rowid,
    )
    return Planted(f"job {row.job_id} has an attempt with a later lease", row.schedule_id, row.job_id)


def attempt_before_the_one_before(ground: Ground) -> Planted | None:
    row = ground.attempt(
        "a.lease > 1 AND (SELECT count(*) FROM horae_job_attempts b WHERE b.job_id = a.job_id AND b.lease < a.lease) > 0"
    )
    if row is None:
        return None
    ground.change(
        "UPDATE horae_job_attempts SET started_at = started_at - :by WHERE rowid = :id", by=30 * 24 * HOUR, id=row.rowid
    )
    return Planted(f"job {row.job_id}: attempt {row.attempt} began too early", row.schedule_id, row.job_id)


def edited_state(ground: Ground) -> Planted:
    row = ground.job("finished_at IS NOT NULL")
    state = ground.random.choice(sorted({"finished", "failed", "pending"} - {row.state}))
    if row.state == "failed":
        state = "finished"
    ground.change("UPDATE horae_jobs SET state = :state WHERE id = :id", state=state, id=row.id)
    return Planted(f"job {row.id} was {row.state}, is {state}", row.schedule_id, row.id)


def changed_after_its_end(ground: Ground) -> Planted:
    row = ground.job("finished_at IS NOT NULL")
    ground.change("UPDATE horae_jobs SET updated_at = updated_at + :by WHERE id = :id", by=HOUR, id=row.id)
    return Planted(f"job {row.id} changed after its end", row.schedule_id, row.id)


def moved_end(ground: Ground) -> Planted:
    row, by = ground.job("finished_at IS NOT NULL"), ground.random.choice([-HOUR, HOUR, -48 * HOUR])
    ground.change("UPDATE horae_jobs SET finished_at = finished_at + :by WHERE id = :id", by=by, id=row.id)
    return Planted(f"the end of job {row.id} moved", row.schedule_id, row.id)


def doubled_run(ground: Ground) -> Planted:
    row = ground.job("nominal_time IS NOT NULL")
    columns = [each.name for each in ground.rows("PRAGMA table_info(horae_jobs)") if each.name != "id"]
    names = ", ".join(columns)
    ground.change(
        f"INSERT INTO horae_jobs (id, {names}) SELECT 1000000, {names} FROM horae_jobs WHERE id = :id", id=row.id
    )
    return Planted(f"job {row.id} doubled", row.schedule_id, 1_000_000)


def overlapping_run(ground: Ground) -> Planted | None:
    row = ground.one(
        "SELECT b.id, b.schedule_id, a.created_at AS earlier FROM horae_jobs a JOIN horae_jobs b ON b.schedule_id = a.schedule_id "
        "AND b.id > a.id JOIN horae_schedules s ON s.id = a.schedule_id WHERE a.finished_at > a.created_at AND s.rules NOT LIKE '%allow_all%'"
    )
    ground.change("UPDATE horae_jobs SET created_at = :at WHERE id = :id", at=row.earlier + 1, id=row.id)
    return Planted(f"job {row.id} was created while another one ran", row.schedule_id, row.id)


def held_by_nobody(ground: Ground) -> Planted:
    row = ground.job("finished_at IS NOT NULL")
    ground.change(
        "UPDATE horae_jobs SET node_id = 'gone', updated_at = updated_at - :by WHERE id = :id", id=row.id, by=10_000_000
    )
    return Planted(f"job {row.id} is held by a node that is gone", row.schedule_id, row.id)


def edited_total(ground: Ground) -> Planted:
    name = ground.random.choice(["total_runs", "total_successes", "total_failures", "total_crashes"])
    row = ground.one("SELECT schedule_id FROM horae_schedule_statistics")
    by = ground.random.choice([-1, 1, 5])
    ground.change(
        f"UPDATE horae_schedule_statistics SET {name} = {name} + :by WHERE schedule_id = :id", by=by, id=row.schedule_id
    )
    return Planted(f"{name} changed by {by}", row.schedule_id)


def edited_totals_that_add_up(ground: Ground) -> Planted:
    one, other = ground.random.sample(["total_successes", "total_failures", "total_crashes", "none"], 2)
    row = ground.one("SELECT schedule_id FROM horae_schedule_statistics")
    changes = [f"{name} = {name} + {by}" for name, by in ((one, 1), (other, -1)) if name != "none"]
    if len(changes) == 1:
        changes.append(f"total_runs = total_runs {changes[0].rpartition(' ')[0][-1]} {changes[0].rpartition(' ')[2]}")
    ground.change(
        f"UPDATE horae_schedule_statistics SET {', '.join(changes)} WHERE schedule_id = :id", id=row.schedule_id
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
    row = ground.one("SELECT schedule_id FROM horae_schedule_statistics WHERE last_finish IS NOT NULL")
    ground.change(
        "UPDATE horae_schedule_statistics SET last_finish = last_finish - :by WHERE schedule_id = :id",
        by=HOUR,
        id=row.schedule_id,
    )
    return Planted("last_finish moved", row.schedule_id)


def deleted_statistics(ground: Ground) -> Planted:
    row = ground.one("SELECT schedule_id FROM horae_schedule_statistics")
    ground.change("DELETE FROM horae_schedule_statistics WHERE schedule_id = :id", id=row.schedule_id)
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
    ground.change("UPDATE horae_schedules SET next_start = next_start + :by WHERE id = :id", by=48 * HOUR, id=row.id)
    return Planted("next_start moved by two days", row.id)


def moved_watermark(ground: Ground) -> Planted:
    row = ground.one("SELECT id, trigger_kind FROM horae_schedules WHERE name <> 'every'")
    by = ground.random.choice([-40 * 24 * HOUR, 40 * 24 * HOUR])
    ground.change("UPDATE horae_schedules SET last_tick = last_tick + :by WHERE id = :id", by=by, id=row.id)
    return Planted(f"last_tick moved by {by}", row.id)


def wrong_token(ground: Ground) -> Planted | None:
    row = ground.one("SELECT id, run_token FROM horae_schedules WHERE rules NOT LIKE '%allow_all%'")
    token = None if row.run_token is not None else 1
    ground.change("UPDATE horae_schedules SET run_token = :token WHERE id = :id", token=token, id=row.id)
    return Planted(f"run_token is {token}", row.id)


def exceeded_limit(ground: Ground) -> Planted:
    ground.change("INSERT INTO horae_queues (name, concurrency_limit) VALUES ('default', 1)")
    return Planted("more jobs than a limit allows", queue="default")


def begun_after_its_expiry(ground: Ground) -> Planted:
    row = ground.job("finished_at IS NOT NULL AND started_at IS NOT NULL")
    ground.change("UPDATE horae_jobs SET expires_at = started_at - :by WHERE id = :id", by=HOUR, id=row.id)
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
    ground.change("UPDATE horae_jobs SET limits = :limits WHERE id IN (:one, :other)", limits=limits, one=later.job_id, other=later.beside)  # fmt: skip
    return Planted(f"job {later.job_id} began beside job {later.beside} under one limit", job=later.job_id)


def shared_key(ground: Ground) -> Planted | None:
    query = (
        "SELECT b.id, a.id AS before FROM horae_jobs a JOIN horae_jobs b ON b.type = a.type AND b.id > a.id "
        "WHERE b.created_at > a.created_at AND b.created_at < a.finished_at - :long"
    )
    row = ground.one(query, long=60_000_000)
    if row is None:
        return None
    ground.change("UPDATE horae_jobs SET unique_key = 'k' WHERE id IN (:one, :other)", one=row.id, other=row.before)
    return Planted(f"job {row.id} has the key of job {row.before}", job=row.id)


def counted_snooze(ground: Ground) -> Planted:
    row = ground.attempt("a.attempt = 1 AND a.lease = j.lease AND j.lease = 1 AND j.state = 'finished'")
    ground.change("UPDATE horae_jobs SET lease = 2, attempt = 2, max_attempts = 2 WHERE id = :id", id=row.job_id)
    ground.change("UPDATE horae_job_attempts SET lease = 2, attempt = 2 WHERE job_id = :id", id=row.job_id)
    ground.change(
        "INSERT INTO horae_job_attempts (job_id, lease, attempt, started_at, finished_at, outcome) "
        "VALUES (:id, 1, 1, :at, :at, 'snoozed')", id=row.job_id, at=row.started_at - 1,
    )  # fmt: skip
    return Planted(f"the snooze of job {row.job_id} counts", row.schedule_id, row.job_id)


def miscounted_group(ground: Ground) -> Planted:
    row = ground.job("state = 'finished' AND schedule_id IS NOT NULL")
    total, finished, ended = ground.random.choice([(2, 1, "NULL"), (1, 1, "NULL"), (3, 0, str(2**50))])
    ground.change(
        "INSERT INTO horae_groups (id, on_failure, then_id, total, finished, failed, cancelled, created_at, ended_at) "
        f"VALUES (1, 'continue', :then, :total, :finished, 0, 0, 1, {ended})", then=row.id, total=total, finished=finished,
    )  # fmt: skip
    return Planted(f"group 1 counts {finished} of {total} members", job=row.id)


PLANTS: Final[Sequence[Callable[[Ground], Planted | None]]] = [
    deleted_tick, doubled_tick, wrong_count, shifted_tick, moved_decision, other_reason, wrong_job, deleted_job,
    deleted_job_with_attempts, deleted_attempt, unfenced_attempt, attempt_before_the_one_before, edited_state,
    changed_after_its_end, moved_end, doubled_run, overlapping_run, held_by_nobody, edited_total,
    edited_totals_that_add_up, edited_duration, moved_last_finish, deleted_statistics, no_next_start, late_next_start,
    moved_watermark, wrong_token, exceeded_limit, begun_after_its_expiry, exceeded_key_limit, shared_key, counted_snooze, miscounted_group,
]  # fmt: skip
