"""One database, and the only way to run a function of a Connection on it.

A statement is a plain function of a `Connection`. `transact` runs one inside a transaction, `autocommit` runs one that
makes a single statement, which is a transaction of its own. Both may call it again after a conflict that left nothing
behind, so such a function does nothing but SQL. Async code calls the same functions on a small pool of threads: the
SQLite driver has no other way, and a cancelled task can then never leave half a transaction behind (ADR 0001).
"""

import asyncio
import contextlib
import random
import re
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from horae.errors import ConfigurationError, DatabaseBusy
from horae.forking import SQLITE_GATE, begins_anew_after_fork
from horae.redaction import shown_url
from horae.storage.engine import unreadable
from horae.storage.engine.caller_threads import CallerThreads, Use
from horae.storage.engine.connections import fence, health
from horae.storage.engine.connections.connection_pool import ConnectionPool
from horae.storage.engine.connections.pooler import PoolerDetection
from horae.storage.engine.connections.timeouts import BODY_BOUNDS, SERVICE_BOUNDS, Connections, bounds, detach
from horae.storage.engine.dialect import POSTGRESQL, SQLITE
from horae.storage.engine.sqlite import opening
from horae.storage.engine.sqlite.file_identity import DatabaseFile
from horae.storage.engine.sqlite.lock_holder import write_lock_holder
from horae.storage.engine.threads import Threads

P = ParamSpec("P")
T = TypeVar("T")

Statement = Callable[Concatenate[Connection, P], T]
Opened = Callable[[], contextlib.AbstractContextManager[Connection]]
RETRIED_SQLSTATES: Final = frozenset({"40001", "40P01"})  # serialization failure, deadlock
ATTEMPTS: Final = 5


