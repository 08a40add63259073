"""The privileges that each kind of process needs on PostgreSQL, as SQL for the tables' owner to
run.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, Table, text

from horae.storage.history import history, history_state
from horae.storage.jobs import (
    buckets,
    dependencies,
    group_parts,
    job_attempts,
    job_logs,
    job_tags,
    jobs,
    lane_buckets,
    lanes,
    live_cancels,
    live_jobs,
    live_waits,
    nodes,
    queues,
)
from horae.storage.jobs.group_tables import groups
from horae.storage.jobs.limit_tables import limits
from horae.storage.jobs.search import bulk_runs
from horae.storage.migrations.version import VERSION_TABLE
from horae.storage.operations.change_log_tables import change_log, sessions
from horae.storage.schedules import backfill_times, schedule_statistics, schedules
from horae.storage.schedules.tables import deployments, ticks


class Privileges(StrEnum):
    """The purpose of a database role."""

    ENQUEUE = "enqueue"
    """Starts jobs, and reads nothing of those that others have started."""
    READ_ONLY = "read-only"
    """Reads jobs, schedules, nodes and queues, as a monitoring system or a colleague does."""
    WORKER = "worker"
    """Runs a node: a worker, a scheduler, or both."""
    WEB = "web"
    """Serves the HTTP API and the dashboard, perhaps in addition to a node."""


SHARED: Final[Sequence[Table]] = (
    jobs,
    job_tags,
    job_attempts,
    job_logs,
    nodes,
    queues,
    live_jobs,
    live_cancels,
    live_waits,
    bulk_runs,
    groups,
    group_parts,
    dependencies,
    limits,
    buckets,
    lanes,
    lane_buckets,
    schedules,
    schedule_statistics,
    ticks,
    backfill_times,
    deployments,
    history,
    history_state,
)
"""The tables that every node writes; the audit log only grows, and is shortened after a year."""

ALL: Final = ("SELECT", "INSERT", "UPDATE", "DELETE")
OF_CHANGE_LOG: Final = ("SELECT", "INSERT", "DELETE")
"""No entry of the audit log is changed."""

LACKED_BY_READERS: Final = {
    **{table.name: ["INSERT", "UPDATE", "DELETE"] for table in SHARED},
    change_log.name: ["INSERT", "DELETE"],
}
"""What `lacking_privileges` finds for a role that may only read."""

STARTED_WITH: Final = (
    "type",
    "queue",
    "priority",
    "params",
    "owner",
    "max_attempts",
    "backoff",
    "unique_key",
    "meta",
    "limits",
    "waits_for",
    "state",
    "run_at",
    "created_at",
    "updated_at",
    "key_is_shared",
    "expires_at",
)
"""The columns that a start writes: none of those by which a node claims a job or ends it, and none
that tie it to another job, a group or a schedule. A role may write any value into each of them,
which must not harm other jobs.
"""
COMPARED: Final = (
    "id",
    "type",
    "owner",
    "unique_key",
    "key_is_shared",
    "state",
    "node_id",
    "run_at",
    "created_at",
    "updated_at",
    "finished_at",
    "expires_at",
)
"""The columns of jobs that a start reads, to count or find jobs: no parameters, results or errors.
"""
CHOOSING: Final = ("name", "fair_by", "limits", "backend")
"""The columns of a queue that decide whether a new job may have limits, and waits for them."""


def grants(kind: Privileges, role: str, schema: str = "public") -> str:
    """Return the statements that give a role these privileges, and no others, on the tables."""
    tables = [*(table.name for table in (*SHARED, change_log, sessions)), VERSION_TABLE]
    lines = [
        (
            f"-- Horae: the privileges of kind {kind.value}. Run this as the owner of the tables,"
            " after each migration."
        ),
        "BEGIN;",
        f"GRANT USAGE ON SCHEMA {_quote(schema)} TO {_quote(role)};",
        *(f"REVOKE ALL ON {_name(schema, name)} FROM {_quote(role)};" for name in tables),
        *(f"REVOKE ALL ON SEQUENCE {each} FROM {_quote(role)};" for each in _sequences(schema)),
        *(f"GRANT {what} TO {_quote(role)};" for what in _privileges(kind, schema)),
        "COMMIT;",
    ]
    return "\n".join(lines) + "\n"


_LACKING: Final = text("""
    SELECT needed.table_name, needed.privilege
    FROM unnest(CAST(:tables AS text[]), CAST(:privileges AS text[]))
        WITH ORDINALITY AS needed (table_name, privilege, place)
    WHERE NOT has_table_privilege(to_regclass(needed.table_name), needed.privilege)
    ORDER BY place
""")


def lacking_privileges(connection: Connection) -> dict[str, list[str]]:
    """Return the privileges of a worker that the role of the connection lacks, by table."""
    needed = [
        (table.name, privilege)
        for table in (*SHARED, change_log)
        for privilege in (OF_CHANGE_LOG if table is change_log else ALL)
    ]
    tables, privileges = zip(*needed, strict=True)
    given = {"tables": list(tables), "privileges": list(privileges)}
    found: dict[str, list[str]] = {}
    for table, privilege in connection.execute(_LACKING, given):
        found.setdefault(table, []).append(privilege)
    return found


def _privileges(kind: Privileges, schema: str) -> Iterator[str]:
    yield f"SELECT ON {_name(schema, VERSION_TABLE)}"
    if kind is Privileges.ENQUEUE:
        of_jobs = _name(schema, jobs.name)
        yield f"INSERT ({', '.join(map(_quote, STARTED_WITH))}) ON {of_jobs}"
        yield f"SELECT ({', '.join(map(_quote, COMPARED))}) ON {of_jobs}"
        yield f"SELECT ({', '.join(map(_quote, CHOOSING))}) ON {_name(schema, queues.name)}"
        yield f"USAGE ON SEQUENCE {_name(schema, f'{jobs.name}_id_seq')}"
        return
    if kind is Privileges.READ_ONLY:
        yield from (f"SELECT ON {_name(schema, table.name)}" for table in (*SHARED, change_log))
        return
    yield from (f"{', '.join(ALL)} ON {_name(schema, table.name)}" for table in SHARED)
    yield f"{', '.join(OF_CHANGE_LOG)} ON {_name(schema, change_log.name)}"
    yield from (f"USAGE ON SEQUENCE {each}" for each in _sequences(schema))
    if kind is Privileges.WEB:
        yield f"{', '.join(ALL)} ON {_name(schema, sessions.name)}"


def _sequences(schema: str) -> Iterator[str]:
    for table in (*SHARED, change_log):
        column = table.autoincrement_column
        if column is not None:
            yield _name(schema, f"{table.name}_{column.name}_seq")


def _name(schema: str, name: str) -> str:
    return f"{_quote(schema)}.{_quote(name)}"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
