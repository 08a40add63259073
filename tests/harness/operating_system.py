"""The operating system's part of a server under test: its programs, a user, a port, and its end."""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

# Below the range that Linux assigns to outgoing connections, so that none can take the port while
# a server restarts.
PORTS: Final = range(15_000, 32_000)

DEBIAN_VERSIONS: Final = Path("/usr/lib/postgresql")

NO_VARIABLES: Final[Mapping[str, str]] = MappingProxyType({})

ON_END_OF_INPUT: Final = 'cat >/dev/null; kill -QUIT "$1" 2>/dev/null; rm -rf "$2"'


class ProgramMissing(RuntimeError):
    """A program that the tests need is not installed."""


def find_postgres_programs() -> Path:
    """Return the folder of the newest PostgreSQL's `initdb` and `postgres`."""
    on_path = shutil.which("initdb")
    if on_path is not None and Path(on_path).resolve().with_name("postgres").exists():
        return Path(on_path).resolve().parent
    versions = [path.parent for path in DEBIAN_VERSIONS.glob("*/bin/postgres")]
    if not versions:
        message = (
            "no PostgreSQL server found (looked for initdb and postgres in PATH and in "
            "/usr/lib/postgresql/*/bin): install Debian's package postgresql"
        )
        raise ProgramMissing(message)
    return max(versions, key=lambda folder: float(folder.parent.name))


def free_loopback_port() -> int:
    """Return a port of 127.0.0.1 on which nothing listens.

    The choice ignores the seeded `random`, or two test runs of one seed would pick the same port.
    """
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


@dataclass(frozen=True, slots=True)
class ServerUser:
    """The ordinary user that runs a server, since PostgreSQL refuses to run as root."""

    name: str
    uid: int
    gid: int

    @classmethod
    def choose(cls) -> Self | None:
        """Return `postgres` or `nobody` for root, None for other users, who can run the server themselves."""
        if os.geteuid() != 0:
            return None
        accounts = {account.pw_name: account for account in pwd.getpwall()}
        account = accounts.get("postgres") or accounts["nobody"]
        return cls(account.pw_name, account.pw_uid, account.pw_gid)


@dataclass(frozen=True, slots=True)
class Workplace:
    """A folder, and the user that owns it and runs programs in it."""

    folder: Path
    user: ServerUser | None

    @classmethod
    def prepare(cls, folder: Path) -> Self:
        """Give the folder to the user that will run the server."""
        user = ServerUser.choose()
        if user is not None:
            os.chown(folder, user.uid, user.gid)
        return cls(folder, user)

    def start(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] = NO_VARIABLES
    ) -> subprocess.Popen[bytes]:
        """Start a program in a new session: an interrupt of the terminal must only reach the tests."""
        with log.open("ab") as output:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env={**environment_without_postgres_settings(os.environ), **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=None if self.user is None else self.user.uid,
                group=None if self.user is None else self.user.gid,
                extra_groups=None if self.user is None else [],
            )


def environment_without_postgres_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables that affect PostgreSQL's programs, such as PGDATA or PGPORT."""
    return {name: value for name, value in environment.items() if not name.startswith("PG")}


class EndGuard:
    """A small process that ends a program, and removes its folder if it has one, when this process has ended.

    It waits for the end of its input, which the system closes even if this process is killed.
    """

    def __init__(self, pid: int, folder: Path | None = None) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", ON_END_OF_INPUT, "end-guard", str(pid), str(folder or "")],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """End the guard: the program was stopped in the usual way."""
        self._process.kill()
        self._process.communicate()
