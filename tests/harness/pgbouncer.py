"""PgBouncer before a PostgreSQL server: the real program, on a free port, as an ordinary user.

`TEST_PGBOUNCER` names the program, to test another version than the installed one.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, Final

import psycopg
from sqlalchemy import make_url
from typing_extensions import override

from tests.harness.operating_system import ProgramMissing
from tests.harness.program import Server

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
PROGRAM_VARIABLE: Final = "TEST_PGBOUNCER"
TRACKS_SINCE: Final = (1, 22)
"""The first version that keeps track of prepared statements as psycopg uses them."""
TRACKED: Final = 200
"""Prepared statements of which such a version keeps track, for each session; its default since 1.24."""


class PgBouncer(Server):
    """A pooler that runs inside `with`; it can be killed, frozen, and started again on the same port."""

    NAME: ClassVar[str] = "pgbouncer"

    def __init__(self, server_port: int, **settings: Any) -> None:
        """`settings`: those of PgBouncer that are not the usual ones here."""
        super().__init__()
        tracking = {"max_prepared_statements": TRACKED} if tracks_prepared_statements() else {}
        self._server_port, self._settings = server_port, {**USUAL, **tracking, **settings}

    @contextmanager
    def away(self) -> Generator[None]:
        """Kill the program, and start it again at the end of the block."""
        self.kill()
        try:
            yield
        finally:
            self.start()

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
            result = connection.pgconn.exec_(
                text.encode()
            )  # the console only speaks the simple protocol
            if result.status not in (
                psycopg.pq.ExecStatus.COMMAND_OK,
                psycopg.pq.ExecStatus.TUPLES_OK,
            ):
                raise RuntimeError(result.error_message.decode())
            names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
            return [
                {
                    name: (result.get_value(row, column) or b"").decode()
                    for column, name in enumerate(names)
                }
                for row in range(result.ntuples)
            ]

    def url(self, direct: str) -> str:
        """Return the URL that connects through the pooler to the database of this URL."""
        return make_url(direct).set(port=self.port).render_as_string(hide_password=False)

    @override
    def _prepare(self) -> None:
        super()._prepare()
        lines = [CONFIGURATION.format(server_port=self._server_port, port=self.port)]
        lines += [f"{name} = {value}\n" for name, value in self._settings.items()]
        (self.folder / "pgbouncer.ini").write_text("".join(lines))

    @override
    def _launch(self) -> subprocess.Popen[bytes]:
        return self._workplace.start(
            [_program(), str(self.folder / "pgbouncer.ini")], self._log_file
        )

    @override
    def _is_ready(self) -> bool:
        try:
            self._connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def _connect(self, database: str) -> psycopg.Connection:
        return psycopg.connect(
            f"host=127.0.0.1 port={self.port} user=postgres dbname={database}", autocommit=True
        )


@cache
def tracks_prepared_statements() -> bool:
    """Return whether this version of PgBouncer can keep track of prepared statements."""
    output = subprocess.run(
        [_program(), "--version"], capture_output=True, text=True, check=True
    ).stdout
    numbers = re.search(r"(\d+)\.(\d+)", output)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= TRACKS_SINCE


def _program() -> str:
    found = os.environ.get(PROGRAM_VARIABLE)
    found = found or shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        raise ProgramMissing("no PgBouncer found: install Debian's package pgbouncer")
    return found
