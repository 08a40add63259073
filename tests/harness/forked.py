"""Processes of `python -m` that the fork server starts; they are used as those of `subprocess.Popen`."""

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

ROOT: Final = Path(__file__).parents[2]
LARGEST_ANSWER: Final = 64
"""Bytes of what the fork server sends on the socket for requests."""
_one_at_a_time = threading.Lock()


class ForkedProcess:
    """A process that runs a module. `stdin` and `stdout` are pipes if they were asked for with `subprocess.PIPE`."""

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path = ROOT,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[bytes] | IO[str] = subprocess.DEVNULL,
        stderr: int | IO[bytes] | IO[str] = subprocess.DEVNULL,
    ) -> None:
        self.args = [sys.executable, "-m", module, *arguments]
        self.stdin: IO[bytes] | None = None
        self.stdout: IO[str] | None = None
        self.returncode: int | None = None
        request = json.dumps(
            {
                "module": module,
                "arguments": [*arguments],
                "folder": str(folder),
                "environment": {**environment},
            }
        )
        self._report, report = os.pipe()
        given = [self._input(stdin), self._output(stdout), self._output(stderr), report]
        with _one_at_a_time:
            socket.send_fds(_server(), [request.encode()], given)
        for descriptor in given:
            os.close(descriptor)
        self.pid = int(self._next_line())

    def _input(self, wanted: int) -> int:
        if wanted != subprocess.PIPE:
            return os.open(os.devnull, os.O_RDONLY)
        reading, writing = os.pipe()
        self.stdin = os.fdopen(writing, "wb", buffering=0)
        return reading

    def _output(self, wanted: int | IO[bytes] | IO[str]) -> int:
        if wanted == subprocess.DEVNULL:
            return os.open(os.devnull, os.O_WRONLY)
        if wanted != subprocess.PIPE:
            return os.dup(wanted if isinstance(wanted, int) else wanted.fileno())
        reading, writing = os.pipe()
        self.stdout = os.fdopen(reading, "r")
        return writing

    def poll(self) -> int | None:
        """Return the exit code; None while the process runs."""
        if self.returncode is None and select.select([self._report], [], [], 0)[0]:
            self.returncode = int(self._next_line() or -signal.SIGKILL)
            os.close(self._report)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended, and return its exit code; raises `subprocess.TimeoutExpired`."""
        if self.returncode is None and not select.select([self._report], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        code = self.poll()
        assert code is not None
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """Close its input, wait for it, and return what it has printed, which must fit into a pipe."""
        if self.stdin is not None:
            self.stdin.close()
        self.wait(timeout)
        if self.stdout is None or self.stdout.closed:
            return "", None
        with self.stdout:
            return self.stdout.read(), None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _next_line(self) -> str:
        """Read a line of what the fork server reports; empty if the server has ended."""
        line = b""
        while (character := os.read(self._report, 1)) not in (b"", b"\n"):
            line += character
        return line.decode()


def start_fork_server() -> None:
    """Start the fork server and wait until it is ready: outside of a test, whose time limit would count its imports."""
    with _one_at_a_time:
        _server()


@functools.cache
def _server() -> socket.socket:
    """Start the fork server, which ends with this process, and wait until it is ready."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.harness.fork_server"],
        cwd=ROOT,
        env=environment,
        stdin=its.fileno(),
    )
    its.close()
    atexit.register(_end, ours, server)
    ours.recv(LARGEST_ANSWER)
    return ours


def _end(ours: socket.socket, server: subprocess.Popen[bytes]) -> None:
    ours.close()
    server.wait()
