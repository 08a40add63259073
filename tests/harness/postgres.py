"""A private PostgreSQL server for tests, benchmarks and the demo.

It is PostgreSQL's own program on a throw-away cluster: it listens on a free loopback port, keeps
its socket in its own folder, and ends with the process that started it, however that one ends.
"""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import ClassVar, Final, Literal
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from typing_extensions import override

from tests.harness.operating_system import find_postgres_programs
from tests.harness.program import PATIENCE, PAUSE, ProgramFailed, Server

StopMode = Literal["smart", "fast", "immediate"]

STOP_SIGNAL: Final[Mapping[StopMode, signal.Signals]] = MappingProxyType(
    {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
)

AS_SHIPPED: Final[Mapping[str, str]] = MappingProxyType({})
"""The default settings: what a benchmark must measure."""

THROW_AWAY: Final[Mapping[str, str]] = MappingProxyType({"fsync": "off", "full_page_writes": "off"})
"""Settings for speed. Commits survive `kill()`, but not a failure of the machine."""

CLUSTERS: Final = Path(__file__).parents[2] / ".pytest_cache" / "clusters"
"""Where clusters are kept from one run to the next; `make clean` removes them."""
PREDECESSOR_ALIVE: Final = "pre-existing shared memory block"


class PostgresServer(Server):
    """A server that runs inside `with`; its databases are named by SQLAlchemy URLs."""

    NAME: ClassVar[str] = "postgres"

    def __init__(
        self,
        settings: Mapping[str, str] = AS_SHIPPED,
        *,
        disk: Path | None = None,
        environment: Mapping[str, str] = AS_SHIPPED,
    ) -> None:
        """`disk`: the folder in which the data directory is made; `environment`: additional variables of its processes."""
        super().__init__(disk)
        self._settings, self._environment = settings, environment
        self._programs = find_postgres_programs()

    def url(self, database: str = "postgres") -> str:
        """Return the SQLAlchemy URL of a database by name."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    @property
    def has_ended(self) -> bool:
        """Whether the server has ended by itself, as it does if its disk is full while it writes its log of changes."""
        return self.process is not None and self.process.poll() is not None

    def processes(self) -> list[int]:
        """Return the ids of the main process and all that it has started."""
        assert self.process is not None
        main = self.process.pid
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [main, *map(int, children)]

    @override
    def start(self) -> None:
        """Start the server, again after `halt` or `kill` on the same port, and wait for it."""
        deadline = time.monotonic() + PATIENCE
        while not self._started(deadline):
            time.sleep(PAUSE)

    def halt(self, mode: StopMode = "fast") -> None:
        """Stop the server, keep its data; does nothing if it is stopped already."""
        self._end(STOP_SIGNAL[mode])

    @override
    def kill(self) -> None:
        """End only the server's main process without warning, as the kernel does when memory runs out."""
        self._end(signal.SIGKILL)

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start; "immediate" makes the server recover as after a crash."""
        self.halt(mode)
        self.start()

    @override
    def stop(self) -> None:
        self.halt("immediate")  # writes no checkpoint, which nobody would read
        super().stop()

    def create_database(self, template: str | None = None, encoding: str = "UTF8") -> str:
        """Create a database, empty or as a copy of another, and return its URL.

        The template must have no connections.
        """
        name = f"horae_{secrets.token_hex(6)}"
        source = "template0" if template is None else database_name(template)
        self._administer(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING {}").format(
                sql.Identifier(name), sql.Identifier(source), sql.Literal(encoding)
            )
        )
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Drop a database and end the remaining connections to it."""
        self._administer(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(
                sql.Identifier(database_name(url))
            )
        )

    def _administer(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._administration, autocommit=True) as connection:
            connection.execute(statement)

    @property
    def _administration(self) -> str:
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres connect_timeout=10"

    @override
    def _prepare(self) -> None:
        super()._prepare()
        self._create_cluster()

    def _create_cluster(self) -> None:
        """Copy a cluster that was initialized before, which takes a tenth of the time of `initdb`."""
        data, kept = self.folder / "data", _kept_cluster(self._programs)
        if os.access(kept, os.R_OK | os.X_OK):
            _copy(kept, data)
            return
        self._initialize()
        with TemporaryDirectory(dir=kept.parent) as folder, suppress(OSError):
            new = Path(folder) / "data"
            _copy(data, new)
            new.rename(kept)  # fails if another process was faster

    def _initialize(self) -> None:
        options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"]
        if self._run("initdb", *options, "--no-sync").wait(PATIENCE) != 0:
            raise self._failure("could not create its cluster")

    def _started(self, deadline: float) -> bool:
        """Try to start; return False if processes of a killed predecessor, which take a moment to end, still run."""
        already_written = len(self.log)
        try:
            super().start()
        except ProgramFailed:
            if PREDECESSOR_ALIVE not in self.log[already_written:] or time.monotonic() > deadline:
                raise
            return False
        return True

    @override
    def _launch(self) -> subprocess.Popen[bytes]:
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            **self._settings,
        }
        return self._run(
            "postgres", *(part for item in settings.items() for part in ("-c", "=".join(item)))
        )

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(self._programs / program), "-D", str(self.folder / "data"), *arguments]
        return self._workplace.start(command, self._log_file, self._environment)

    @override
    def _is_ready(self) -> bool:
        try:
            psycopg.connect(self._administration).close()
        except psycopg.OperationalError:
            return False
        return True

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self._ended()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self._ended()
            raise self._failure(f"did not end after {how.name}") from None


def _copy(source: Path, target: Path) -> None:
    """Copy a folder with the owners of its files."""
    subprocess.run(["cp", "--archive", source, target], check=True)


def _kept_cluster(programs: Path) -> Path:
    """Return where the cluster is kept that servers of these programs and of this user copy."""
    CLUSTERS.mkdir(parents=True, exist_ok=True)
    return CLUSTERS / f"{os.geteuid()}{programs}".replace("/", "-")


def database_name(url: str) -> str:
    """Return the database that a URL names."""
    return urlsplit(url).path.removeprefix("/")
