"""A private Redis server for tests and benchmarks.

It is Redis's own program without persistence: it listens on a free loopback port and on a socket in its own folder, and
ends with the process that started it, however that one ends.
"""

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.harness.operating_system import EndGuard, ProgramMissing, Workplace, free_loopback_port

DEFAULTS: Final[Mapping[str, str]] = MappingProxyType({})
PATIENCE: Final = 30.0
"""Seconds to wait for a start or a stop."""
PAUSE: Final = 0.01
"""Seconds between two checks whether a server has started."""


class RedisFailed(RuntimeError):
    """The server did not start; the message ends with its log."""


class RedisServer:
    """A server that runs inside `with`."""

    def __init__(self, settings: Mapping[str, str] = DEFAULTS) -> None:
        """`settings`: options of its configuration, such as `{"maxmemory": "1mb"}`."""
        program = shutil.which("redis-server")
        if program is None:
            raise ProgramMissing(
                "no Redis server found (looked for redis-server in PATH): install Debian's redis-server"
            )
        self._program, self._settings = program, settings
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: EndGuard | None = None
        self.port = 0
        self.folder = Path()

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="horae-redis-"))
        self.folder.chmod(0o755)
        self._workplace = Workplace.prepare(self.folder)
        self.port = free_loopback_port()
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def log(self) -> str:
        """Return the log of the server so far."""
        path = self.folder / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def socket(self) -> Path:
        """The path of its Unix socket."""
        return self.folder / "redis.sock"

    def url(self, number: int = 0) -> str:
        """Return the URL of one of its databases."""
        return f"redis://127.0.0.1:{self.port}/{number}"

    def start(self) -> None:
        """Start the server, again after `kill` on the same port and without data, and wait for it."""
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
        self._process = self._workplace.start([self._program, *arguments], self.folder / "server.log")
        self._guard = EndGuard(self._process.pid, self.folder)
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RedisFailed(f"the server did not start; its log ends:\n{self.log[-2000:]}")
            time.sleep(PAUSE)

    def kill(self) -> None:
        """End the server without warning, and its data with it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
        if self._guard is not None:
            self._guard.dismiss()
        self._process = self._guard = None

    def stop(self) -> None:
        """Stop the server for good; does nothing if it is stopped already."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Stop the process without closing its connections, as a machine does that hangs."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def command(self, *words: object, number: int = 0, password: str | None = None) -> Any:
        """Execute a command over the socket, in a database of this number, with the password of the settings."""
        path, password = str(self.socket), password or self._settings.get("requirepass")
        once = Retry(NoBackoff(), 0)
        with closing(
            Redis(unix_socket_path=path, db=number, password=password, decode_responses=True, retry=once)
        ) as client:
            execute: Callable[..., Any] = client.execute_command
            return execute(*words)

    def _answers(self) -> bool:
        try:
            return bool(self.command("PING"))
        except RedisError as error:
            return "NOAUTH" in str(error) or "Authentication required" in str(error)
