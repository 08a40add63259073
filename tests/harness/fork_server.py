"""Forks processes that run a module, as `python -m` would, from one process that has imported Horae already.

Importing Horae takes a node about a second of processor time, and a run of the suite starts hundreds of nodes.

`python -m tests.harness.fork_server [MODULE …]` imports these modules as well. It reads requests from the socket that is its
standard input; `forked.py` sends them. It kills what it has started when the socket is closed, as it is when the process of
the tests ends, however that one ends.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from typing import Final

from tests.harness.environment import replace_environment
from tests.harness.networks import enter

PRELOADED: Final = (
    "aiosqlite",
    "psycopg",
    "psycopg_binary",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "sqlalchemy.ext.asyncio",
    "alembic.command",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "horae.adapters",
    "horae.api.application",
    "horae.api.serving.server",
    "horae.app",
    "horae.cli.commands.run",
    "horae.cli.main",
    "horae.runtime.node.node",
    "tests.harness.fault_application",
    "tests.harness.node_process",
)
"""What a node imports."""
LARGEST_REQUEST: Final = 1 << 18
"""Bytes; a request holds all variables of the environment."""
READY: Final = b"ready"
"""What the server sends once it has imported everything."""
STANDARD: Final = 3
"""Descriptors of a process: its input, output and error output."""


@dataclass(frozen=True, slots=True)
class Request:
    """A process to be started, as `subprocess.Popen` would be called."""

    module: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    new_session: bool
    network: str
    host_name: str

    def apply(self) -> None:
        """Make this process look like one that `python -m` has started."""
        if self.new_session:
            os.setsid()
        enter(self.network, self.host_name)
        os.chdir(self.folder)
        replace_environment(self.environment)
        tempfile.tempdir = None  # what it was with the environment of the server
        imported_from = filter(None, self.environment.get("PYTHONPATH", "").split(os.pathsep))
        sys.path[0] = self.folder
        sys.path[1:1] = [each for each in imported_from if each not in sys.path]
        sys.argv[1:] = self.arguments
        # Those of the server know what they could do with other descriptors, such as seek.
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)

    def run(self) -> None:
        """Run the module; it sees itself as `__main__`."""
        runpy.run_module(self.module, run_name="__main__", alter_sys=True)


@dataclass
class ForkServer:
    """Forks a process for each request, and reports the exit code of each on a descriptor that came with its request."""

    requests: socket.socket
    reports: dict[int, int] = field(default_factory=dict[int, int])
    """The descriptor on which to report, by process."""

    def __post_init__(self) -> None:
        self.wakes, self.woken = socket.socketpair()
        for one in (self.wakes, self.woken):
            one.setblocking(False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the processes of the tests end first
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.woken.fileno())

    def serve(self) -> Request | None:
        """Serve until there is no client; return the request in each forked process, and None in the server."""
        self.requests.send(READY)
        while True:
            ready, _, _ = select.select([self.requests, self.wakes], [], [])
            if self.wakes in ready:
                self.wakes.recv(1024)
                self._report_ended()
            if self.requests in ready:
                message, descriptors, _, _ = socket.recv_fds(
                    self.requests, LARGEST_REQUEST, STANDARD + 1
                )
                if not message:
                    self._kill_all()
                    return None
                request = self._fork(message, descriptors)
                if request is not None:
                    return request

    def _fork(self, message: bytes, descriptors: list[int]) -> Request | None:
        assert threading.active_count() == 1, (
            "a lock of another thread would stay locked in the forked process"
        )
        *standard, report = descriptors
        process = os.fork()
        if process == 0:
            self._leave(standard, report)
            return Request(**json.loads(message))
        for descriptor in standard:
            os.close(descriptor)
        self.reports[process] = report
        os.write(report, f"{process}\n".encode())
        return None

    def _leave(self, standard: list[int], report: int) -> None:
        """In the forked process: release what belongs to the server, and take the descriptors of the request."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for one in (self.requests, self.wakes, self.woken):
            one.close()
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
        for descriptor in {*standard, report, *self.reports.values()}:
            os.close(descriptor)

    def _report_ended(self) -> None:
        for process in list(self.reports):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                report = self.reports.pop(process)
                os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())
                os.close(report)

    def _kill_all(self) -> None:
        for process in self.reports:
            os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    for name in (*PRELOADED, *sys.argv[1:]):
        importlib.import_module(name)
    gc.freeze()  # else the end of each forked process copies the memory of all modules, to examine it
    given = ForkServer(socket.socket(fileno=os.dup(0))).serve()
    if given is not None:
        given.apply()
        given.run()
