"""The nodes of the soak: processes of `horae run` that are killed, stopped, continued, ended and replaced."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.soak.application import LOG_VARIABLE
from tests.harness.forked import ROOT, ForkedProcess
from tests.harness.node_processes import wait_until

GRACE: Final = 5.0
"""Seconds that running jobs may go on when a node is ended."""
ENDS_WITHIN: Final = GRACE + 5.0
"""Seconds after which a node that was asked to stop must have ended, as documented."""
READY_WITHIN: Final = 600.0
"""Seconds that a node may take to start: it is no subject here, and other work may keep the machine busy."""
READY: Final = re.compile(r"is ready: .*?(http://[\w.:]+)", re.DOTALL)
POLL: Final = 0.02
"""Seconds between two checks whether a process has ended."""
KILL_AT_END: Final = 'cat >/dev/null; kill -KILL "$1" 2>/dev/null'
"""A shell script that kills a node when this process has ended, however it ended."""


@dataclass(frozen=True, kw_only=True)
class NodeSettings:
    """How the nodes are started."""

    application: str
    folder: Path
    keep: float
    """Seconds for which ended jobs are kept."""
    concurrency: int = 10
    forked: bool = False
    """Whether nodes are forked from a process that has imported Horae, which saves the seconds of a start."""


@dataclass
class EndedInOrder:
    """How a node ended that was asked to: after how many seconds, and with which exit code (None: it was killed).

    Seconds in which it could have run but had no processor, because of other programs, are not counted.
    """

    node: str
    seconds: float
    code: int | None


@dataclass
class Incarnation:
    """One process of a node."""

    name: str
    process: subprocess.Popen[bytes] | ForkedProcess
    log: Path
    guard: subprocess.Popen[bytes]
    _url: str | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def url(self) -> str | None:
        """Return the address of its HTTP API; None before it is ready."""
        if self._url is None:
            found = READY.search(self.log.read_text(errors="replace"))
            self._url = None if found is None else found[1]
        return self._url


@dataclass
class SoakNode:
    """A node by name; a killed or ended process is replaced by another one."""

    name: str
    database_url: str
    settings: NodeSettings
    may_be_killed: bool
    incarnations: list[Incarnation] = field(default_factory=list[Incarnation])

    @property
    def current(self) -> Incarnation:
        return self.incarnations[-1]

    def start(self) -> None:
        """Start the next process."""
        number = len(self.incarnations) + 1
        log = self.settings.folder / f"{self.name}-{number}.log"
        given = self.settings
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "HORAE_DATABASE": self.database_url,
            "HORAE_KEEP": str(given.keep),
            LOG_VARIABLE: str(given.folder / "bodies.log"),
        }
        arguments = ["run", given.application, "--port", "0", "--local-staff"]
        arguments += [
            "--name",
            self.name,
            "--concurrency",
            str(given.concurrency),
            "--grace",
            f"{GRACE:g}s",
        ]
        process: subprocess.Popen[bytes] | ForkedProcess
        with log.open("wb") as output:
            if given.forked:
                process = ForkedProcess(
                    "horae", arguments, environment=environment, stdout=output, stderr=output
                )
            else:
                process = subprocess.Popen(
                    [sys.executable, "-m", "horae", *arguments],
                    cwd=ROOT,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
        guard = subprocess.Popen(
            ["/bin/sh", "-c", KILL_AT_END, "end-guard", str(process.pid)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self.incarnations.append(Incarnation(f"{self.name} {number}", process, log, guard))

    def ready(self) -> None:
        """Wait until the current process claims jobs and answers requests; raises RuntimeError if it has ended."""
        wait_until(lambda: self.current.url is not None or not self.current.alive, READY_WITHIN)
        if self.current.url is None:
            raise RuntimeError(f"{self.current.name} did not start: see {self.current.log}")

    def kill(self) -> None:
        """Send SIGKILL, which also ends a stopped process."""
        self.current.process.kill()
        self.current.process.wait()
        _dismiss(self.current)

    def stop(self) -> None:
        """Send SIGSTOP: the process exists, but does nothing."""
        self.current.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Send SIGCONT."""
        self.current.process.send_signal(signal.SIGCONT)

    def end(self) -> EndedInOrder:
        """Send SIGTERM and wait; kill it if it does not end."""
        process, began = self.current.process, time.monotonic()
        before = latest = waited_for_processor(process.pid)
        process.terminate()
        while process.poll() is None:
            latest = max(latest, waited_for_processor(process.pid))
            if time.monotonic() - began - (latest - before) > 2 * ENDS_WITHIN:
                process.kill()
                process.wait()
                _dismiss(self.current)
                return EndedInOrder(self.current.name, time.monotonic() - began, None)
            time.sleep(POLL)
        _dismiss(self.current)
        return EndedInOrder(
            self.current.name, time.monotonic() - began - (latest - before), process.returncode
        )

    def close(self) -> None:
        """End whatever is left of it."""
        for incarnation in self.incarnations:
            incarnation.process.kill()
            incarnation.process.wait()
            _dismiss(incarnation)


def waited_for_processor(pid: int) -> float:
    """Return for how many seconds the main thread of a process was ready to run and had no processor."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):  # it has ended, or the system does not tell
        return 0.0


def _dismiss(incarnation: Incarnation) -> None:
    incarnation.guard.kill()
    incarnation.guard.communicate()
