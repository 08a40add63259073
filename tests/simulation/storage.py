"""The one place where the database is simulated: the driver's connection and cursor, through which every statement goes.

Statements run on a real SQLite file in memory (tmpfs). What is added: each call takes virtual time, a thread that finds
the write lock taken waits in virtual time, and the faults of the process act before and after each statement and commit.
"""

import re
import sqlite3
from functools import partial
from typing import Any, Final

from typing_extensions import override

from horae.storage.engine.sqlite import opening
from tests.simulation import world
from tests.simulation.faults import Gate, Unreachable
from tests.simulation.threads import Waiters

_WRITES: Final = re.compile(
    r"\s*(?:WITH\b.*\b)?(INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE | re.DOTALL
)
_TABLE: Final = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+(?:horae_)?(\w+)", re.IGNORECASE)
BUSY_TIMEOUT: Final = "PRAGMA busy_timeout"
DURABLE: Final = "PRAGMA synchronous = FULL"
STATEMENTS: Final = 1000
"""Prepared statements that a connection keeps: more than there are, because preparing one takes longer than running it."""
_kinds: dict[str, tuple[str, str]] = {}


def kind_of(statement: str) -> tuple[str, str]:
    """Return the kind of a statement (setup, begin, write, read), and a short name of it for the trace."""
    found = _kinds.get(statement)
    if found is None:
        found = _kinds[statement] = _classify(statement)
    return found


def _classify(statement: str) -> tuple[str, str]:
    verb = statement.split(None, 1)[0].upper()
    if verb == "PRAGMA":
        return "setup", verb
    if verb == "BEGIN":
        return "begin", "BEGIN"
    write = _WRITES.match(statement)
    table = _TABLE.search(statement)
    name = f"{(write.group(1) if write else verb).upper()} {table.group(1) if table else '?'}"
    return ("write" if write else "read"), name


class SimulatedCursor(sqlite3.Cursor):
    """A cursor whose statements take virtual time; it fetches at once, so no statement stays open while others run."""

    _rows: list[Any] | None = None

    @override
    def execute(self, statement: str, parameters: Any = (), /) -> "SimulatedCursor":
        kind, name = _kinds.get(statement) or kind_of(statement)
        connection: Any = self.connection
        gate: Gate | None = connection.gate
        if kind == "setup":
            return self._set_up(connection, statement)
        if gate is None or gate.process.world.lane is None:
            super().execute(statement, parameters)
            return self._fetch()
        connection.check()
        within = connection.in_transaction
        late = (
            partial(_land_late, connection, statement, parameters, kind)
            if kind == "write" and not within
            else None
        )
        gate.before(name, within=within, again=late)
        connection.check()
        connection.wait_for_lock(partial(super().execute, statement, parameters))
        self._fetch()
        if kind == "write" and not within:
            connection.freed()
            gate.after_commit()
        else:
            gate.after(within=within)
        return self

    @override
    def executemany(self, statement: str, parameters: Any, /) -> "SimulatedCursor":
        name = kind_of(statement)[1]
        connection: Any = self.connection
        gate: Gate | None = connection.gate
        if gate is not None:
            gate.before(name, within=True)
        super().executemany(statement, parameters)
        return self

    def _set_up(self, connection: "SimulatedConnection", statement: str) -> "SimulatedCursor":
        """Execute a PRAGMA, unless an earlier process with this connection did."""
        if statement == DURABLE:
            return self
        if statement.startswith(BUSY_TIMEOUT):
            return self._busy_timeout(connection, statement)
        if not connection.is_prepared:
            super().execute(statement)
            self._fetch()
        return self

    def _busy_timeout(self, connection: "SimulatedConnection", statement: str) -> "SimulatedCursor":
        """Read or set how long the connection waits for the write lock, in virtual milliseconds."""
        value = statement.partition("=")[2]
        if value:
            connection.patience = int(value) / 1000
        super().execute("SELECT ?", (int(connection.patience * 1000),))
        return self._fetch()

    def _fetch(self) -> "SimulatedCursor":
        self._rows = None if self.description is None else super().fetchall()
        return self

    @override
    def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows or [], []
        return rows

    @override
    def fetchone(self) -> Any:
        return self._rows.pop(0) if self._rows else None

    @override
    def fetchmany(self, size: int | None = 1) -> list[Any]:
        rows = self._rows or []
        taken, self._rows = rows[: size or 1], rows[size or 1 :]
        return taken


def _land_late(
    connection: "SimulatedConnection", statement: str, parameters: Any, kind: str
) -> None:
    """Execute a statement although its caller has long had an error: it was on its way to the server."""
    late = sqlite3.connect(connection.path, isolation_level=None, timeout=0)
    try:
        opening.register_clock(late)
        late.create_function("sim_time", 0, virtual_time)
        late.execute(statement, parameters).fetchall()
        world.current().note(f"late {kind}")
    except sqlite3.OperationalError:
        world.current().note("late statement lost")
    finally:
        late.close()


