"""The database: its engines, connections and threads, and the functions that run statements on it.

A statement is a plain function of a `Connection`. `transact` runs it in a transaction; `autocommit`
runs one that executes a single SQL statement, which commits by itself. Both may call the function
again after a conflict that was rolled back, so it must have no effects but SQL. Async code calls
the same functions on a small pool of threads: the SQLite driver allows nothing else, and so a
cancelled task never leaves half a transaction behind (ADR 0001).
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from typing_extensions import override

from horae.errors import DatabaseBusy, DatabaseUnavailable
from horae.forking import SQLITE_GATE, BuiltAnewInChild
from horae.optional_packages import packages_required
from horae.storage.engine import unreadable_rows
from horae.storage.engine.caller_threads import CallerThreads, CallingThreadOnly, Use
from horae.storage.engine.connections import (
    BODY_BOUNDS,
    SERVICE_BOUNDS,
    AsyncClosingPool,
    ClosingPool,
    ConnectionPool,
    OpenConnections,
    PoolerDetection,
    commit_guard,
    detach,
    driver_arguments_for,
    leave_read_only,
    replace_stale,
    report_read_only,
    session,
)
from horae.storage.engine.dialect import POSTGRESQL, SQLITE
from horae.storage.engine.direct import allow_direct
from horae.storage.engine.failures import (
    conflicts_as_busy,
    is_busy,
    is_conflict,
    may_be_of_changed_tables,
    unavailable,
)
from horae.storage.engine.lending import Lender
from horae.storage.engine.missing_privilege import denied, is_denied
from horae.storage.engine.sqlite import (
    BodyTurns,
    DatabaseFile,
    WriteTurns,
    opening,
    write_lock_holder,
)
from horae.storage.engine.threads import Threads
from horae.storage.engine.url import driver_arguments, normalised, servers_of, shown, with_real_path

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

    from horae.storage.engine.connections.silent_server import WatchedConnection

P = ParamSpec("P")
T = TypeVar("T")

Statement = Callable[Concatenate[Connection, P], T]
Opened = Callable[[], contextlib.AbstractContextManager[Connection]]
ATTEMPTS: Final = 5
"""How often a transaction that conflicts with others is tried before `DatabaseBusy`."""


class Database(BuiltAnewInChild):
    """A database and its connections; may be used by many threads."""

    def __init__(
        self,
        url: str | URL,
        *,
        threads: int = 8,
        busy_timeout: float = 30.0,
        pooler: bool | None = None,
        prepared_statements: bool | None = None,
        file_check_interval: float = 0.1,
    ) -> None:
        """`busy_timeout`: seconds to wait for SQLite's one write lock before `DatabaseBusy`.

        `pooler`: whether connections go through a pooler; None detects it. `prepared_statements`:
        whether PostgreSQL prepares statements; None: only without a pooler. `file_check_interval`:
        seconds between two checks that the SQLite file is still the same; a check before each
        statement would cost 1 % of an insert.
        """
        given = normalised(url)
        self.url = with_real_path(given)
        self.dialect = self.url.get_backend_name()
        self.is_file = self.dialect == SQLITE
        """Whether it is a file of this machine, which has one writer at a time."""
        self.busy_timeout = busy_timeout
        self.prepared_statements = prepared_statements
        self._settings = {
            "busy_timeout": busy_timeout,
            "pooler": pooler,
            "prepared_statements": prepared_statements,
        }
        self._pooling = PoolerDetection(False if self.is_file else pooler, prepared_statements)
        self._file = (
            # By the path that was given: a link may be changed to lead to another file.
            DatabaseFile(given.database or "", file_check_interval) if self.is_file else None
        )
        self._gate = SQLITE_GATE if self.is_file else contextlib.nullcontext()
        self._pool = _pool(self.url, threads, busy_timeout, SERVICE_BOUNDS)
        self._body_pool = {
            **_pool(self.url, threads, busy_timeout, BODY_BOUNDS),
            "max_overflow": -1,
        }
        self._connections, self._body_connections = OpenConnections(), OpenConnections()
        # The level must not depend on the server's default: a count under a lock must see what
        # others have committed.
        committed = {} if self.is_file else {"isolation_level": "READ COMMITTED"}
        with packages_required(
            {"psycopg"}, "PostgreSQL needs its driver: pip install 'horae[postgres]'"
        ):
            engine = create_engine(self.url, **self._pool, **committed)
        self.engine = self._listen_tolerantly(engine)
        # Autocommit has a pool of its own: switching a connection to autocommit and back took a
        # quarter of the time of an insert.
        pool = dict(self._pool)
        if self.is_file:
            pool["connect_args"] = {**pool["connect_args"], "factory": opening.PatientConnection}
        self.autocommit_engine = self._listen_tolerantly(
            create_engine(self.url, **pool, **_AUTOCOMMIT[self.dialect])
        )
        self._statement_connections = ConnectionPool(self.autocommit_engine, threads)
        # On SQLite both pools are the same: it saves connections, and an engine with listeners
        # takes longer for each statement.
        self._transaction_connections = (
            self._statement_connections if self.is_file else ConnectionPool(self.engine, threads)
        )
        self._body_turns = BodyTurns(busy_timeout)
        self._turns = WriteTurns(busy_timeout) if self.is_file else None
        # Bodies hold their connections for long: they have a pool without a limit, and never take
        # those of services.
        self._body_engine = self._listen_for_bodies(create_engine(self.url, **self._body_pool))
        self._waits_for_calls = True
        self._is_closed = False
        self.check_tables: Callable[[Connection], None] | None = None
        """Raises an error if a migration has changed the tables so that statements no longer fit.
        """
        self.lender: Lender | None = None
        """Lends the connection of another library while that has a transaction open in the calling
        thread: statements then run in it, and commit with it.
        """
        self._of_test: Connection | None = None
        self.caller_threads = CallerThreads(self._pool["pool_size"])
        self._service_threads = Threads(self._pool["pool_size"], "horae-node")
        self._async_engines: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncEngine] = (
            WeakKeyDictionary()
        )

    @override
    def begin_in_child(self) -> None:
        """Start again in a forked child: detach the parent's connections, and repeat the checks."""
        detach([*self._connections.descriptors(), *self._body_connections.descriptors()])
        check_tables, lender = self.check_tables, self.lender
        super().begin_in_child()
        self.check_tables, self.lender = check_tables, lender
        if self._file is not None:
            self._file.forget_companions()

    @property
    def pooled(self) -> bool:
        """Whether a pooler is in front of PostgreSQL, which rules out session state.

        The first call may have to connect, and raises what connecting raises.
        """
        if self._pooling.found is None:
            self.autocommit(lambda _connection: None)  # connects
        return bool(self._pooling.found)

    @property
    def without_sessions(self) -> str:
        """What is not used because of a pooler, for the log and `horae doctor`."""
        return self._pooling.consequences

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments with which another process opens this database as this one does."""
        return {"url": self.url.render_as_string(hide_password=False), **self._settings}

    def transact(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `statement` in a transaction of its own.

        Raises `DatabaseBusy` after `busy_timeout`, and to callers `DatabaseUnavailable`.
        """
        opened = self._transaction_connections.transaction
        return self._run(opened, savepoint, self._turns, statement, *args, **kwargs)

    def transact_at_once(
        self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `transact`, but raise `DatabaseBusy` at once if SQLite's write lock is taken."""
        opened = self.engine.execution_options(**_AT_ONCE[self.dialect]).begin
        return self._run(opened, savepoint, None, statement, *args, **kwargs)

    def autocommit(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a `statement` that executes a single SQL statement, in autocommit mode."""
        opened = self._statement_connections.statement
        return self._run(opened, contextlib.nullcontext, None, statement, *args, **kwargs)

    def write_one(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `autocommit` for a statement that writes, and is executed often."""
        opened = self._statement_connections.statement
        return self._run(opened, contextlib.nullcontext, self._turns, statement, *args, **kwargs)

    async def transact_async(
        self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `transact` on a thread of the node's services."""
        return await self.in_service(lambda: self.transact(statement, *args, **kwargs))

    async def autocommit_async(
        self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `autocommit` on a thread of the node's services."""
        return await self.in_service(lambda: self.autocommit(statement, *args, **kwargs))

    async def write_one_async(
        self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `write_one` on a thread of the node's services."""
        return await self.in_service(lambda: self.write_one(statement, *args, **kwargs))

    def hang_up(self) -> None:
        """Shut down all connections except those of bodies, so that waiting calls fail at once."""
        self._connections.hang_up()

    def give_up_calls(self) -> None:
        """Hang up, and let `close` wait for no call: opening a connection cannot be interrupted."""
        self._waits_for_calls = False
        self.hang_up()

    def hang_up_bodies(self, keep: Iterable[Connection | None]) -> None:
        """Shut down the connections for bodies, idle or not, except those in `keep`."""
        self._body_connections.hang_up(keep)

    def hang_up_body(self, connection: Connection) -> None:
        """Shut down the connection of one body, so that its waiting call fails at once."""
        self._body_connections.hang_up_one(connection)

    def end_overdue_calls(self, now: float) -> None:
        """End overdue calls of services; cheap enough to be called often."""
        self._connections.end_overdue(now)

    def driver_arguments(self) -> dict[str, Any]:
        """Return the arguments for a psycopg connection to this database outside the pools."""
        return {**driver_arguments_for(self.url, SERVICE_BOUNDS), **driver_arguments(self.url)}

    async def in_thread(self, call: Callable[[], T], use: Use = Use.READ) -> T:
        """Run `call` on a thread for its use, in the caller's context, as `asyncio.to_thread` does.

        Raises `DatabaseBusy` for a change if too many are already waiting.
        """
        return await self.caller_threads.run(call, use)

    async def in_service(self, call: Callable[[], T]) -> T:
        """Run `call` for a service of a node, on threads that never wait behind callers."""
        return await self._service_threads.run(call)

    def transaction(self, isolation: str) -> contextlib.AbstractContextManager[Connection]:
        """Open a transaction for a job's body: committed at the end, rolled back on an error."""
        self.check_file()
        if self._of_test is not None:
            return savepoint(self._of_test)
        return self._body_engine.execution_options(**self._isolation_options(isolation)).begin()

    def _isolation_options(self, isolation: str) -> dict[str, Any]:
        """Return the options of an isolation level; on SQLite they say when to take the lock."""
        if self.is_file:
            return {
                opening.BEGIN_OPTION: (
                    opening.LAZY if isolation == "read committed" else opening.IMMEDIATE
                )
            }
        return {"isolation_level": isolation.upper()}

    @contextlib.contextmanager
    def snapshot(self) -> Generator[Connection]:
        """Open a transaction whose reads all see the same state, and which blocks no other one."""
        self.check_file()
        options: dict[str, Any] = (
            {opening.BEGIN_OPTION: opening.SNAPSHOT}
            if self.is_file
            else {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        )
        opened = self.engine.execution_options(**options)
        with self._reporting(), opened.connect() as connection, connection.begin():
            if not self.is_file:
                yield connection
                return
            connection.exec_driver_sql("PRAGMA query_only = ON")
            try:
                yield connection
            finally:
                if not connection.invalidated:  # it is closed if it was refused a write
                    connection.exec_driver_sql("PRAGMA query_only = OFF")

    def without_transaction(self) -> Engine:
        """Return an autocommit engine for reads of a body outside its transaction."""
        own = (
            {opening.BEGIN_OPTION: opening.NONE}
            if self.is_file
            else {"isolation_level": "AUTOCOMMIT"}
        )
        return self._body_engine.execution_options(**own)

    def async_transaction(
        self, isolation: str
    ) -> "contextlib.AbstractAsyncContextManager[AsyncConnection]":
        """Open a transaction for an async body, on a connection of the running event loop."""
        self.check_file()
        loop = asyncio.get_running_loop()
        if loop not in self._async_engines:
            driver = "sqlite+aiosqlite" if self.is_file else self.url.drivername
            from sqlalchemy.ext.asyncio import create_async_engine

            pool = {**self._body_pool, "poolclass": AsyncClosingPool}
            engine = create_async_engine(self.url.set(drivername=driver), **pool)
            self._listen_for_bodies(engine.sync_engine)
            self._async_engines[loop] = engine
        own = self._isolation_options(isolation)
        return self._async_engines[loop].execution_options(**own).begin()

    async def close_async(self) -> None:
        """Close the connections of the running event loop; they cannot be closed after it ends."""
        engine = self._async_engines.pop(asyncio.get_running_loop(), None)
        if engine is not None:
            await engine.dispose()

    def check_file(self, *, now: bool = False) -> None:
        """Raise `Unavailable` if the open SQLite file was moved, deleted or replaced."""
        if self._file is not None:
            self._file.check(now=now)

    @contextlib.contextmanager
    def own_connection(self) -> Generator[Connection]:
        """Open a connection outside the pools, in autocommit mode; for session locks."""
        with self.autocommit_engine.connect() as connection:
            driver: Any = connection.connection.dbapi_connection
            connection.detach()
            try:
                yield connection
            finally:
                # SQLAlchemy has given it up, after a lost connection or a refused write, and closes
                # only connections of a pool.
                if connection.invalidated:
                    driver.close()

    def adopt(self, connection: Connection) -> None:
        """Prepare a connection of the application's own engine for Horae's statements."""
        if self.is_file and "horae" not in connection.info:
            opening.register_clock(connection.connection.dbapi_connection)
            connection.info["horae"] = True

    def is_at(self, url: URL) -> bool:
        """Return whether a URL of the application's own engine leads to this database."""
        if self._of_test is not None:
            return url == self._of_test.engine.url
        if url.get_backend_name() != self.dialect:
            return False
        if self.is_file:
            return Path(url.database or "").resolve() == Path(self.url.database or "").resolve()
        return (servers_of(self.url), self.url.database) == (servers_of(url), url.database)

    def close(self) -> None:
        """Wait for running calls, unless given up, and close all connections but event loops'.

        A connection that is still in use is closed when it is given back, and none is opened after.
        """
        self.caller_threads.shutdown(wait=self._waits_for_calls)
        self._service_threads.shutdown(wait=self._waits_for_calls)
        self._is_closed = True
        self._transaction_connections.close()
        self.engine.dispose()
        self._statement_connections.close()
        self.autocommit_engine.dispose()
        self._body_engine.dispose()

    def _refuse_if_closed(self, *_: object) -> None:
        if self._is_closed:
            raise DatabaseUnavailable(
                shown(self.url),
                "its application was closed meanwhile; take horae.jobs and the like from it again",
            )

    def _listen(self, engine: Engine, connections: OpenConnections) -> Engine:
        """Prepare all connections that an engine opens."""
        event.listen(engine, "do_connect", self._refuse_if_closed)
        if self.is_file:
            event.listen(engine, "connect", opening.prepare)
            event.listen(engine, "handle_error", opening.close_read_only)
            if not engine.dialect.is_async:
                event.listen(engine, "handle_error", opening.close_interrupted)
            if self._file is not None:
                event.listen(engine, "do_connect", self._file.make)
                event.listen(engine, "connect", self._file.note_opened)
            # In autocommit these listeners are not needed: an engine with listeners takes longer
            # for each statement.
            if opening.begins(engine):
                event.listen(engine, "begin", opening.begin)
        else:
            replace_stale(engine)
            # It comes before the pooler detection, which queries the server.
            connections.listen(engine)
            self._pooling.listen(engine)
            session.listen(engine)
        return engine

    def _listen_for_bodies(self, engine: Engine) -> Engine:
        self._listen(engine, self._body_connections)
        # It comes first, so that it sees a transaction that has ended before another one begins.
        commit_guard.watch(engine)
        if self.is_file:
            self._body_turns.listen(engine)
            event.listen(engine, "before_cursor_execute", opening.begin_at_first_write)
        else:
            leave_read_only(engine)
        return engine

    def _listen_tolerantly(self, engine: Engine) -> Engine:
        """Listen, allow `Direct` statements, and load unreadable values as `UNREADABLE`; not for
        the engines of bodies.
        """
        event.listen(engine, "connect", allow_direct)
        if self.is_file:
            event.listen(engine, "connect", unreadable_rows.decode_tolerantly)
        else:
            event.listen(engine, "connect", unreadable_rows.load_tolerantly)
            report_read_only(engine)
        self._listen(engine, self._connections)
        if not self.is_file:
            # Last, because SQLAlchemy calls no further listener once one has connected.
            event.listen(engine, "do_connect", _connect_watched)
        return engine

    def join(self, lender: Lender, threads: Callable[[int], CallerThreads]) -> None:
        """Let calls join the transactions of another library, and make those of coroutines on
        `threads`.
        """
        self.lender, self.caller_threads = lender, threads(self._pool["pool_size"])

    def lend(self, connection: Connection) -> None:
        """Run everything in a transaction of a test, and the transactions of bodies as savepoints
        of it.
        """
        self.lender = lambda: contextlib.nullcontext(connection)
        self._of_test = connection
        self.caller_threads = CallingThreadOnly()

    def be_temporary(self) -> None:
        """Do not wait for the disk at commits: a test throws the database away."""
        if self.is_file:
            for engine in (self.engine, self.autocommit_engine, self._body_engine):
                event.listen(engine, "connect", opening.skip_syncs)

    def joined(self) -> contextlib.AbstractContextManager[Connection] | None:
        """Return the transaction of another library that statements of this thread join, if any."""
        if self.lender is None or self._service_threads.is_here():
            return None
        return self.lender()

    def _run(
        self,
        opened: Opened,
        within: Callable[[Connection], contextlib.AbstractContextManager[Any]],
        turns: WriteTurns | None,
        statement: Statement[P, T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a statement on a connection that `opened` provides, in one of `turns` if it writes.

        In the transaction of another library, which may hold the write lock, it runs at once,
        `within` a part of that transaction: repeating it is up to the library.
        """
        self.check_file()
        if (lent := self.joined()) is not None:
            with self._gate, self._reporting(), conflicts_as_busy(), lent as connection:
                self.adopt(connection)
                with within(connection):
                    return statement(connection, *args, **kwargs)
        if turns is None:
            return self._repeat(opened, statement, *args, **kwargs)
        return turns.run(lambda: self._repeat(opened, statement, *args, **kwargs))

    def _repeat(
        self, opened: Opened, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a statement on a connection that `opened` provides, again after a conflict."""
        for attempt in range(ATTEMPTS):
            try:
                with self._gate, opened() as connection:
                    if self._service_threads.is_here():
                        with self._connections.call(connection):
                            return statement(connection, *args, **kwargs)
                    return statement(connection, *args, **kwargs)
            except DBAPIError as error:
                if is_busy(error):
                    raise DatabaseBusy(
                        f"{write_lock_holder(self.url.database or '') or 'another writer'} holds"
                        f" {self.url.database} for {self.busy_timeout:g} s; `horae doctor` helps to"
                        " find the reason"
                    ) from error
                if not is_conflict(error):
                    self._report(error)
                    raise
                if attempt == ATTEMPTS - 1:
                    raise DatabaseBusy(
                        "repeated conflicts with other transactions; try again later"
                    ) from error
            except PoolTimeout as error:
                self._report(error)
                raise
            # The application may have seeded `random`, so its numbers are left to it.
            time.sleep(SystemRandom().uniform(0.0, 0.005 * 2**attempt))
        raise AssertionError("unreachable: the last attempt returns or raises")

    @contextlib.contextmanager
    def _reporting(self) -> Generator[None]:
        try:
            yield
        except (DBAPIError, PoolTimeout) as error:
            self._report(error)
            raise

    def _report(self, error: DBAPIError | PoolTimeout) -> None:
        """Raise `DatabaseUnavailable` to a caller; services of a node handle driver errors.

        If a privilege is missing, raise an error that names it to both.
        """
        if is_denied(error):
            raise denied(self.autocommit_engine, error) from error
        if self._service_threads.is_here():
            return
        if (reported := unavailable(error, shown(self.url))) is not None:
            raise reported from error
        if (
            self.check_tables is not None
            and isinstance(error, DBAPIError)
            and may_be_of_changed_tables(error)
        ):
            with (
                contextlib.suppress(DBAPIError, PoolTimeout),
                self.autocommit_engine.connect() as connection,
            ):
                self.check_tables(connection)


def _connect_watched(
    _dialect: object, _record: object, arguments: Sequence[Any], options: Mapping[str, Any]
) -> "WatchedConnection":
    from horae.storage.engine.connections.silent_server import WatchedConnection

    return WatchedConnection.connect(*arguments, **options)


_AUTOCOMMIT: Final[dict[str, dict[str, Any]]] = {
    POSTGRESQL: {"isolation_level": "AUTOCOMMIT", "pool_reset_on_return": None},
    # Transactions use this pool as well, so one that a Ctrl-C left open is rolled back here.
    SQLITE: {"execution_options": {opening.BEGIN_OPTION: opening.NONE}},
}
_AT_ONCE: Final[dict[str, dict[str, Any]]] = {
    POSTGRESQL: {},
    SQLITE: {opening.BEGIN_OPTION: opening.AT_ONCE},
}


@contextlib.contextmanager
def savepoint(connection: Connection) -> Generator[Connection]:
    """Run a block so that it can be rolled back alone, within a transaction that is open."""
    with connection.begin_nested():
        yield connection


def side_car_path(database: Database | Engine, name: str) -> Path:
    """Return the path of a side-car file of a SQLite database, which is in the same folder."""
    return Path(f"{database.url.database}-{name}")


def _pool(url: URL, threads: int, busy_timeout: float, wanted: Mapping[str, int]) -> dict[str, Any]:
    if url.get_backend_name() == SQLITE:
        arguments = {
            "timeout": busy_timeout,
            "check_same_thread": False,
            "factory": opening.DriverConnection,
        }
        of_dialect: dict[str, Any] = {"max_overflow": -1, "connect_args": arguments}
    else:
        of_dialect = {"max_overflow": 16, "connect_args": driver_arguments_for(url, wanted)}
    # Errors are stored and logged, and the parameters of a statement may be secret.
    return {
        **of_dialect,
        "poolclass": ClosingPool,
        "pool_size": threads,
        "hide_parameters": True,
    }
