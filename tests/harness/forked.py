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
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from tests.harness.networks import network_of_this_thread

ROOT: Final = Path(__file__).parents[2]
LARGEST_ANSWER: Final = 64
"""Bytes of what the fork server sends on the socket for requests."""
PROGRAMS: Final = Path(__file__).with_name("programs")
"""The folder with a command `horae` that the fork server runs, for shells: see `shell`."""
WAIT: Final = 1.0
"""Seconds between two looks whether another thread has read the exit code."""
_one_at_a_time = threading.Lock()


class ForkedProcess:
    """A process that runs a module. Its standard streams are pipes if they were asked for with `subprocess.PIPE`."""

    def __init__(  # noqa: PLR0913 - the options of a process
        self,
        module: str,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path = ROOT,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[bytes] | IO[str] = subprocess.DEVNULL,
        stderr: int | IO[bytes] | IO[str] = subprocess.DEVNULL,
        imported: tuple[str, ...] = (),
        new_session: bool = False,
        network: str = "",
        host_name: str = "",
    ) -> None:
        """`imported`: modules that the fork server has imported besides those of Horae. `network`: the file of one, if it is
        not that of this thread; `host_name`: the name of another host.
        """
        self.args = [sys.executable, "-m", module, *arguments]
        self.stdin: IO[bytes] | None = None
        self.returncode: int | None = None
        request = json.dumps(
            {
                "module": module,
                "arguments": [*arguments],
                "folder": str(folder),
                "environment": {**environment},
                "new_session": new_session,
                "network": network or network_of_this_thread(),
                "host_name": host_name,
            }
        )
        self._reading = threading.Lock()
        self._report, report = os.pipe()
        self.stdout, its_stdout = _output(stdout)
        self.stderr, its_stderr = _output(stderr)
        given = [self._input(stdin), its_stdout, its_stderr, report]
        with _one_at_a_time:
            socket.send_fds(_server(imported), [request.encode()], given)
        for descriptor in given:
            os.close(descriptor)
        self.pid = int(self._next_line())

    def _input(self, wanted: int) -> int:
        if wanted != subprocess.PIPE:
            return os.open(os.devnull, os.O_RDONLY)
        reading, writing = os.pipe()
        self.stdin = os.fdopen(writing, "wb", buffering=0)
        return reading

    def poll(self) -> int | None:
        """Return the exit code; None while the process runs."""
        with self._reading:
            if self.returncode is None and select.select([self._report], [], [], 0)[0]:
                self.returncode = int(self._next_line() or -signal.SIGKILL)
                os.close(self._report)
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended, and return its exit code; raises `subprocess.TimeoutExpired`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = WAIT if deadline is None else min(WAIT, deadline - time.monotonic())
            if left <= 0:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            with suppress(OSError):  # another thread has read the exit code
                select.select([self._report], [], [], left)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Close its input, wait for it, and return what it has printed and logged, each of which must fit into a pipe."""
        if self.stdin is not None:
            self.stdin.close()
        self.wait(timeout)
        return _rest_of(self.stdout), _rest_of(self.stderr)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with suppress(
                ProcessLookupError
            ):  # the server has noticed it, and its report is on the way
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


def _output(wanted: int | IO[bytes] | IO[str]) -> tuple[IO[str] | None, int]:
    """Return the end of a new pipe to read from, if one is wanted, and the descriptor that the process gets."""
    if wanted == subprocess.DEVNULL:
        return None, os.open(os.devnull, os.O_WRONLY)
    if wanted != subprocess.PIPE:
        return None, os.dup(wanted if isinstance(wanted, int) else wanted.fileno())
    reading, writing = os.pipe()
    return os.fdopen(reading, "r"), writing


def _rest_of(stream: IO[str] | None) -> str:
    """Read a pipe to its end, and close it."""
    if stream is None or stream.closed:
        return ""
    with stream:
        return stream.read()


def shell(script: str, folder: Path, environment: Mapping[str, str], within: float) -> str:
    """Run a script in a shell whose command `horae` is forked, and return its output; raises an error if it fails."""
    with _one_at_a_time:
        server = _server(()).fileno()
    programs = os.pathsep.join(
        [str(PROGRAMS), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, **environment, "PATH": programs, "TEST_FORK_SERVER": str(server)},
        pass_fds=[server],
        timeout=within,
    ).stdout


def start_fork_server() -> None:
    """Start the fork server and wait until it is ready: outside of a test, whose time limit would count its imports."""
    with _one_at_a_time:
        _server(())


@functools.cache
def _server(imported: tuple[str, ...]) -> socket.socket:
    """Start the fork server, which ends with this process, and wait until it is ready."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.harness.fork_server", *imported],
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
