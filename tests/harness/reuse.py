"""PostgreSQL databases that tests use one after another: emptying one takes a tenth of the time of creating one.

A database that a test has changed in any other way than by writing rows is dropped, so that each test finds one that
cannot be told from a new copy of the template.
"""

from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import psycopg
from sqlalchemy import make_url

from tests.harness.postgres import PostgresServer
from tests.harness.sessions import KEPT

FIRST_OF_USERS: Final = 16384
"""The object id from which on PostgreSQL numbers what users create; autovacuum analyzes its own catalogs at any time."""
CATALOGS: Final = (
    "pg_attrdef",
    f"pg_attribute WHERE attrelid >= {FIRST_OF_USERS}",  # of thousands of rows hardly any belong to users
    "pg_cast",
    "pg_constraint",
    "pg_default_acl",
    "pg_enum",
    "pg_event_trigger",
    "pg_extension",
    "pg_index",
    "pg_inherits",
    "pg_policy",
    f"pg_proc WHERE oid >= {FIRST_OF_USERS}",
    "pg_publication",
    "pg_rewrite",
    "pg_sequence",
    "pg_statistic_ext",
    "pg_trigger",
    "pg_type",
)
"""Catalogs to which no statement on rows writes."""

STRUCTURE: Final = (
    "SELECT ARRAY["
    + ", ".join(
        f"(SELECT concat(count(*), ' ', sum(xmin::text::bigint)) FROM {name})" for name in CATALOGS
    )
    + f""",
    (SELECT concat(count(*), ' ', sum(xmin::text::bigint)) FROM pg_statistic WHERE starelid >= {FIRST_OF_USERS}),
    (SELECT string_agg(concat_ws(' ', oid, relname, relkind, relpersistence, relowner, reloptions, relacl, relrowsecurity),
                       ',' ORDER BY oid) FROM pg_class),
    (SELECT string_agg(concat_ws(' ', nspname, nspowner, nspacl), ',' ORDER BY oid) FROM pg_namespace
      WHERE nspname NOT LIKE 'pg%temp%'),
    (SELECT concat_ws(' ', datallowconn, datconnlimit, datacl) FROM pg_database WHERE datname = current_database()),
    (SELECT concat(count(*)) FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
      WHERE d.datname = current_database())
]"""
)
FILLED: Final = (
    "SELECT oid::regclass::text, pg_relation_size(oid) FROM pg_class "
    "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0"
)
SMALL: Final = 64 * 1024
"""Bytes of a table up to which deleting its rows takes less time than truncating it with all that refers to it."""
WITHOUT_TRIGGERS: Final = "SET session_replication_role = replica"
RESTART_SEQUENCES: Final = (
    "SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) FROM pg_sequences "
    "WHERE schemaname = 'public' AND last_value IS NOT NULL"
)
ROWS_OF: Final = "SELECT concat(count(*), ' ', sum(xmin::text::bigint)) FROM {}"
END_OTHERS: Final = (
    "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL(%s)"
)
LOCK_WITHIN: Final = "SET lock_timeout = '5s'"


class ReusedDatabases:
    """Copies of one template on one server; each is used by one test at a time."""

    def __init__(self, server: PostgresServer, template: str) -> None:
        self._server, self._template = server, template
        self._free: dict[str, list[str]] = defaultdict(list)
        # A session that has looked before does so in a fifth of the processor time of a new one.
        self._sessions: dict[str, psycopg.Connection] = {}
        self._as_created: dict[str, object] = {}
        self._written_by_migrations: dict[str, object] = {}

    @contextmanager
    def one(self, tables: str = "") -> Generator[str]:
        """Yield the URL of a database with all tables, those that the statement `tables` creates as well, and no rows."""
        free = self._free[tables]
        url = free.pop() if free else self._created(tables)
        try:
            yield url
        finally:
            if self._emptied(url):
                free.append(url)
            else:
                KEPT.forget(url)
                self._sessions.pop(url).close()
                self._server.drop_database(url)

    def close(self) -> None:
        """Close the sessions."""
        for url, session in self._sessions.items():
            KEPT.forget(url)
            session.close()

    def _created(self, tables: str) -> str:
        url = self._server.create_database(template=self._template)
        connection = self._sessions[url] = connected(url)
        if tables:
            connection.execute(tables.encode())
        filled = [name for name, _ in connection.execute(FILLED)]
        self._written_by_migrations = {name: _rows_of(connection, name) for name in filled}
        self._as_created[url] = _structure_of(connection)
        KEPT.keep(url)
        return url

    def _emptied(self, url: str) -> bool:
        """Remove all rows; return False if that does not make it equal to the template."""
        connection = self._sessions[url]
        try:
            connection.execute(END_OTHERS, [KEPT.processes()])
            return _structure_of(connection) == self._as_created[url] and self._is_empty_again(
                connection
            )
        except (
            psycopg.Error
        ):  # a test that has stopped the server, ended this session or taken a right
            return False

    def _is_empty_again(self, connection: psycopg.Connection) -> bool:
        if any(
            _rows_of(connection, name) != rows for name, rows in self._written_by_migrations.items()
        ):
            return False
        filled = {
            name: size
            for name, size in connection.execute(FILLED)
            if name not in self._written_by_migrations
        }
        connection.execute(LOCK_WITHIN)
        large = [name for name, size in filled.items() if size > SMALL]
        if large:
            connection.execute(f"TRUNCATE {', '.join(large)} CASCADE".encode())
        connection.execute(WITHOUT_TRIGGERS)
        for name in filled.keys() - large:
            connection.execute(f"DELETE FROM {name}".encode())
        connection.execute(RESTART_SEQUENCES)
        connection.execute("SELECT pg_stat_reset()")
        return True


def connected(url: str) -> psycopg.Connection:
    """Open a connection outside Horae."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(plain, autocommit=True, connect_timeout=10)


def _structure_of(connection: psycopg.Connection) -> object:
    return connection.execute(STRUCTURE.encode()).fetchone()


def _rows_of(connection: psycopg.Connection, table: str) -> object:
    return connection.execute(ROWS_OF.format(table).encode()).fetchone()
