"""A node that `horae run` serves in a process of its own, for `benchmarks.served`."""

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from benchmarks.ground import Ground
from tests.harness.operating_system import free_loopback_port

TOKEN = "of-the-benchmarks-alone"
WITHIN = 60.0
"""Seconds after which a measurement has failed."""


class Served:
    """The process, and what its bodies have printed."""

    def __init__(self, process: "subprocess.Popen[str]", port: int) -> None:
        self.process, self.address = process, ("127.0.0.1", port)
        self._printed: dict[str, queue.SimpleQueue[int]] = {
            name: queue.SimpleQueue() for name in ("begun", "stopped", "reported")
        }
        self.ready = threading.Event()
        assert process.stdout is not None
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def value_of(self, name: str) -> int:
        """Wait for the next line with this name, and return its number."""
        return self._printed[name].get(timeout=WITHIN)

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            name, _, value = line.strip().partition(" ")
            if name in self._printed:
                self._printed[name].put(int(value or 0))
            else:
                self.ready.set()  # any other line is that of `horae run`, which is ready
        self.process.wait()
        self.ready.set()


@contextmanager
def serving(ground: Ground, *options: str, concurrency: int = 10) -> Iterator[Served]:
    """Run a node until the block ends; `options` are those of `horae run`."""
    port = free_loopback_port()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "horae", "run", "benchmarks.served:horae"),
            *("--port", str(port), "--concurrency", str(concurrency), *options),
        ],
        env={
            **os.environ,
            "MEASURED_URL": ground.url,
            "HORAE_TOKENS": f"bench:staff:{TOKEN}",
        },
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        served = Served(process, port)
        if not served.ready.wait(WITHIN) or process.poll() is not None:
            raise RuntimeError(f"the node has ended, or was not ready within {WITHIN:g} s")
        yield served
    finally:
        process.terminate()
        process.wait()
