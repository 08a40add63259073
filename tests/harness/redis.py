"""A private Redis server for tests and benchmarks.

It is Redis's own program without persistence: it listens on a free loopback port and on a socket in its own folder, and
ends with the process that started it, however that one ends.
"""

import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry
from typing_extensions import override

from tests.harness.operating_system import ProgramMissing
from tests.harness.program import Server

DEFAULTS: Final[Mapping[str, str]] = MappingProxyType({})


class RedisServer(Server):
    """A server that runs inside `with`; after `kill` and `start` it has its port again, and no data."""

    NAME: ClassVar[str] = "redis"

    def __init__(self, settings: Mapping[str, str] = DEFAULTS) -> None:
        """`settings`: options of its configuration, such as `{"maxmemory": "1mb"}`."""
        program = shutil.which("redis-server")
        if program is None:
            raise ProgramMissing(
                "no Redis server found (looked for redis-server in PATH): install Debian's redis-server, as `make system` does"
            )
        super().__init__()
        self._program, self._settings = program, settings

    @property
    def socket(self) -> Path:
        """The path of its Unix socket."""
        return self.folder / "redis.sock"

    def url(self, number: int = 0) -> str:
        """Return the URL of one of its databases."""
        return f"redis://127.0.0.1:{self.port}/{number}"

    def command(self, *words: object, number: int = 0, password: str | None = None) -> Any:
        """Execute a command over the socket, in a database of this number, with the password of the settings."""
        path, password = str(self.socket), password or self._settings.get("requirepass")
        once = Retry(NoBackoff(), 0)
        with closing(
            Redis(
                unix_socket_path=path,
                db=number,
                password=password,
                decode_responses=True,
                retry=once,
            )
        ) as client:
            execute: Callable[..., Any] = client.execute_command
            return execute(*words)

    @override
    def _prepare(self) -> None:
        super()._prepare()
        self.folder.chmod(0o755)  # so that any user reaches the socket

    @override
    def _launch(self) -> subprocess.Popen[bytes]:
        settings = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "unixsocket": str(self.socket),
            "unixsocketperm": "777",
            "dir": str(self.folder),
            "save": "",
            "appendonly": "no",
            **self._settings,
        }
        arguments = [part for name, value in settings.items() for part in (f"--{name}", value)]
        return self._workplace.start([self._program, *arguments], self._log_file)

    @override
    def _is_ready(self) -> bool:
        try:
            return bool(self.command("PING"))
        except RedisError as error:
            return "NOAUTH" in str(error) or "Authentication required" in str(error)
