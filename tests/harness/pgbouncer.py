"""PgBouncer in transaction mode before a PostgreSQL server: the real program, on a free port, as an ordinary user."""

import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psycopg
from sqlalchemy import make_url

from tests.harness.operating_system import EndGuard, ProgramMissing, Workplace, free_loopback_port
from tests.harness.postgres import PATIENCE, PAUSE, PostgresServer

CONFIGURATION: Final = """
[databases]
* = host=127.0.0.1 port={server_port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 500
server_fast_close = 1
"""


class PgBouncer:
    """A pooler that runs inside `with`. Few sessions of the server (`pool_size`) are shared by all connections."""

    def __init__(self, server: PostgresServer, pool_size: int = 3) -> None:
        self._server = server
        self._pool_size = pool_size

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="horae-pgbouncer-"))
        workplace = Workplace.prepare(self._folder)
        self.port = free_loopback_port()
        configuration = self._folder / "pgbouncer.ini"
        configuration.write_text(
            CONFIGURATION.format(server_port=self._server.port, port=self.port, pool_size=self._pool_size)
        )
        log = self._folder / "pgbouncer.log"
        self._process = workplace.start([_program(), str(configuration)], log)
        self._guard = EndGuard(self._process.pid, self._folder)
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PgBouncer did not start:\n{log.read_text()}")
            time.sleep(PAUSE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._guard.dismiss()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, direct: str) -> str:
        """Return the URL that connects through the pooler to the database of this URL."""
        return make_url(direct).set(port=self.port).render_as_string(hide_password=False)

    def _answers(self) -> bool:
        try:
            psycopg.connect(f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres").close()
        except psycopg.OperationalError:
            return False
        return True


def _program() -> str:
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        raise ProgramMissing("no PgBouncer found: install Debian's package pgbouncer")
    return found
