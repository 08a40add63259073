"""The whole history of a run: rows that the clean-up deletes are copied by triggers, and put back at the end.

So retention can run as in production, and the outside checker still sees every job, attempt and nominal time.
"""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

TABLES: Final = (
    "horae_jobs",
    "horae_groups",
    "horae_group_parts",
    "horae_job_attempts",
    "horae_ticks",
)
BROKEN: Final = {
    "transactional jobs that failed without an attempt that failed": (
        "SELECT id FROM horae_jobs WHERE type LIKE 'transactional%' AND state = 'failed' AND NOT EXISTS "
        "(SELECT 1 FROM horae_job_attempts WHERE job_id = id AND outcome <> 'finished')"
    ),
    "jobs without what their hook wrote with them": (
        "SELECT id FROM horae_jobs WHERE type = 'hooked' AND NOT EXISTS (SELECT 1 FROM creations WHERE job = id)"
    ),
    "rows that a hook wrote for a job that does not exist": (
        "SELECT job FROM creations WHERE NOT EXISTS (SELECT 1 FROM horae_jobs WHERE id = job)"
    ),
}
"""Rules of this application, beside those of the outside checker."""
PICK_UPS: Final = text(
    "SELECT run_at, created_at, (SELECT min(horae_job_attempts.started_at) FROM horae_job_attempts WHERE job_id = id) "
    "AS began FROM horae_jobs WHERE type = 'quick'"
)
MOMENTS: Final = text("SELECT created_at, finished_at FROM horae_jobs")
OPEN: Final = text(
    "SELECT count(*) FROM horae_jobs WHERE finished_at IS NULL OR node_id IS NOT NULL"
)


def keep_deleted_rows(engine: Engine) -> None:
    """Let the database copy each row that is deleted from now on."""
    with engine.begin() as connection:
        for table in TABLES:
            connection.execute(
                text(f"CREATE TABLE deleted_{table} AS SELECT * FROM {table} WHERE 1 = 0")
            )
            for statement in _trigger(connection, table):
                connection.execute(text(statement))


def _trigger(connection: Connection, table: str) -> list[str]:
    if connection.dialect.name == "sqlite":
        rows = connection.execute(text(f"SELECT name FROM pragma_table_info('{table}')"))
        values = ", ".join(f'OLD."{name}"' for name in rows.scalars())
        copy = f"INSERT INTO deleted_{table} VALUES ({values})"
        return [f"CREATE TRIGGER keep_{table} AFTER DELETE ON {table} BEGIN {copy}; END"]
    body = f"BEGIN INSERT INTO deleted_{table} SELECT OLD.*; RETURN NULL; END"
    return [
        f"CREATE FUNCTION keep_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
        f"CREATE TRIGGER keep_{table} AFTER DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION keep_{table}()",
    ]


def put_back(engine: Engine) -> list[str]:
    """Put the deleted rows back; return the tables of which that failed, because a row with their key came later."""
    problems: list[str] = []
    for table in TABLES:
        try:
            with engine.begin() as connection:
                connection.execute(text(f"INSERT INTO {table} SELECT * FROM deleted_{table}"))
        except DBAPIError as error:
            problems.append(f"{table} has a row with the key of a deleted one: {error.orig}")
    return problems


def broken(engine: Engine) -> list[str]:
    """Return the broken rules of this application, with the first job concerned."""
    with engine.connect() as connection:
        found = {
            name: list(connection.execute(text(query)).scalars()) for name, query in BROKEN.items()
        }
    return [f"{len(jobs)} {name}, such as {jobs[0]}" for name, jobs in found.items() if jobs]


def pick_ups(engine: Engine) -> list[tuple[float, float]]:
    """Return when each job that does nothing was due and when its body began, as Unix times."""
    with engine.connect() as connection:
        rows = connection.execute(PICK_UPS).all()
    return [
        (max(_unix(row.run_at), _unix(row.created_at)), _unix(row.began))
        for row in rows
        if row.began is not None
    ]


def moments(engine: Engine) -> tuple[list[float], list[float]]:
    """Return when jobs were created, and when they ended, as Unix times."""
    with engine.connect() as connection:
        rows = connection.execute(MOMENTS).all()
    return [_unix(row.created_at) for row in rows], [
        _unix(row.finished_at) for row in rows if row.finished_at
    ]


def jobs(engine: Engine) -> dict[str, int]:
    """Return the number of jobs by state."""
    with engine.connect() as connection:
        counted = connection.execute(
            text("SELECT state, count(*) FROM horae_jobs GROUP BY state")
        ).all()
    return {row[0]: row[1] for row in counted}


def _unix(moment: Any) -> float:
    """Return the Unix time of a stored moment, which is in microseconds on SQLite."""
    return moment.timestamp() if isinstance(moment, datetime) else float(moment) / 1e6
