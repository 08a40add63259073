"""Clocks that a test steps: of a PostgreSQL server, and of the processes that use Horae.

On SQLite the clock of the database is the clock of the process that runs the statement.
"""

import struct
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from mmap import PROT_READ, mmap
from pathlib import Path
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Engine, event

from tests.harness.server_faults import administer

FAKETIME: Final = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
"""A library that changes the clock of the processes that load it; of Debian's package libfaketime."""
CONTROL_VARIABLE: Final = "TEST_CONTROL"
"""Names the file by which a test controls a process, as `ProcessControl` writes it."""

LAYOUT: Final = struct.Struct("d?")
SHIM: Final = """
    CREATE SCHEMA stepped_clock;
    CREATE TABLE stepped_clock.step (seconds double precision NOT NULL);
    INSERT INTO stepped_clock.step VALUES (0);
    CREATE FUNCTION stepped_clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS $$
        SELECT pg_catalog.statement_timestamp() + make_interval(secs => (SELECT seconds FROM stepped_clock.step))
    $$
"""


class ServerClock(Protocol):
    """The clock of a server."""

    def step(self, seconds: float) -> None:
        """Set the clock to this many seconds after the right time, or before it if negative."""
        ...


class LibraryClock:
    """The clock of a server whose processes load libfaketime."""

    def __init__(self, folder: Path) -> None:
        """`folder`: one that the user of the server can read."""
        self._file = folder / "server-clock"
        self.step(0.0)
        self.environment: Mapping[str, str] = {
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def step(self, seconds: float) -> None:
        """Set the clock, for all processes of the server."""
        with tempfile.NamedTemporaryFile("w", dir=self._file.parent, delete=False) as new:
            new.write(f"{seconds:+f}\n")
        Path(new.name).chmod(0o644)
        Path(new.name).replace(self._file)


class SchemaClock:
    """The clock that sessions of one database see: a function in front of PostgreSQL's own."""

    def __init__(self, url: str) -> None:
        """Prepare the database, for sessions that begin from now on."""
        self._url = url
        with administer(url) as connection:
            connection.execute(SHIM.encode())
            name = connection.info.dbname
            path = "stepped_clock, pg_catalog, public"
            connection.execute(f'ALTER DATABASE "{name}" SET search_path = {path}'.encode())

    def step(self, seconds: float) -> None:
        """Set the clock, for all sessions from their next statement on."""
        with administer(self._url) as connection:
            connection.execute("UPDATE stepped_clock.step SET seconds = %s", [seconds])


@contextmanager
def server_clock_stepped(clock: ServerClock, seconds: float) -> Generator[None]:
    """Step the clock of a server, and set it right at the end of the block."""
    clock.step(seconds)
    try:
        yield
    finally:
        clock.step(0.0)


class ProcessControl:
    """A file by which a test steps the clock of processes and lets SQLite refuse their writes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set()

    def set(self, *, clock_step: float = 0.0, refuse_writes: bool = False) -> None:
        """Set both, for all processes that obey this file; in place, since they have it mapped."""
        with self.file.open("r+b" if self.file.exists() else "w+b") as file:
            file.write(LAYOUT.pack(clock_step, refuse_writes))

    @contextmanager
    def during(self, *, clock_step: float = 0.0, refuse_writes: bool = False) -> Generator[None]:
        """Set both for the time of a block."""
        self.set(clock_step=clock_step, refuse_writes=refuse_writes)
        try:
            yield
        finally:
            self.set()


@contextmanager
def obeying(file: Path) -> Generator[None]:
    """Let a file of `ProcessControl` decide about this process during the block."""
    with file.open("rb") as opened:
        memory = mmap(opened.fileno(), LAYOUT.size, prot=PROT_READ)
    refuse = _refuser(memory)
    right, right_ns = time.time, time.time_ns
    time.time = lambda: right() + LAYOUT.unpack(memory[:])[0]
    time.time_ns = lambda: right_ns() + int(LAYOUT.unpack(memory[:])[0] * 1e9)
    event.listen(Engine, "before_cursor_execute", refuse)
    try:
        yield
    finally:
        time.time, time.time_ns = right, right_ns
        event.remove(Engine, "before_cursor_execute", refuse)


def obey(file: Path) -> None:
    """Let a file of `ProcessControl` decide about this process for good."""
    _FOR_GOOD.enter_context(obeying(file))


def _refuser(memory: mmap) -> Callable[..., None]:
    """Return a listener that switches writes of SQLite connections off and on, before each statement."""

    def refuse(connection: Connection, cursor: Any, *_: object) -> None:
        if connection.dialect.name == "sqlite":
            cursor.execute(f"PRAGMA query_only = {int(LAYOUT.unpack(memory[:])[1])}")

    return refuse


_FOR_GOOD: Final = ExitStack()
