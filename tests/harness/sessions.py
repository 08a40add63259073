"""Sessions on PostgreSQL that one test closes and another one opens.

A new session costs the server 4 ms of processor time, and as much again until it has read what it needs of the catalogs. A test
opens six, which was most of what the server did in a run.

A session that is closed goes back to the state in which it began: `DISCARD ALL` ends its locks, what it listens to, its temporary
tables and its settings. But it still is in `pg_stat_activity`, so a test that looks for it there has the mark `own_sessions`.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from psycopg import generators
from psycopg._connection_base import BaseConnection
from psycopg.abc import PQGenConn
from psycopg.pq import ExecStatus, PGconn, PipelineStatus, TransactionStatus
from psycopg.pq.abc import PGconn as Session

CLOSED: Final = PGconn.connect_start(b"host=127.0.0.1 port=1")
"""What a connection has whose session is kept: it can do no more than one that is closed."""
CLOSED.finish()
SETTINGS: Final = (
    "SELECT string_agg(setconfig::text, ' ') FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase "
    "WHERE d.datname = current_database()"
)
"""The settings of a database, which a session has that began after they were made, and no other one."""
AT_REST: Final = {TransactionStatus.IDLE, TransactionStatus.INTRANS, TransactionStatus.INERROR}
"""The states in which a session waits for a statement."""
MOST: Final = 8
"""How many sessions each process keeps: the server of a run admits a hundred in all."""


class KeptSessions:
    """Sessions that no connection has, of the databases that are named to `keep`."""

    def __init__(self) -> None:
        self._settings: dict[str, bytes | None] = {}
        self._sessions: dict[str, list[Session]] = defaultdict(list)
        self._keeps = True

    def keep(self, url: str) -> None:
        """Keep the sessions of a database from now on."""
        with psycopg.connect(url.replace("+psycopg", "")) as connection:
            self._settings[_place_of(url)] = _settings_of(connection.pgconn)

    def forget(self, url: str) -> None:
        """Close those of a database, and keep no others."""
        self._settings.pop(_place_of(url), None)
        for sessions in [*self._sessions.values()]:
            for session in [each for each in sessions if _place(each) == _place_of(url)]:
                sessions.remove(session)
                session.finish()

    def processes(self) -> list[int]:
        """Return the processes of the server that serve the sessions."""
        return [each.backend_pid for sessions in [*self._sessions.values()] for each in sessions]

    @contextmanager
    def none(self) -> Generator[None]:
        """Close all sessions, and keep none within the block."""
        self._sessions.clear()
        self._keeps = False
        yield
        self._keeps = True

    def leave_to_parent(self) -> None:
        """Have no sessions, in a forked process."""
        self._sessions.clear()
        self._keeps = False

    def take(self, conninfo: str) -> Session | None:
        """Return one that was opened in the same way, and is what a new one would be."""
        with suppress(IndexError):
            while True:
                session = self._sessions[conninfo].pop()
                if self.is_plain(session):
                    return session
                session.finish()
        return None

    def put(self, conninfo: str, session: Session) -> bool:
        """Keep a session for the next one who wants it; return False if it must be closed."""
        if (
            not self._keeps
            or session.transaction_status not in AT_REST
            or session.pipeline_status != PipelineStatus.OFF
            or (
                session.transaction_status != TransactionStatus.IDLE
                and not _succeeds(session, b"ROLLBACK")
            )
            or not _succeeds(session, b"DISCARD ALL")
            or not self.is_plain(session)
        ):
            return False
        session.notice_handler = session.notify_handler = None
        self._sessions[conninfo].append(session)
        with suppress(IndexError):  # another thread may have taken it
            if len(self.processes()) > MOST:
                max(self._sessions.copy().values(), key=len).pop(0).finish()
        return True

    def is_plain(self, session: Session) -> bool:
        """Return whether its database is one of these and has the settings that it had, and its process answers."""
        place = _place(session)
        try:
            return place in self._settings and _settings_of(session) == self._settings[place]
        except psycopg.Error:
            return False


KEPT: Final = KeptSessions()


def share_sessions() -> None:
    """Let all connections of this process take their sessions from those that are kept."""
    setattr(BaseConnection, "_connect_gen", classmethod(_connect))  # noqa: B010 - private
    setattr(psycopg.Connection, "close", _close)  # noqa: B010 - a method
    setattr(psycopg.AsyncConnection, "close", _close_async)  # noqa: B010 - a method
    os.register_at_fork(after_in_child=KEPT.leave_to_parent)


def _connect(cls: type[Any], /, conninfo: str = "", **_options: Any) -> PQGenConn[Any]:
    session = KEPT.take(conninfo)
    if session is None:
        session = yield from generators.connect(conninfo)
        is_plain = KEPT.is_plain(session)
    else:
        is_plain = True
    connection = cls(session)
    connection._kept_by = conninfo if is_plain else None
    return connection


def _kept(connection: Any) -> bool:
    """Take the session of a connection and keep it; return whether it could be kept."""
    conninfo = getattr(connection, "_kept_by", None)
    if connection.closed or conninfo is None or not KEPT.put(conninfo, connection.pgconn):
        return False
    connection.pgconn = CLOSED
    connection._closed = True  # noqa: SLF001 - private
    return True


_real_close: Final = psycopg.Connection.close
_real_close_async: Final = psycopg.AsyncConnection.close


def _close(self: psycopg.Connection) -> None:
    if not _kept(self):
        _real_close(self)


async def _close_async(self: psycopg.AsyncConnection) -> None:
    if not _kept(self):
        await _real_close_async(self)


def _settings_of(session: Session) -> bytes | None:
    return session.exec_(SETTINGS.encode()).get_value(0, 0)


def _succeeds(session: Session, statement: bytes) -> bool:
    try:
        return session.exec_(statement).status == ExecStatus.COMMAND_OK
    except psycopg.Error:
        return False


def _place(session: Session) -> str:
    return f"{session.port.decode()}/{session.db.decode()}"


def _place_of(url: str) -> str:
    return "{0.port}{0.path}".format(urlsplit(url))
