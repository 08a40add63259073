"""The driver's connection and cursor in a simulation on PostgreSQL, through which every statement goes.

Statements run on a real server. What is added: each takes virtual time, at which others may run theirs in between; the
server's clock is virtual; a statement that waits for a lock waits in virtual time; and the faults of the process act
before and after each statement and commit.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from select import POLLIN, POLLOUT, poll
from typing import Any, Final

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGconn
from psycopg.waiting import Ready, Wait
from typing_extensions import override

from tests.simulation import storage, threads, world
from tests.simulation.faults import Gate, Unreachable
from tests.simulation.postgresql.lock_waits import ASK_AFTER, WaitingStatement
from tests.simulation.postgresql.schema import CLOCK, MOMENT
from tests.simulation.world import Clock, Lane, Process

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NOTICED_AFTER: Final = 11.0
"""Seconds after which the server notices that a client is unreachable, by the keepalives of `SERVICE_BOUNDS`."""


class ConnectionLost(psycopg.OperationalError):
    """What a call raises whose connection is lost."""


@contextmanager
def driver_errors(connection: "SimulatedConnection") -> Generator[None]:
    """Lose the connection, and raise the driver's error, where a fault leaves a call without an answer."""
    try:
        yield
    except Unreachable as error:
        connection.shut_down()
        raise ConnectionLost(str(error)) from None


