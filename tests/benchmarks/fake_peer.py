"""A job system in a file, which works, or fails as its variant says: for the tests of the harness."""

import os
import signal
import sys
import time
from pathlib import Path

from benchmarks.peers.protocol import Adapter, Place, Schedules, ran, stamped

FOLDER = Path(os.environ["PEER_FOLDER"])
QUEUE = FOLDER / "queue"
DONE = FOLDER / "done"
PAUSE = 0.005


class FakeAdapter(Adapter):
    def prepare(self) -> None:
        sys.stdout.write("what a peer prints is no answer\n")
        if self.place.variant == "no-start":
            raise RuntimeError("cannot connect")

    def clear(self) -> None:
        QUEUE.write_text("")
        DONE.write_text("")

    def enqueue(self, count: int) -> None:
        if self.place.variant == "hangs":
            time.sleep(60)
        if self.place.variant == "crashes":
            os._exit(3)
        if self.place.variant == "raises":
            raise ValueError("no such queue")
        self._add("-\n" * count)

    def bulk(self, count: int) -> None:
        if self.place.variant == "no-bulk":
            super().bulk(count)
        self._add("-\n" * count)

    def stamp(self, asked_at: int) -> None:
        self._add(f"{asked_at}\n")

    def schedule(self, schedules: Schedules) -> None:
        if self.place.variant == "no-bulk":
            super().schedule(schedules)
        self._add("-\n" * schedules.count)  # they run at once, long before they are due

    def unfinished(self) -> int:
        return len(QUEUE.read_text().split()) - len(DONE.read_text())

    def _add(self, text: str) -> None:
        with QUEUE.open("a") as file:
            file.write(text)


def work() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    variant = Place.from_environment().variant
    (FOLDER / "worker").write_text(str(os.getpid()))
    done = 0
    while variant != "worker-idles":
        if variant == "worker-ends":
            sys.exit(4)
        for line in QUEUE.read_text().split()[done:]:
            if line == "-":
                ran()
            else:
                stamped(int(line))
            done += 1
            with DONE.open("a") as file:
                file.write(".")
        time.sleep(PAUSE)
    signal.pause()


ADAPTER = FakeAdapter