def connect(path: str, **options: Any) -> "SimulatedConnection":
    """Open a connection for the running process, or reuse one that another process has closed, of any simulation.

    Opening a file and preparing statements anew takes more time than running them.
    """
    around = world.current().surroundings
    if around.connections and path != around.connections[0].path:
        raise RuntimeError(f"{path} is not the database of this simulation")
    around.waiting_for_lock = around.waiting_for_lock or Waiters()
    patience = float(options.pop("timeout", 30.0))
    if around.free_connections:
        connection: SimulatedConnection = around.free_connections.pop()
    else:
        connection = SimulatedConnection(path, timeout=0, cached_statements=STATEMENTS, **options)
        connection.path = path
        sqlite3.Cursor(connection).execute(
            "PRAGMA synchronous = OFF"
        )  # simulated machines do not lose power
        around.connections.append(connection)
    connection.begin(around.waiting_for_lock, patience)
    return connection


class SimulatedConnection(opening.DriverConnection):
    """A connection of one process."""

    path = ""
    gate: Gate | None = None
    broken = is_prepared = is_free = False
    patience = 0.0
    """Virtual seconds to wait for the write lock."""

    def begin(self, waiters: Waiters, patience: float) -> None:
        """Belong to the running process from now on."""
        self.create_function("horae_lock_free", 1, lock_is_free)  # only if it is new
        self.create_function("sim_time", 0, virtual_time)
        self.broken = self.is_free = False
        self.patience, self._waiters = patience, waiters
        process = world.current_process()
        self.gate = None if process is None else Gate.of(process)
        if self.gate is not None:
            self.gate.connections.append(self)

    @override
    def create_function(
        self, name: str, narg: int, func: Any, *, deterministic: bool = False
    ) -> None:
        if not self.is_prepared:  # it would make all prepared statements invalid
            super().create_function(name, narg, func, deterministic=deterministic)

    @override
    def cursor(self, factory: Any = SimulatedCursor) -> Any:
        return super().cursor(factory)

    @override
    def execute(self, statement: str, parameters: Any = (), /) -> Any:
        # The driver's own method would not use `cursor`, and a repeated PRAGMA makes all prepared statements invalid.
        return self.cursor().execute(statement, parameters)

    def wait_for_lock(self, call: Any) -> None:
        """Execute a call; while another connection holds the write lock, wait in virtual time."""
        here = world.current()
        end = here.now + self.patience
        while True:
            try:
                call()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or here.lane is None or here.now >= end:
                    raise
                self._waiters.wait_once(end - here.now)
            else:
                return

    def check(self) -> None:
        """Raise if the database has rolled back the transaction of this connection."""
        if self.broken:
            raise Unreachable("the connection was lost")

    def lose(self) -> None:
        """Roll back what is open; the process learns of it with its next statement. Idle connections are replaced."""
        if self.in_transaction:
            self.broken = True
            self._roll_back()

    def freed(self) -> None:
        """Wake the threads that wait for the write lock: a transaction has ended."""
        self._waiters.wake()

    @override
    def commit(self) -> None:
        self.check()
        if not self.in_transaction:
            return
        gate = self.gate
        if gate is None or gate.process.world.lane is None:
            super().commit()
            return
        gate.before_commit()
        self.check()
        super().commit()
        self.freed()
        gate.after_commit()

    @override
    def rollback(self) -> None:
        if self._is_mine():
            self.broken = False
            self._roll_back()

    def _roll_back(self) -> None:
        if self.in_transaction:
            super().rollback()
            self.freed()

    def _is_mine(self) -> bool:
        """Whether the running process has this connection; what is left of another one must not use it any more."""
        process = world.current_process()
        return self.gate is not None and process is not None and process.gate is self.gate

    @override
    def close(self) -> None:
        if self._is_mine() and self.gate is not None:
            self.gate.connections.remove(self)
            self.end()

    def end(self) -> None:
        """Close the connection as the system does when its process is killed; an open transaction is rolled back."""
        self._roll_back()
        if not self.is_free:
            vars(self).pop("commit", None)  # left by a body whose process was killed
            self.gate, self._waiters, self.is_prepared, self.is_free = None, Waiters(), True, True
            world.current().surroundings.free_connections.append(self)

    def close_for_good(self) -> None:
        """Close the file."""
        super().close()


def lock_is_free(key: int | None) -> int | None:
    """Return whether nobody holds a session lock."""
    if key is None:
        return None
    holder = world.current().surroundings.session_locks.get(key)
    return int(holder is None or holder.dead)


def virtual_time() -> float:
    """Return the seconds since the begin of the simulation, for the history that triggers keep."""
    return world.current().now


def server_now() -> int:
    """Return the database's clock: microseconds since 1970."""
    here = world.current()
    return int((world.EPOCH + here.now + here.server_offset) * 1e6)
