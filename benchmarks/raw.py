"""The reference: the same work by raw statements of psycopg 3 and sqlite3.

The bare loop is the least that a batched queue can do: claim a batch, complete it by id, both durable.
"""

import json
import sqlite3
from collections.abc import Sequence
from typing import Any, Protocol

import psycopg

COLUMNS = "type, queue, priority, state, params, max_attempts, meta, run_at, created_at, updated_at"
# Long ago, because nodes count what has ended lately, of which no node ran so much.
END_ALL = (
    "UPDATE horae_jobs SET state = 'cancelled', finished_at = run_at - {} WHERE state = 'pending'"
)
HELD = "SELECT count(*) FROM horae_jobs WHERE node_id IS NOT NULL"
CLEARED = ("horae_jobs", "horae_job_attempts", "bare_jobs")


class Raw(Protocol):
    """Raw statements on one connection."""

    name: str

    def insert(self) -> None:
        """Insert one job into Horae's table, and commit."""
        ...

    def insert_many(self, count: int) -> None:
        """Insert jobs into Horae's table in one statement, and commit."""
        ...

    def fill(self, count: int) -> None:
        """Insert jobs into the bare table."""
        ...

    def claim(self, limit: int) -> Sequence[int]:
        """Claim a batch of the bare table."""
        ...

    def complete(self, ids: Sequence[int]) -> None:
        """Complete a batch of the bare table."""
        ...

    def held(self) -> int:
        """Count Horae's jobs that have begun and not ended, through an index: a scan of all jobs would slow the last ends."""
        ...

    def end_all(self) -> None:
        """End all pending jobs of Horae, and clean up as far as the database can."""
        ...

    def analyze(self) -> None:
        """Collect the planner's statistics."""
        ...

    def clear(self) -> None:
        """Empty all tables."""
        ...

    def about(self) -> dict[str, str]:
        """Describe the database."""
        ...

    def close(self) -> None: ...


class RawPostgres:
    name = "PostgreSQL"

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
        self._execute(
            """CREATE TABLE IF NOT EXISTS bare_jobs (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL, priority int NOT NULL,
                state text NOT NULL, params jsonb, run_at timestamptz NOT NULL)"""
        )
        self._execute(
            "CREATE INDEX IF NOT EXISTS bare_ready ON bare_jobs (priority DESC, run_at, id) WHERE state = 'pending'"
        )

    def insert(self) -> None:
        now = "statement_timestamp()"
        self._connection.execute(
            f"INSERT INTO horae_jobs ({COLUMNS}) VALUES (%s, %s, %s, 'pending', %s, 1, '{{}}', {now}, {now}, {now}) "
            "RETURNING id",
            ("noop", "default", 0, None),
        ).fetchone()

    def insert_many(self, count: int) -> None:
        now = "statement_timestamp()"
        self._connection.execute(
            f"INSERT INTO horae_jobs ({COLUMNS}) SELECT 'noop', 'default', 0, 'pending', params, 1, '{{}}', {now}, "
            f"{now}, {now} FROM unnest(%s::jsonb[]) AS params RETURNING id",
            ([None] * count,),
        ).fetchall()

    def fill(self, count: int) -> None:
        self._connection.execute(
            "INSERT INTO bare_jobs (queue, priority, state, run_at) "
            "SELECT 'default', 0, 'pending', statement_timestamp() FROM generate_series(1, %s)",
            (count,),
        )

    def claim(self, limit: int) -> Sequence[int]:
        cursor = self._connection.execute(
            """WITH due AS (
                SELECT id FROM bare_jobs WHERE state = 'pending' AND run_at <= statement_timestamp()
                ORDER BY priority DESC, run_at, id LIMIT %s FOR UPDATE SKIP LOCKED)
            UPDATE bare_jobs SET state = 'started' FROM due WHERE bare_jobs.id = due.id
            RETURNING bare_jobs.id, params""",
            (limit,),
        )
        return [row[0] for row in cursor.fetchall()]

    def complete(self, ids: Sequence[int]) -> None:
        self._connection.execute(
            "UPDATE bare_jobs SET state = 'finished' WHERE id = ANY(%s)", (list(ids),)
        )

    def held(self) -> int:
        return int(self._one(HELD))

    def transactions(self) -> int:
        """Count the transactions that the server has reported for this database."""
        return int(
            self._one(
                "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
            )
        )

    def end_all(self) -> None:
        self._execute(END_ALL.format("interval '1 hour'"))
        self._execute("VACUUM ANALYZE horae_jobs")

    def analyze(self) -> None:
        self._execute(f"ANALYZE {', '.join(CLEARED)}")

    def clear(self) -> None:
        self._execute(f"TRUNCATE {', '.join(CLEARED)}")

    def about(self) -> dict[str, str]:
        names = (
            "server_version",
            "fsync",
            "synchronous_commit",
            "full_page_writes",
            "shared_buffers",
        )
        return {name: str(self._one(f"SHOW {name}")) for name in names}

    def close(self) -> None:
        self._connection.close()

    def _one(self, statement: str) -> Any:
        row = self._connection.execute(statement.encode()).fetchone()
        return None if row is None else row[0]

    def _execute(self, statement: str) -> None:
        self._connection.execute(statement.encode())