class SimulatedCursor(psycopg.Cursor[Any]):
    """A cursor whose statements take virtual time."""

    @override
    def execute(
        self,
        query: Any,
        params: Any = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> Any:
        connection: Any = self._conn
        kind, name = storage.kind_of(query)
        late = (
            partial(arrive_late, connection.server, query, params)
            if kind == "write" and connection.autocommit
            else None
        )
        with connection.statement(kind, name, late):
            return super().execute(query, params, prepare=prepare, binary=binary)

    @override
    def executemany(self, query: Any, params_seq: Any, *, returning: bool = False) -> None:
        connection: Any = self._conn
        with connection.statement(*storage.kind_of(query)):
            super().executemany(query, params_seq, returning=returning)


class SimulatedConnection(psycopg.Connection[Any]):
    """A connection of one process; the session behind it serves another one when this one has ended."""

    def __init__(self, pgconn: PGconn, server: Any) -> None:
        super().__init__(pgconn)
        self.lock: Any = threads.Lock()
        self.cursor_factory = SimulatedCursor
        self.server = server
        self.broken_off = False
        self._told: tuple[str, float] | None = None
        """What the session knows of the time."""
        self._waiting: WaitingStatement | None = None
        process = world.current_process()
        self.gate = None if process is None else Gate.of(process)
        if self.gate is not None:
            self.gate.connections.append(self)

    @contextmanager
    def statement(self, kind: str, name: str, late: Any = None) -> Generator[None]:
        """Surround a statement with its virtual time and the faults that wait for it."""
        gate = self.gate
        if gate is None or world.current().lane is None:
            yield
            return
        self.check()
        with driver_errors(self):
            gate.before(name, within=False, again=late)
        self.check()
        if name.startswith("ROLLBACK"):
            self._told = None  # to a savepoint: what the session knows may be rolled back, too
        self._tell_time()
        try:
            yield
        except psycopg.Error:
            self.server.lock_waits.settle()  # an error releases the locks of its transaction
            raise
        self.check()
        with driver_errors(self):
            if self.pgconn.transaction_status == TransactionStatus.IDLE:
                self.server.lock_waits.settle()
            if self.pgconn.transaction_status == TransactionStatus.IDLE and kind == "write":
                gate.after_commit()
            else:
                gate.after(within=False)

    def _tell_time(self) -> None:
        """Let the session know the time of the server's clock at which the next statement arrives."""
        moment = (EPOCH + timedelta(microseconds=storage.server_now())).isoformat()
        told = (moment, storage.virtual_time())
        status = self.pgconn.transaction_status
        if told == self._told or status == TransactionStatus.INERROR:
            return
        settings = f"SET {CLOCK} = '{moment}'; SET {MOMENT} = '{told[1]!r}'".encode()
        if status == TransactionStatus.IDLE and not self.autocommit:
            settings += b"; " + self._get_tx_start_command()  # in the same round trip
        self.pgconn.exec_(settings)
        self._told = told

    @override
    def wait(self, gen: Any, interval: float = 0.0, timeout: float | None = None) -> Any:
        """Run a statement to its end; while it waits for a lock, wait in virtual time."""
        try:
            waits_for = next(gen)
            while True:
                ready = self._ready(waits_for)
                if ready:
                    waits_for = gen.send(ready)
                elif self.server.lock_waits.waits(self.pgconn):
                    self._wait_for_lock()
                    waits_for = gen.send(Ready.R)
        except StopIteration as end:
            return end.value
        except psycopg.errors.QueryCanceled:
            if self._waiting is None or not self._waiting.deadlocked:
                raise
            world.current().note("deadlock")
            raise psycopg.errors.DeadlockDetected("deadlock detected") from None
        finally:
            self._waiting = None

    def _ready(self, waits_for: Wait) -> Any:
        poller = poll()
        mask = (POLLIN if waits_for & Wait.R else 0) | (POLLOUT if waits_for & Wait.W else 0)
        poller.register(self.pgconn.socket, mask)
        found = poller.poll(ASK_AFTER)
        if not found:
            return None
        (_, events) = found[0]
        return (Ready.R if events & ~POLLOUT else 0) | (Ready.W if events & POLLOUT else 0)

    def _wait_for_lock(self) -> None:
        here = world.current()
        lane = here.running
        here.note("waits for a lock")
        self._waiting = waiting = self.server.lock_waits.stop(self.pgconn, lane)
        while not waiting.answered and not self.broken_off:
            here.wait()
        if self.broken_off:
            self.end()
            raise ConnectionLost("the connection was lost")

    def check(self) -> None:
        """Raise if the connection was lost."""
        if self.broken_off:
            self.end()
            raise ConnectionLost("the connection was lost")

    @override
    def commit(self) -> None:
        self.check()
        gate = self.gate
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            return
        if gate is None or world.current().lane is None:
            super().commit()
            return
        with driver_errors(self):
            gate.before_commit()
        self.check()
        super().commit()
        self.server.lock_waits.settle()
        with driver_errors(self):
            gate.after_commit()

    @override
    def rollback(self) -> None:
        if self._is_mine() and self.broken_off:
            self.end()
        if self._is_mine() and not self.closed:
            self._told = None  # the settings of the session are rolled back, too
            super().rollback()
            self.server.lock_waits.settle()

    def _is_mine(self) -> bool:
        """Whether the running process has this connection; what is left of another one must not use it any more."""
        process = world.current_process()
        return self.gate is not None and process is not None and process.gate is self.gate

    def lose(self) -> None:
        """Be cut off from the server, which for a while only delays what is sent; a server that refuses has closed it."""
        if self.gate is not None and self.gate.cut_fails:
            self.shut_down()

    def shut_down(self) -> None:
        """Close the socket: the statement that waits for its answer fails."""
        waiting = self._waiting
        if (
            waiting is not None
            and waiting.lane is not None
            and waiting.lane is not world.current().lane
        ):
            self.broken_off = True
            waiting.lane.wake()
        else:
            self.end()

    @override
    def close(self) -> None:
        if self._is_mine():
            self._closed = True
            self.end()

    def end(self) -> None:
        """Leave the session to the server, which ends it when it notices that the socket is closed."""
        if self.closed:
            return
        gate, here = self.gate, world.current()
        vars(self).pop("commit", None)  # left by a body whose process was killed
        session, self.pgconn = self.pgconn, self.server.no_session
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.answered:
            waiting.lane = None  # the server executes the statement all the same, and then finds that nobody is there
        elif gate is not None and here.now < gate.cut_until and not gate.cut_fails:
            self.server.end_later(session, min(gate.cut_until, here.now + NOTICED_AFTER))
        else:
            self.server.end_session(session)
        if gate is not None and not gate.process.dead and self in gate.connections:
            gate.connections.remove(self)


def connect(*_: Any, context: Any = None, **__: Any) -> SimulatedConnection:
    """Open a connection of the running process."""
    server: Any = world.current().surroundings.server
    connection = SimulatedConnection(server.open_session(), server)
    if context is not None:
        connection._adapters = AdaptersMap(context.adapters)  # noqa: SLF001 - as `Connection.connect` does
    return connection


def arrive_late(server: Any, query: Any, params: Any) -> None:
    """Execute a statement although its caller has long had an error: it was on its way to the server."""
    here = world.current()
    process = Process(
        here, "network", "network", 0, Clock(here, started=0.0, rate=1.0, wall_offset=0.0)
    )
    here.surroundings.processes.append(process)
    Lane(process, partial(_execute_late, process, query, params), "late").start()


def _execute_late(process: Process, query: Any, params: Any) -> None:
    connection = connect()
    connection.autocommit = True
    try:
        connection.cursor().execute(query, params)
        process.world.note("late write")
    except psycopg.Error:
        process.world.note("late statement lost")
    finally:
        connection.close()
