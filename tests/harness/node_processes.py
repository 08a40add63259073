"""Nodes in separate processes that tests start, kill, stop and continue."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from sqlalchemy import text

from horae.runtime.timing import Pauses
from horae.storage.engine import Database
from tests.harness.body_log import LOG_VARIABLE
from tests.harness.fault_application import GRACE_VARIABLE
from tests.harness.forked import ForkedProcess
from tests.harness.hosts import Host
from tests.harness.node_process import SILENCE_VARIABLE

T = TypeVar("T")

ROOT: Final = Path(__file__).parents[2]
MODULE: Final = "tests.harness.node_process"
BODY_LOG: Final = "bodies.jsonl"
"""The file, in the folder of logs, that the bodies of all nodes log to."""
START_WITHIN: Final = 60.0
"""Seconds, on a busy machine."""
POLL: Final = Pauses(0.005, 0.05)
"""Seconds between two checks of a condition; most conditions query the database."""
OF_PROCESS: Final = text("SELECT id FROM horae_nodes WHERE pid = :pid ORDER BY started_at DESC")


def wait_until(condition: Callable[[], T], within: float = 30.0) -> T:
    """Poll until the condition returns a true value, and return that; raises TimeoutError."""
    deadline, pause = time.monotonic() + within, POLL.shortest
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {within:g} s")
        time.sleep(pause)
        pause = POLL.after(pause)
    return found


class NodeProcess:
    """One node in a process, which is killed at the end of its `with` block."""

    def __init__(
        self,
        database: Database,
        logs: Path,
        *,
        concurrency: int = 4,
        silence: float | None = None,
        grace: float | None = None,
        host: Host | None = None,
    ) -> None:
        """`host`: where it runs, if not here; the server of the database must be reachable from there."""
        self._database = database
        environment = dict(os.environ)
        environment[LOG_VARIABLE] = str(logs / BODY_LOG)
        if silence is not None:
            environment[SILENCE_VARIABLE] = str(silence)
        if grace is not None:
            environment[GRACE_VARIABLE] = str(grace)
        url = database.url.render_as_string(hide_password=False)
        arguments = [url if host is None else host.url(url), str(concurrency)]
        with (logs / "nodes.log").open("ab") as log:
            self.process = ForkedProcess(
                MODULE,
                arguments,
                environment=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                network="" if host is None else host.network,
                host_name="" if host is None else host.name,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()

    @property
    def node(self) -> str | None:
        """Return the id of its newest node row, None before there is one."""

        def newest(connection: object) -> str | None:
            return connection.execute(OF_PROCESS, {"pid": self.process.pid}).scalar()  # type: ignore[attr-defined, no-any-return]

        return self._database.autocommit(newest)

    def ready(self) -> str:
        """Wait until other nodes can see it, and return its id."""
        node = wait_until(lambda: self.node or self.process.poll() is not None, within=START_WITHIN)
        if isinstance(node, bool):
            raise RuntimeError(f"the node ended by itself with {self.process.returncode}")  # noqa: TRY004 - it ended
        return str(node)

    def kill(self) -> None:
        """Send SIGKILL, which also ends a stopped process."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def stop(self) -> None:
        """Send SIGSTOP: the process exists, but does nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Send SIGCONT."""
        self.process.send_signal(signal.SIGCONT)

    def end(self, within: float = 30.0) -> int:
        """Send SIGTERM, wait, and return the exit code."""
        self.process.terminate()
        return self.process.wait(within)
