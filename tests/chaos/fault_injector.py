"""Nodes as real processes, and faults for them: kill -9, a long stop, an orderly restart, a wrong clock, a bad database."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Final

from horae.domain.cluster.liveness import LivenessLimits
from tests.harness.body_log import LOG_VARIABLE
from tests.harness.forked import ForkedProcess
from tests.harness.node_process import SILENCE_VARIABLE

DatabaseFaults = Mapping[str, Callable[[], AbstractContextManager[None]]]
"""Faults of a database by name, each of which lasts as long as a block."""
NO_FAULTS: Final[DatabaseFaults] = MappingProxyType({})

CLOCK_OFFSETS: Final = (0.0, 7200.0, -7200.0)
"""Seconds by which the clocks of the nodes are wrong, in turn."""
SILENCE: Final = LivenessLimits().silence
"""Seconds after which a node counts as dead, unless they are shortened."""
STOPS: Final = (0.03, 0.1, 0.3, 1.2)
"""How long nodes are stopped, as multiples of that silence: the longest until others consider them dead."""
ARGUMENTS: Final = (
    "run",
    "tests.chaos.app:horae",
    "--log-level",
    "error",
    "--grace",
    "2s",
    "--no-api",  # all nodes would want the same port
)


@dataclass
class FaultInjector:
    """Some nodes on one database, which suffer faults that a seed selects."""

    url: str
    body_log: Path
    random: Random
    nodes: int
    skewed: bool
    of_database: DatabaseFaults = field(default_factory=lambda: NO_FAULTS)
    injected: Counter[str] = field(default_factory=Counter[str])
    silence: float = SILENCE

    def __post_init__(self) -> None:
        self.processes = [self.start(index) for index in range(self.nodes)]

    def start(self, index: int) -> ForkedProcess:
        """Start a node; with `skewed` clocks each has another time."""
        offset = CLOCK_OFFSETS[index % len(CLOCK_OFFSETS)] if self.skewed else 0.0
        environment = {
            **os.environ,
            "HORAE_DATABASE": self.url,
            "CHAOS_CLOCK_OFFSET": str(offset),
            LOG_VARIABLE: str(self.body_log),
            SILENCE_VARIABLE: str(self.silence),
        }
        return ForkedProcess("horae", ARGUMENTS, environment=environment)

    def inject_for(self, seconds: float) -> None:
        """Inject one fault after another for so many seconds."""
        faults: list[Callable[[int], None]] = [
            self.kill,
            self.kill,
            self.stop_for_a_while,
            self.restart,
        ]
        faults += [self.disturb_database] * 2 if self.of_database else []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(min(self.random.uniform(0.5, 3.0), max(until - time.monotonic(), 0.0)))
            self.random.choice(faults)(self.random.randrange(self.nodes))
            self.restart_ended()

    def restart_ended(self) -> None:
        """Start the nodes again that ended because they started while the database was away, as a supervisor would."""
        for index, process in enumerate(self.processes):
            if process.poll() is not None:
                self.injected["ended by itself"] += 1
                self.processes[index] = self.start(index)

    def kill(self, index: int) -> None:
        """Kill a node with SIGKILL and replace it."""
        self.injected["kill -9"] += 1
        self.processes[index].kill()
        self.processes[index].wait()
        self.processes[index] = self.start(index)

    def stop_for_a_while(self, index: int) -> None:
        """Stop a node with SIGSTOP, sometimes until others consider it dead, and continue it."""
        self.injected["SIGSTOP"] += 1
        self.processes[index].send_signal(signal.SIGSTOP)
        time.sleep(self.silence * self.random.choice(STOPS))
        self.processes[index].send_signal(signal.SIGCONT)

    def disturb_database(self, _index: int) -> None:
        """Cause a fault of the database for a while."""
        name = self.random.choice(sorted(self.of_database))
        self.injected[name] += 1
        with self.of_database[name]():
            time.sleep(self.random.choice([0.3, 1.0, 3.0]))

    def restart(self, index: int) -> None:
        """End a node in order and replace it."""
        self.injected["restart"] += 1
        self.processes[index].terminate()
        self.processes[index].wait()
        self.processes[index] = self.start(index)

    def stop_all(self) -> None:
        """End all nodes in order."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
