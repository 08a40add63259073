"""Every constraint refuses something: for each there is a row that violates it and no other."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from sqlalchemy import CheckConstraint, Connection, Table, UniqueConstraint
from sqlalchemy.exc import IntegrityError

from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.history.tables import history, history_state
from horae.storage.jobs.group_tables import dependencies, group_parts, groups
from horae.storage.jobs.limit_tables import buckets, lane_buckets, lanes, limits
from horae.storage.jobs.log_tables import job_logs
from horae.storage.jobs.search.bulk import bulk_runs
from horae.storage.jobs.tables import (
    job_attempts,
    job_tags,
    jobs,
    live_metadata,
    metadata,
    nodes,
    queues,
)
from horae.storage.operations.change_log_tables import change_log, sessions
from horae.storage.schedules.tables import (
    backfill_times,
    deployments,
    schedule_statistics,
    schedules,
    ticks,
)

NOW: Final = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)

Row = dict[str, Any]

JOB: Final[Row] = {
    "type": "import",
    "queue": "default",
    "priority": 0,
    "state": "pending",
    "run_at": NOW,
    "created_at": NOW,
    "updated_at": NOW,
}
ATTEMPT: Final[Row] = {
    "job_id": 1,
    "lease": 1,
    "attempt": 1,
    "started_at": NOW,
    "finished_at": NOW,
    "outcome": "finished",
}
LOG_LINE: Final[Row] = {
    "job_id": 1,
    "lease": 1,
    "line": 0,
    "attempt": 1,
    "at": NOW,
    "level": 20,
    "logger": "shop",
    "message": "began",
}
GROUP: Final[Row] = {"on_failure": "continue", "created_at": NOW}
PART: Final[Row] = {"group_id": 1, "first_id": 1, "last_id": 9}
DEPENDENCY: Final[Row] = {"after_id": 1, "job_id": 2, "on_failure": "cancel"}
SESSION: Final[Row] = {"key_hash": "k", "token_hash": "t", "created_at": NOW, "expires_at": NOW}
NODE: Final[Row] = {
    "id": "n1",
    "name": "n",
    "host": "h",
    "pid": 1,
    "version": "1",
    "roles": "[]",
    "types": "[]",
    "concurrency": 1,
    "started_at": NOW,
    "heartbeat_at": NOW,
}

SCHEDULE: Final[Row] = {
    "name": "nightly",
    "job_type": "import",
    "trigger_kind": "cron",
    "trigger": "0 3 * * *",
    "timezone": "UTC",
    "queue": "default",
    "priority": 0,
    "rules": "{}",
    "enabled": True,
    "partition": 7,
    "state": "idle",
    "next_start": NOW,
    "created_at": NOW,
    "updated_at": NOW,
}
TICK: Final[Row] = {
    "schedule_id": 1,
    "nominal_time": NOW,
    "until": NOW,
    "count": 1,
    "decision": "fired",
    "reason": "on time",
    "job_id": 1,
    "decided_at": NOW,
}
SKIPPED: Final[Row] = {**TICK, "decision": "skipped", "job_id": None}
STATISTICS: Final[Row] = {"schedule_id": 1}
BACKFILL_TIME: Final[Row] = {"schedule_id": 1, "nominal_time": NOW, "requested_at": NOW}
DEPLOYMENT: Final[Row] = {
    "key": "k",
    "module": "app",
    "schema": "",
    "schema_hash": "",
    "min_replicas": 1,
    "created_at": NOW,
}
BULK_RUN: Final[Row] = {"job_id": 1, "lease": 1, "reached": 1}
AUDIT: Final[Row] = {
    "at": NOW,
    "actor": "alice",
    "action": "cancel",
    "target": "job 7",
    "outcome": "done",
}
PARENTS: Final[dict[Table, tuple[Table, Row]]] = {
    ticks: (schedules, {**SCHEDULE, "id": 1}),
    schedule_statistics: (schedules, {**SCHEDULE, "id": 1}),
    backfill_times: (schedules, {**SCHEDULE, "id": 1}),
}

BUCKET: Final[Row] = {"limit_name": "api", "key": "k"}
LANE: Final[Row] = {
    "identity": "a",
    "queue": "default",
    "type": "import",
    "priority": 0,
    "weight": 1,
}
LANE_BUCKET: Final[Row] = {"lane_id": 1, "bucket_id": 1}
HISTORY: Final[Row] = {
    "seconds": 10,
    "start": NOW,
    "everything": "{}",
    "queues": "{}",
    "types": "{}",
}
HISTORY_STATE: Final[Row] = {"id": 1, "reached": NOW, "behind": "{}"}

VIOLATIONS: Final[list[tuple[str, Table, Row]]] = [
    ("horae_groups_on_failure", groups, {**GROUP, "on_failure": "stop"}),
    ("horae_groups_counts", groups, {**GROUP, "finished": 1}),
    ("horae_groups_counts", groups, {**GROUP, "total": 2, "failed": 3, "cancelled": -1}),
    ("horae_groups_ended", groups, {**GROUP, "total": 1, "ended_at": NOW}),
    ("horae_groups_ended", groups, {**GROUP, "inserting_at": NOW, "ended_at": NOW}),
    ("horae_dependencies_on_failure", dependencies, {**DEPENDENCY, "on_failure": "stop"}),
    ("horae_jobs_state", jobs, {**JOB, "state": "sleeping", "finished_at": NOW}),
    ("horae_jobs_ended", jobs, {**JOB, "state": "finished"}),
    ("horae_jobs_ended", jobs, {**JOB, "state": "failed"}),
    ("horae_jobs_ended", jobs, {**JOB, "state": "cancelled"}),
    ("horae_jobs_ended", jobs, {**JOB, "finished_at": NOW}),
    ("horae_jobs_ended", jobs, {**JOB, "state": "started", "node_id": "n1", "finished_at": NOW}),
    ("horae_jobs_held", jobs, {**JOB, "node_id": "n1"}),
    ("horae_jobs_held", jobs, {**JOB, "state": "started"}),
    ("horae_jobs_held", jobs, {**JOB, "state": "finished", "node_id": "n1", "finished_at": NOW}),
    ("horae_jobs_readable", jobs, {**JOB, "lease": 2**62}),
    ("horae_jobs_readable", jobs, {**JOB, "lease": 2**30, "attempt": 2**30}),
    ("horae_jobs_readable", jobs, {**JOB, "meta": "[]"}),
    ("horae_jobs_readable", jobs, {**JOB, "run_at": datetime(9999, 12, 31, 1, tzinfo=UTC)}),
    ("horae_audit_readable", change_log, {**AUDIT, "at": datetime(1, 1, 1, 23, tzinfo=UTC)}),
    ("horae_jobs_readable", jobs, {**JOB, "expires_at": datetime(9999, 12, 31, 1, tzinfo=UTC)}),
    ("horae_job_attempts_outcome", job_attempts, {**ATTEMPT, "outcome": "lost"}),
    ("horae_job_logs_dropped", job_logs, {**LOG_LINE, "dropped": 0}),
    ("horae_history_seconds", history, {**HISTORY, "seconds": 0}),
    ("horae_history_state_only_row", history_state, {**HISTORY_STATE, "id": 2}),
    ("horae_deployments_min_replicas", deployments, {**DEPLOYMENT, "min_replicas": -1}),
    ("horae_deployments_replaced", deployments, {**DEPLOYMENT, "id": 1, "replaced_by": 1}),
    ("horae_schedules_trigger_kind", schedules, {**SCHEDULE, "trigger_kind": "moon"}),
    ("horae_schedules_state", schedules, {**SCHEDULE, "state": "asleep"}),
    ("horae_schedules_running", schedules, {**SCHEDULE, "state": "executing"}),
    ("horae_schedules_running", schedules, {**SCHEDULE, "run_token": 1}),
    ("horae_schedules_partition", schedules, {**SCHEDULE, "partition": 1024}),
    ("horae_schedules_waiting", schedules, {**SCHEDULE, "next_start": None}),
    (
        "horae_schedules_waiting",
        schedules,
        {**SCHEDULE, "enabled": False, "disabled_reason": "paused"},
    ),
    ("horae_schedules_enabled", schedules, {**SCHEDULE, "disabled_reason": "paused"}),
    ("horae_schedules_enabled", schedules, {**SCHEDULE, "state": "disabled", "enabled": False}),
    ("horae_schedule_statistics_total_runs", schedule_statistics, {**STATISTICS, "total_runs": 1}),
    ("horae_ticks_decision", ticks, {**SKIPPED, "decision": "forgotten"}),
    ("horae_ticks_range", ticks, {**SKIPPED, "count": 0}),
    ("horae_ticks_range", ticks, {**SKIPPED, "until": NOW - timedelta(seconds=1)}),
    ("horae_ticks_job", ticks, {**TICK, "job_id": None}),
    ("horae_ticks_job", ticks, {**SKIPPED, "job_id": 1}),
    ("horae_ticks_fired", ticks, {**TICK, "count": 2}),
    ("horae_queues_limit", queues, {"name": "q", "concurrency_limit": 0}),
]

ALLOWED: Final[list[tuple[Table, Row]]] = [
    (jobs, JOB),
    (jobs, {**JOB, "progress_percentage": 100}),
    (jobs, {**JOB, "state": "started", "node_id": "n1", "attempt": 1, "lease": 1}),
    (jobs, {**JOB, "state": "finished", "finished_at": NOW}),
    (jobs, {**JOB, "state": "failed", "finished_at": NOW, "node_id": "n1"}),
    (
        jobs,
        {**JOB, "state": "cancelled", "finished_at": NOW, "node_id": "n1", "cancelled_by": "alice"},
    ),
    (job_attempts, ATTEMPT),
    (job_logs, LOG_LINE),
    (job_logs, {**LOG_LINE, "dropped": 1}),
    (nodes, NODE),
    (queues, {"name": "default"}),
    (queues, {"name": "default", "concurrency_limit": 1}),
    (deployments, DEPLOYMENT),
    (schedules, SCHEDULE),
    (
        schedules,
        {
            **SCHEDULE,
            "state": "disabled",
            "enabled": False,
            "disabled_reason": "paused",
            "next_start": None,
        },
    ),
    (schedules, {**SCHEDULE, "state": "executing", "run_token": 1, "next_start": None}),
    (schedule_statistics, STATISTICS),
    (backfill_times, BACKFILL_TIME),
    (ticks, TICK),
    (change_log, AUDIT),
    (ticks, {**SKIPPED, "count": 3, "until": NOW + timedelta(seconds=2)}),
]

KEYS: Final[list[tuple[str, Table, Row, Row]]] = [
    ("horae_groups_pkey", groups, {**GROUP, "id": 1}, {**GROUP, "id": 1}),
    ("horae_groups_then_id", groups, {**GROUP, "then_id": 1}, {**GROUP, "then_id": 1}),
    ("horae_group_parts_pkey", group_parts, PART, {**PART, "last_id": 8}),
    ("horae_dependencies_pkey", dependencies, DEPENDENCY, {**DEPENDENCY, "on_failure": "run"}),
    ("horae_jobs_pkey", jobs, {**JOB, "id": 1}, {**JOB, "id": 1}),
    ("horae_jobs_unique_key", jobs, {**JOB, "unique_key": "k"}, {**JOB, "unique_key": "k"}),
    ("horae_job_attempts_pkey", job_attempts, ATTEMPT, {**ATTEMPT, "attempt": 2}),
    ("horae_bulk_runs_pkey", bulk_runs, BULK_RUN, {**BULK_RUN, "reached": 2}),
    ("horae_job_tags_pkey", job_tags, {"job_id": 1, "tag": "eu"}, {"job_id": 1, "tag": "eu"}),
    ("horae_job_logs_pkey", job_logs, LOG_LINE, {**LOG_LINE, "message": "ended"}),
    ("horae_nodes_pkey", nodes, NODE, {**NODE, "name": "m"}),
    ("horae_queues_pkey", queues, {"name": "q"}, {"name": "q", "note": "again"}),
    (
        "horae_jobs_tick",
        jobs,
        {**JOB, "schedule_id": 1, "nominal_time": NOW},
        {**JOB, "schedule_id": 1, "nominal_time": NOW},
    ),
    (
        "horae_deployments_pkey",
        deployments,
        {**DEPLOYMENT, "id": 1},
        {**DEPLOYMENT, "id": 1, "key": "l", "module": "b"},
    ),
    ("horae_deployments_key_key", deployments, DEPLOYMENT, {**DEPLOYMENT, "module": "b"}),
    ("horae_deployments_current", deployments, DEPLOYMENT, {**DEPLOYMENT, "key": "l"}),
    (
        "horae_schedules_pkey",
        schedules,
        {**SCHEDULE, "id": 1},
        {**SCHEDULE, "id": 1, "name": "other"},
    ),
    ("horae_schedules_name", schedules, SCHEDULE, SCHEDULE),
    ("horae_schedule_statistics_pkey", schedule_statistics, STATISTICS, STATISTICS),
    ("horae_ticks_pkey", ticks, TICK, SKIPPED),
    ("horae_backfill_times_pkey", backfill_times, BACKFILL_TIME, BACKFILL_TIME),
    ("horae_limits_pkey", limits, {"name": "api"}, {"name": "api", "concurrency": 1}),
    ("horae_limit_buckets_pkey", buckets, {**BUCKET, "id": 1}, {**BUCKET, "id": 1, "key": "m"}),
    ("horae_limit_buckets_limit_name_key_key", buckets, BUCKET, BUCKET),
    ("horae_lanes_pkey", lanes, {**LANE, "id": 1}, {**LANE, "id": 1, "identity": "other"}),
    ("horae_lanes_identity_key", lanes, LANE, {**LANE, "priority": 1}),
    ("horae_lane_buckets_pkey", lane_buckets, LANE_BUCKET, LANE_BUCKET),
    ("horae_history_pkey", history, HISTORY, {**HISTORY, "everything": "[]"}),
    ("horae_history_state_pkey", history_state, HISTORY_STATE, HISTORY_STATE),
    ("horae_audit_pkey", change_log, {**AUDIT, "id": 1}, {**AUDIT, "id": 1, "action": "retry"}),
    ("horae_sessions_pkey", sessions, SESSION, {**SESSION, "token_hash": "other"}),
]


def insert(connection: Connection, table: Table, *rows: Row) -> None:
    if table in PARENTS and not connection.execute(PARENTS[table][0].select()).first():
        insert(connection, *PARENTS[table])
    for row in rows:
        connection.execute(table.insert().values(row))


def test_every_check_has_a_violation() -> None:
    tables = [*metadata.tables.values(), *live_metadata.tables.values()]
    constraints = [item for table in tables for item in table.constraints]
    constraints += [
        item for table in tables for column in table.columns for item in column.constraints
    ]
    checks = {item.name for item in constraints if isinstance(item, CheckConstraint)}
    assert {name for name, _, _ in VIOLATIONS} == checks


def test_every_key_has_a_violation() -> None:
    tables = metadata.tables.values()
    keys = {table.primary_key.name for table in tables}
    unique = {index.name for table in tables for index in table.indexes if index.unique}
    named = {
        item.name
        for table in tables
        for item in table.constraints
        if isinstance(item, UniqueConstraint)
    }
    assert {name for name, _, _, _ in KEYS} == keys | unique | named


@pytest.mark.parametrize(("table", "row"), ALLOWED)
def test_a_row_that_keeps_the_rules_is_taken(database: Database, table: Table, row: Row) -> None:
    database.transact(insert, table, row)


@pytest.mark.parametrize(("constraint", "table", "row"), VIOLATIONS)
def test_a_row_that_breaks_a_check_is_refused(
    database: Database, constraint: str, table: Table, row: Row
) -> None:
    with pytest.raises(IntegrityError) as caught:
        database.transact(insert, table, row)
    quoted = (
        f'check constraint "{constraint}"'
        if database.dialect == POSTGRESQL
        else f"failed: {constraint}"
    )
    assert quoted in str(caught.value.orig)


@pytest.mark.parametrize(("key", "table", "first", "second"), KEYS)
def test_a_row_that_repeats_a_key_is_refused(
    database: Database, key: str, table: Table, first: Row, second: Row
) -> None:
    database.transact(insert, table, first)
    with pytest.raises(IntegrityError) as caught:
        database.transact(insert, table, second)
    quoted = (
        f'unique constraint "{key}"'
        if database.dialect == POSTGRESQL
        else f"UNIQUE constraint failed: {table.name}."
    )
    assert quoted in str(caught.value.orig)


def test_a_unique_key_is_free_again_when_its_job_has_ended(database: Database) -> None:
    ended = {**JOB, "unique_key": "k", "state": "finished", "finished_at": NOW}
    database.transact(insert, jobs, ended, ended, {**JOB, "unique_key": "k"})


def test_a_number_is_never_given_twice(database: Database) -> None:
    database.transact(insert, jobs, JOB)
    gone = database.transact(
        lambda connection: connection.execute(jobs.delete().returning(jobs.c.id)).scalar_one()
    )
    database.transact(insert, jobs, JOB)
    assert (
        database.transact(lambda connection: connection.execute(jobs.select()).scalar_one()) > gone
    )