class RawSqlite:
    name = "SQLite"

    def __init__(self, file: str) -> None:
        self._connection = sqlite3.connect(
            file, isolation_level=None, check_same_thread=False, timeout=30
        )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS bare_jobs (id INTEGER PRIMARY KEY, queue TEXT NOT NULL, priority INT NOT NULL, "
            "state TEXT NOT NULL, params TEXT, run_at INT NOT NULL)"
        )
        self._connection.execute(
            "CREATE INDEX IF NOT EXISTS bare_ready ON bare_jobs (priority DESC, run_at, id) WHERE state = 'pending'"
        )

    def insert(self) -> None:
        self._connection.execute(
            f"INSERT INTO horae_jobs ({COLUMNS}) VALUES (?, ?, ?, 'pending', ?, 1, '{{}}', 1, 1, 1) RETURNING id",
            ("noop", "default", 0, None),
        ).fetchone()

    def insert_many(self, count: int) -> None:
        self._connection.execute(
            f"INSERT INTO horae_jobs ({COLUMNS}) SELECT 'noop', 'default', 0, 'pending', value, 1, '{{}}', 1, 1, 1 "
            "FROM json_each(?) RETURNING id",
            (json.dumps([None] * count),),
        ).fetchall()

    def fill(self, count: int) -> None:
        self._connection.execute(
            "INSERT INTO bare_jobs (queue, priority, state, run_at) SELECT 'default', 0, 'pending', 1 FROM json_each(?)",
            (json.dumps([0] * count),),
        )

    def claim(self, limit: int) -> Sequence[int]:
        cursor = self._connection.execute(
            """UPDATE bare_jobs SET state = 'started' WHERE id IN (
                SELECT id FROM bare_jobs WHERE state = 'pending' AND run_at <= 1
                ORDER BY priority DESC, run_at, id LIMIT ?) RETURNING id, params""",
            (limit,),
        )
        return [row[0] for row in cursor.fetchall()]

    def complete(self, ids: Sequence[int]) -> None:
        self._connection.execute(
            "UPDATE bare_jobs SET state = 'finished' WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        )

    def held(self) -> int:
        return int(self._connection.execute(HELD).fetchone()[0])

    def end_all(self) -> None:
        self._connection.execute(END_ALL.format(3_600_000_000))
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def analyze(self) -> None:
        """Do nothing: SQLite collects statistics only on request, and applications do not ask for it."""

    def clear(self) -> None:
        for table in CLEARED:
            self._connection.execute(f"DELETE FROM {table}")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def about(self) -> dict[str, str]:
        names = ("journal_mode", "synchronous")
        pragmas = {
            name: str(self._connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in names
        }
        return {"version": sqlite3.sqlite_version, **pragmas}

    def close(self) -> None:
        self._connection.close()
