"""Nodes as real processes, and what befalls them: kill -9, a stop that lasts, an orderly restart, a wrong clock."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

OFFSETS: Final = (0.0, 7200.0, -7200.0)
COMMAND: Final = [
    sys.executable,
    "-m",
    "horae",
    "run",
    "tests.chaos.app:horae",
    "--log-level",
    "error",
    "--grace",
    "2s",
]


@dataclass
class Storm:
    """Some nodes on one database, and the faults that a seed chooses for them."""

    url: str
    random: Random
    nodes: int
    skewed: bool
    done: Counter[str] = field(default_factory=Counter[str])

    def __post_init__(self) -> None:
        self.processes = [self.start(index) for index in range(self.nodes)]

    def start(self, index: int) -> subprocess.Popen[bytes]:
        """A node; each has its own idea of the time, if clocks are to be off."""
        offset = OFFSETS[index % len(OFFSETS)] if self.skewed else 0.0
        environment = {**os.environ, "HORAE_DATABASE": self.url, "CHAOS_CLOCK_OFFSET": str(offset)}
        return subprocess.Popen(COMMAND, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def blow(self, seconds: float) -> None:
        """One fault after another, until the time is over."""
        faults: list[Callable[[int], None]] = [self.kill, self.kill, self.stop_for_a_while, self.restart]
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(min(self.random.uniform(0.5, 3.0), max(until - time.monotonic(), 0.0)))
            self.random.choice(faults)(self.random.randrange(self.nodes))

    def kill(self, index: int) -> None:
        """kill -9, and a new process in its place."""
        self.done["kill -9"] += 1
        self.processes[index].kill()
        self.processes[index].wait()
        self.processes[index] = self.start(index)

    def stop_for_a_while(self, index: int) -> None:
        """SIGSTOP, now and then for so long that others take the node for dead; then SIGCONT."""
        self.done["SIGSTOP"] += 1
        self.processes[index].send_signal(signal.SIGSTOP)
        time.sleep(self.random.choice([0.3, 1.0, 3.0, 12.0]))
        self.processes[index].send_signal(signal.SIGCONT)

    def restart(self, index: int) -> None:
        """An orderly end and a new process."""
        self.done["restart"] += 1
        self.processes[index].terminate()
        self.processes[index].wait()
        self.processes[index] = self.start(index)

    def calm(self) -> None:
        """End all nodes in good order."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
