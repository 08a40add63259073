"""PgBouncer before a PostgreSQL server: the real program, on a free port, as an ordinary user."""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psycopg
from sqlalchemy import make_url

from tests.harness.operating_system import EndGuard, ProgramMissing, Workplace, free_loopback_port
from tests.harness.postgres import PATIENCE, PAUSE

CONFIGURATION: Final = """
[databases]
* = host=127.0.0.1 port={server_port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
admin_users = postgres
max_client_conn = 500
server_fast_close = 1
"""
USUAL: Final = {"pool_mode": "transaction", "default_pool_size": 3, "server_login_retry": 1}
"""Few sessions of the server are shared by all connections, so that these really change sessions; and a server that was
away is tried again after a second instead of fifteen."""
CONSOLE: Final = "pgbouncer"
"""The database that is PgBouncer's own console."""


class PgBouncer:
    """A pooler that runs inside `with`; it can be killed, frozen, and started again on the same port."""

    def __init__(self, server_port: int, **settings: Any) -> None:
        """`settings`: those of PgBouncer that are not the usual ones here."""
        self._server_port, self._settings = server_port, {**USUAL, **settings}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="horae-pgbouncer-"))
        self._workplace = Workplace.prepare(self._folder)
        self.port = free_loopback_port()
        lines = [CONFIGURATION.format(server_port=self._server_port, port=self.port)]
        lines += [f"{name} = {value}\n" for name, value in self._settings.items()]
        (self._folder / "pgbouncer.ini").write_text("".join(lines))
        try:
            self.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def start(self) -> None:
        """Start the program, and wait until it answers."""
        log = self._folder / "pgbouncer.log"
        self._process = self._workplace.start([_program(), str(self._folder / "pgbouncer.ini")], log)
        self._guard = EndGuard(self._process.pid, self._folder)
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PgBouncer did not start:\n{log.read_text()}")
            time.sleep(PAUSE)

    def kill(self) -> None:
        """End the program without warning, and with it all connections."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            self._guard.dismiss()

    @contextmanager
    def away(self) -> Generator[None]:
        """Kill the program, and start it again at the end of the block."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Stop the program with SIGSTOP, and continue it at the end of the block."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Let PgBouncer hold back all new transactions, as for a restart of the server."""
        self.command("PAUSE")
        try:
            yield
        finally:
            self.command("RESUME")

    def command(self, text: str) -> list[dict[str, Any]]:
        """Run a command on the console, such as RECONNECT or SHOW POOLS, and return its rows."""
        with self._connect(CONSOLE) as connection:
            result = connection.pgconn.exec_(text.encode())  # the console only speaks the simple protocol
            if result.status not in (psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.TUPLES_OK):
                raise RuntimeError(result.error_message.decode())
            names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
            return [
                {name: (result.get_value(row, column) or b"").decode() for column, name in enumerate(names)}
                for row in range(result.ntuples)
            ]

    def url(self, direct: str) -> str:
        """Return the URL that connects through the pooler to the database of this URL."""
        return make_url(direct).set(port=self.port).render_as_string(hide_password=False)

    def _end(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            self._connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def _connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(f"host=127.0.0.1 port={self.port} user=postgres dbname={database}", autocommit=True)


def _program() -> str:
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        raise ProgramMissing("no PgBouncer found: install Debian's package pgbouncer")
    return found
