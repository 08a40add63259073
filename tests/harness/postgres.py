"""A private PostgreSQL server for tests, benchmarks and the demo.

It is PostgreSQL's own program on a throw-away cluster: it listens on a free loopback port, keeps
its socket in its own folder, and ends with the process that started it, however that one ends.
"""

import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Literal, Self
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests.harness.operating_system import (
    EndGuard,
    Workplace,
    find_postgres_programs,
    free_loopback_port,
)

StopMode = Literal["smart", "fast", "immediate"]

STOP_SIGNAL: Final[Mapping[StopMode, signal.Signals]] = MappingProxyType(
    {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
)

AS_SHIPPED: Final[Mapping[str, str]] = MappingProxyType({})
"""The default settings: what a benchmark must measure."""

THROW_AWAY: Final[Mapping[str, str]] = MappingProxyType({"fsync": "off", "full_page_writes": "off"})
"""Settings for speed. Commits survive `kill()`, but not a failure of the machine."""

PATIENCE: Final = 60.0
"""Seconds to wait for a start or a stop."""

PAUSE: Final = 0.02
"""Seconds between two checks whether a server has started."""

PREDECESSOR_ALIVE: Final = "pre-existing shared memory block"


class PostgresFailed(RuntimeError):
    """The server did not start or stop; the message ends with its log."""


class PostgresServer:
    """A server that runs inside `with`; its databases are named by SQLAlchemy URLs."""

    def __init__(
        self,
        settings: Mapping[str, str] = AS_SHIPPED,
        *,
        disk: Path | None = None,
        environment: Mapping[str, str] = AS_SHIPPED,
    ) -> None:
        """`disk`: the folder in which the data directory is made; `environment`: additional variables of its processes."""
        self._settings, self._disk, self._environment = settings, disk, environment
        self._programs = find_postgres_programs()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: EndGuard | None = None
        self.port = 0
        self.folder = Path()

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="horae-postgres-", dir=self._disk))
        self._workplace = Workplace.prepare(self.folder)
        self.port = free_loopback_port()
        try:
            self._create_cluster()
            self.start()
        except BaseException:
            self.stop("immediate")
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def log(self) -> str:
        """Return the log of the server so far."""
        path = self.folder / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def url(self, database: str = "postgres") -> str:
        """Return the SQLAlchemy URL of a database by name."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended by itself, as it does if its disk is full while it writes its log of changes."""
        return self._process is not None and self._process.poll() is not None

    def processes(self) -> list[int]:
        """Return the ids of the main process and all that it has started."""
        assert self._process is not None
        main = self._process.pid
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [main, *map(int, children)]

    def start(self) -> None:
        """Start the server again after `halt` or `kill`, on the same port, and wait for it."""
        deadline = time.monotonic() + PATIENCE
        while not self._launch(deadline):
            # The processes of a killed server take a moment to end.
            time.sleep(PAUSE)

    def halt(self, mode: StopMode = "fast") -> None:
        """Stop the server, keep its data."""
        self._end(STOP_SIGNAL[mode])

    def kill(self) -> None:
        """End the server's main process without warning, as the kernel does when memory runs out."""
        self._end(signal.SIGKILL)

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start; "immediate" makes the server recover as after a crash."""
        self.halt(mode)
        self.start()

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server for good and remove its data; does nothing if it is stopped already."""
        self.halt(mode)
        shutil.rmtree(self.folder, ignore_errors=True)

    def create_database(self, template: str | None = None) -> str:
        """Create a database, empty or as a copy of another, and return its URL.

        The template must have no connections.
        """
        name = f"horae_{secrets.token_hex(6)}"
        source = "template1" if template is None else database_name(template)
        self._administer(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(source)))
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Drop a database and end the remaining connections to it."""
        self._administer(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database_name(url))))

    def _administer(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._administration, autocommit=True) as connection:
            connection.execute(statement)

    @property
    def _administration(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres connect_timeout=10"

    def _create_cluster(self) -> None:
        options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]
        if self._run("initdb", *options, "--no-sync").wait(PATIENCE) != 0:
            raise self._failure("initdb failed")

    def _launch(self, deadline: float) -> bool:
        """Try to start; return False if processes of a killed predecessor are still running."""
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            **self._settings,
        }
        arguments = [part for item in settings.items() for part in ("-c", "=".join(item))]
        already_written = len(self.log)
        self._process = self._run("postgres", *arguments)
        self._guard = EndGuard(self._process.pid, self.folder)
        while not self._answers():
            ended = self._process.poll() is not None
            if ended and PREDECESSOR_ALIVE in self.log[already_written:]:
                self._forget()
                return False
            if ended or time.monotonic() > deadline:
                raise self._failure("the server did not start")
            time.sleep(PAUSE)
        return True

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(self._programs / program), "-D", str(self.folder / "data"), *arguments]
        return self._workplace.start(command, self.folder / "server.log", self._environment)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._administration).close()
        except psycopg.OperationalError:
            return False
        return True

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise self._failure(f"the server did not end after {how.name}") from None
        finally:
            self._forget()

    def _forget(self) -> None:
        if self._guard is not None:
            self._guard.dismiss()
        self._process = self._guard = None

    def _failure(self, what: str) -> PostgresFailed:
        return PostgresFailed(f"{what}; its log ends:\n{self.log[-2000:]}")


def database_name(url: str) -> str:
    """Return the database that a URL names."""
    return urlsplit(url).path.removeprefix("/")