class Database:
    """The engine and its transactions."""

    def __init__(
        self, url: str | URL, *, threads: int = 8, busy_timeout: float = 30.0, pooler: bool | None = None
    ) -> None:
        """`busy_timeout`: seconds to wait for SQLite's one write lock before `DatabaseBusy`.

        `pooler`: whether connections go through a pooler; found out if not told.
        """
        self.url = normalised(url)
        self.dialect = self.url.get_backend_name()
        self.busy_timeout = busy_timeout
        self.told_pooler = pooler
        self._pooling = PoolerDetection(pooler if self.dialect == POSTGRESQL else False)
        self._file = DatabaseFile(self.url.database or "") if self.dialect == SQLITE else None
        self._gate = SQLITE_GATE if self.dialect == SQLITE else contextlib.nullcontext()
        self._pool = _pool(self.url, threads, busy_timeout, SERVICE_BOUNDS)
        self._pool_of_bodies = {**_pool(self.url, threads, busy_timeout, BODY_BOUNDS), "max_overflow": -1}
        self._connections, self._connections_of_bodies = Connections(), Connections()
        # Whatever the server's default is: what is counted under a lock must see what others have committed.
        committed = {"isolation_level": "READ COMMITTED"} if self.dialect == POSTGRESQL else {}
        self.engine = self._listen_tolerantly(create_engine(self.url, **self._pool, **committed))
        # A pool of its own: to turn one connection from the one kind to the other and back took a quarter of an insert.
        self.autocommit_engine = self._listen_tolerantly(
            create_engine(self.url, **self._pool, **_AUTOCOMMIT[self.dialect])
        )
        self._lender = ConnectionPool(self.autocommit_engine, threads)
        # Bodies keep their connections for long, so they have as many as there are slots, and never those of others.
        self._of_bodies = self._listen(create_engine(self.url, **self._pool_of_bodies), self._connections_of_bodies)
        fence.listen(self._of_bodies)
        self._begin_threads()
        begins_anew_after_fork(self)

    def _begin_threads(self) -> None:
        count = self._pool["pool_size"]
        self.caller_threads = CallerThreads(count)
        self._service_threads = Threads(count, "horae-node")
        self._async_engines = WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncEngine]()

    def begin_anew(self) -> None:
        """After a fork: the parent's connections are left alone, not even closed, and its threads are not here."""
        engines = (self.engine, self.autocommit_engine, self._of_bodies)
        if self._file is not None:
            self._file.begin_anew()
        detach([*self._connections.descriptors(), *self._connections_of_bodies.descriptors()])
        self._connections.forget()
        self._connections_of_bodies.forget()
        _of_the_parent.append((self._lender.give_up(), self._async_engines, [engine.pool for engine in engines]))
        for engine in engines:
            engine.dispose(close=False)
        self._begin_threads()

    @property
    def pooled(self) -> bool:
        """Whether a pooler stands before PostgreSQL: nothing may be prepared, no session may be relied on.

        The first time it may have to connect, and raises what that raises.
        """
        if self._pooling.found is None:
            self.autocommit(_nothing)
        return bool(self._pooling.found)

    def transact(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `statement` in a transaction of its own; raises `DatabaseBusy` past the bound."""
        return self._run(self.engine.begin, statement, *args, **kwargs)

    def transact_at_once(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """`transact` without waiting for SQLite's write lock: `DatabaseBusy` at once if somebody holds it."""
        return self._run(self.engine.execution_options(**_AT_ONCE[self.dialect]).begin, statement, *args, **kwargs)

    def autocommit(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a `statement` that is a single SQL statement: one round trip, committed by itself."""
        return self._run(self._lender.lend, statement, *args, **kwargs)

    async def transact_async(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """`transact` for a node's services."""
        return await self.in_service(lambda: self.transact(statement, *args, **kwargs))

    async def autocommit_async(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """`autocommit` for a node's services."""
        return await self.in_service(lambda: self.autocommit(statement, *args, **kwargs))

    def hang_up(self) -> None:
        """Shut down every connection but those of bodies: whoever waits for an answer gets an error instead."""
        self._connections.hang_up()

    def end_overdue_calls(self, now: float) -> None:
        """End what services have waited for beyond their deadline; a look costs nothing."""
        self._connections.end_overdue(now)

    def driver_arguments(self) -> dict[str, Any]:
        """What psycopg must be told for a connection to this database, apart from the pools."""
        [*_, arguments] = self.url.get_dialect()().create_connect_args(self.url)
        return {**bounds(self.url, SERVICE_BOUNDS), **arguments}

    async def in_thread(self, call: Callable[[], T], use: Use = Use.READ) -> T:
        """Run `call` on a thread for its use, in the caller's context, as `asyncio.to_thread` does.

        Raises `DatabaseBusy` for a change where too many wait already.
        """
        return await self.caller_threads.run(call, use)

    async def in_service(self, call: Callable[[], T]) -> T:
        """Run `call` for a node, which must not stand in line behind callers that wait for a lock."""
        return await asyncio.get_running_loop().run_in_executor(self._service_threads, call)

    def transaction(self, isolation: str) -> contextlib.AbstractContextManager[Connection]:
        """A transaction for a job's body, committed at the end of the block, rolled back if that raises."""
        self.check_file()
        return self._of_bodies.execution_options(**_isolated(self.dialect, isolation)).begin()

    def without_transaction(self) -> Engine:
        """An engine for what a body reads beside its work, each statement by itself."""
        own = {opening.BEGIN_OPTION: opening.NONE} if self.dialect == SQLITE else {"isolation_level": "AUTOCOMMIT"}
        return self._of_bodies.execution_options(**own)

    def async_transaction(self, isolation: str) -> contextlib.AbstractAsyncContextManager[AsyncConnection]:
        """The same for the body of a coroutine function; its connection is the running loop's."""
        self.check_file()
        return self._async_engine().execution_options(**_isolated(self.dialect, isolation)).begin()

    async def close_async(self) -> None:
        """Close the connections of the running loop: nobody else can, and nobody can once it has ended."""
        engine = self._async_engines.pop(asyncio.get_running_loop(), None)
        if engine is not None:
            await engine.dispose()

    def check_file(self, *, now: bool = False) -> None:
        """Raise `Unavailable` if the SQLite file was moved, deleted or replaced while this process had it open."""
        if self._file is not None:
            self._file.check(now=now)

    @contextlib.contextmanager
    def own_connection(self) -> Generator[Connection]:
        """A connection that nobody else ever gets, each statement committed by itself; for session locks."""
        with self.autocommit_engine.connect() as connection:
            connection.detach()
            yield connection

    def adopt(self, connection: Connection) -> None:
        """Prepare a connection of the application's own engine for Horae's statements."""
        if connection.dialect.name == SQLITE and "horae" not in connection.info:
            opening.register_clock(connection.connection.dbapi_connection)
            connection.info["horae"] = True

    def is_at(self, url: URL) -> bool:
        """Whether a connection of the application's own engine leads to this database."""
        if url.get_backend_name() != self.dialect:
            return False
        if self.dialect == SQLITE:
            return Path(url.database or "").resolve() == Path(self.url.database or "").resolve()
        here, there = ((one.host, one.port or 5432, one.database) for one in (self.url, url))
        return here == there

    def close(self) -> None:
        """Wait for running calls and close all connections, but those of loops (`close_async`)."""
        self.caller_threads.shutdown()
        self._service_threads.shutdown(wait=True)
        self.engine.dispose()
        self._lender.close()
        self.autocommit_engine.dispose()
        self._of_bodies.dispose()

    def _async_engine(self) -> AsyncEngine:
        loop = asyncio.get_running_loop()
        if loop not in self._async_engines:
            driver = "sqlite+aiosqlite" if self.dialect == SQLITE else self.url.drivername
            engine = create_async_engine(self.url.set(drivername=driver), **self._pool_of_bodies)
            fence.listen(self._listen(engine.sync_engine, self._connections_of_bodies))
            self._async_engines[loop] = engine
        return self._async_engines[loop]

    def _listen(self, engine: Engine, connections: Connections) -> Engine:
        if engine.dialect.name == SQLITE:
            event.listen(engine, "connect", opening.prepare)
            if self._file is not None:
                event.listen(engine, "do_connect", self._file.make)
                event.listen(engine, "connect", self._file.opened)
            event.listen(engine, "begin", opening.begin)
            event.listen(engine, "before_cursor_execute", opening.begin_at_first_write)
        else:
            health.listen(engine)
            connections.listen(engine)  # first, for the next asks the server something
            self._pooling.listen(engine)
        return engine

    def _listen_tolerantly(self, engine: Engine) -> Engine:
        """For Horae's own reading; what bodies read is loaded as ever."""
        if engine.dialect.name != SQLITE:
            event.listen(engine, "connect", _tolerate)
        return self._listen(engine, self._connections)

    def _run(self, opened: Opened, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        self.check_file()
        for pause in _pauses():
            try:
                with self._gate, opened() as connection:
                    if self._service_threads.is_here():
                        with self._connections.call(connection):
                            return statement(connection, *args, **kwargs)
                    return statement(connection, *args, **kwargs)
            except DBAPIError as error:
                if is_busy(error):
                    raise DatabaseBusy(
                        f"{write_lock_holder(self.url.database or '') or 'another writer'} holds {self.url.database} "
                        f"for {self.busy_timeout:g} s; `horae doctor` looks for the reason"
                    ) from error
                if not is_conflict(error):
                    raise
                if pause is None:
                    raise DatabaseBusy(
                        "other transactions stood in the way again and again; try again later"
                    ) from error
            time.sleep(pause)
        raise AssertionError("unreachable: the last pause is None")


_of_the_parent: Final[list[object]] = []

_AUTOCOMMIT: Final[dict[str, dict[str, Any]]] = {
    POSTGRESQL: {"isolation_level": "AUTOCOMMIT", "pool_reset_on_return": None},
    SQLITE: {"execution_options": {opening.BEGIN_OPTION: opening.NONE}, "pool_reset_on_return": None},
}


_AT_ONCE: Final[dict[str, dict[str, Any]]] = {POSTGRESQL: {}, SQLITE: {opening.BEGIN_OPTION: opening.AT_ONCE}}


def _nothing(connection: Connection) -> None:
    """To connect is all."""
    del connection


def side_car(database: Database, name: str) -> Path:
    """Where a SQLite database keeps something beside its file."""
    return Path(f"{database.url.database}-{name}")


def normalised(url: str | URL) -> URL:
    """The URL with the driver that Horae uses; raises `ConfigurationError` for other databases."""
    try:
        parsed = make_url(url)
    except Exception:  # noqa: BLE001 - whatever it is, its text repeats the URL
        raise ConfigurationError(
            f"database: {_word(url)} is not a database URL; write sqlite:///horae.db or postgresql://host/name"
        ) from None
    backend = {"postgres": POSTGRESQL}.get(parsed.get_backend_name(), parsed.get_backend_name())
    if backend == POSTGRESQL:
        return parsed.set(drivername="postgresql+psycopg")
    if backend != SQLITE:
        raise ConfigurationError(f"database: {backend!r} is not supported; allowed are sqlite and postgresql")
    if parsed.database in (None, "", ":memory:"):
        raise ConfigurationError(
            "database: SQLite needs a file that other processes can open, as in sqlite:///horae.db"
        )
    return parsed.set(drivername="sqlite")


def shown(url: str | URL) -> str:
    """The URL as people may see it: no password in it, and none in its query."""
    return shown_url(normalised(url).render_as_string(hide_password=True))


def _word(url: str | URL) -> str:
    """What was given instead of a URL; nobody knows where in it a password is."""
    text = str(url)
    return repr(text[:100]) if re.fullmatch(r"[\w./ -]*", text) else "this (not shown, as it may hold a password)"


def is_busy(error: DBAPIError) -> bool:
    """Whether SQLite's one write lock was held for longer than the bound."""
    return isinstance(error.orig, sqlite3.OperationalError) and "locked" in str(error.orig)


@contextlib.contextmanager
def told_as_busy() -> Generator[None]:
    """For statements in a caller's own transaction, which only the caller can begin again."""
    try:
        yield
    except DBAPIError as error:
        if not is_conflict(error) and not is_busy(error):
            raise
        raise DatabaseBusy("another transaction stands in the way; roll this one back and begin it again") from error


def is_conflict(error: DBAPIError) -> bool:
    """Whether another transaction stood in the way, so that the same one may work if it is begun again."""
    return getattr(error.orig, "sqlstate", None) in RETRIED_SQLSTATES


def _tolerate(connection: Any, _record: object) -> None:
    unreadable.tolerate(connection)


def _pauses() -> Iterator[float | None]:
    for attempt in range(ATTEMPTS - 1):
        yield random.uniform(0.0, 0.005 * 2**attempt)  # noqa: S311 - spreads rivals, guards nothing
    yield None


def _isolated(dialect: str, isolation: str) -> dict[str, Any]:
    """SQLite is serializable whenever it writes; all that can be chosen is when it takes the lock."""
    if dialect == SQLITE:
        return {opening.BEGIN_OPTION: opening.LAZY if isolation == "read committed" else opening.IMMEDIATE}
    return {"isolation_level": isolation.upper()}


def _pool(url: URL, threads: int, busy_timeout: float, wanted: Mapping[str, int]) -> dict[str, Any]:
    if url.get_backend_name() == SQLITE:
        arguments = {"timeout": busy_timeout, "check_same_thread": False, "factory": opening.DriverConnection}
        of_dialect: dict[str, Any] = {"max_overflow": -1, "connect_args": arguments}
    else:
        of_dialect = {"max_overflow": 16, "connect_args": bounds(url, wanted)}
    # An error ends in tables and logs, and the parameters of a statement may be secret.
    return {**of_dialect, "pool_size": threads, "hide_parameters": True}
