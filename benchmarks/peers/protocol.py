"""What an adapter of a job system does, how it is measured, and how the harness is told.

This module needs only the standard library: it runs in the environment of each peer. The harness
writes requests to the adapter's standard input and reads answers from its standard output, one
JSON object a line. All peers are timed by this code, in the same way; an adapter only says how its
job system is called.
"""

import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TextIO

PAUSE = 0.003
"""Seconds between two checks whether all jobs have ended."""
STOP_WITHIN = 5.0
"""Seconds that a worker has to stop; it is killed then, for its jobs have ended."""
NANOSECONDS = 1_000_000_000
"""Nanoseconds in a second."""
MILLISECONDS = 1_000_000
"""Nanoseconds in a millisecond."""
MOMENT = struct.Struct("=q")
"""How a moment is written: one write of eight bytes, which no other process can tear."""
DECLARED = "PEER_SCHEDULES"
"""The variable by which a worker is told which schedules to declare."""
MINUTE = 60.0
"""Seconds between two moments that a cron expression can name."""
LEAD = 20.0
"""Seconds that a worker has at least to start before its schedules are due."""
WARM_UP = 5
"""Samples of the latency that are left out: the worker and the client connect in these."""
IDLE = (0.02, 0.25)
"""Seconds that a worker is idle before it is given a job: at least, and at most."""


class Unsupported(Exception):
    """The job system has no such call."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an adapter works: the servers, a folder of its own, and which form of the peer it is."""

    database: str
    """A URL of PostgreSQL's client library."""
    redis: str
    folder: Path
    variant: str

    @classmethod
    def from_environment(cls) -> "Place":
        """Return what the harness has set for this process and for its worker."""
        return cls(
            os.environ["PEER_DATABASE"],
            os.environ["PEER_REDIS"],
            Path(os.environ["PEER_FOLDER"]),
            os.environ["PEER_VARIANT"],
        )

    def as_environment(self) -> dict[str, str]:
        """Return the variables that `from_environment` reads."""
        return {
            "PEER_DATABASE": self.database,
            "PEER_REDIS": self.redis,
            "PEER_FOLDER": str(self.folder),
            "PEER_VARIANT": self.variant,
        }

    @property
    def schedules(self) -> "Schedules":
        """The schedules that the worker of this place declares, if any."""
        count, _, cron = os.environ.get(DECLARED, "0").partition(" ")
        return Schedules(int(count), cron)

    @property
    def bodies(self) -> Path:
        """The file in which each body writes down when it began."""
        return self.folder / "bodies"

    @property
    def stamps(self) -> Path:
        """The socket to which a body sends how long it was awaited."""
        return self.folder / "stamps"


@dataclass(frozen=True, slots=True)
class Schedules:
    """So many schedules of one cron expression in UTC, each of which calls `ran`."""

    count: int
    cron: str


class Adapter(ABC):
    """How one job system is called, as its own documentation says."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def prepare(self) -> None:  # noqa: B027 - not every system has tables
        """Create tables, and connect."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all jobs; no worker runs."""

    @abstractmethod
    def enqueue(self, count: int) -> None:
        """Enqueue jobs that only call `ran`, one by one: each is durable before the next."""

    def bulk(self, count: int) -> None:
        """Enqueue so many of them by the system's own call for many."""
        raise Unsupported(f"no call enqueues {count:,} jobs at once")

    @abstractmethod
    def stamp(self, asked_at: int) -> None:
        """Enqueue a job that calls `stamped` with this moment."""

    def schedule(self, schedules: Schedules) -> None:
        """Store the schedules, or let the worker declare them: see `declare_in_worker`."""
        raise Unsupported(f"it has no schedules, so not {schedules.count:,} of them")

    @abstractmethod
    def unfinished(self) -> int:
        """Return how many jobs have no stored end yet, or at least one while there are any."""

    def worker(self) -> list[str]:
        """Return the command of one worker process; by default the adapter's module has `work`."""
        return [sys.executable, "-m", "benchmarks.peers.adapter", type(self).__module__, "work"]

    def close(self) -> None:  # noqa: B027 - not every client must be closed
        """Close the connections."""


def declare_in_worker(schedules: Schedules) -> None:
    """Tell the worker, by its environment, which schedules to declare."""
    os.environ[DECLARED] = f"{schedules.count} {schedules.cron}"


# What the bodies call, in the worker.


def ran() -> None:
    """Write down that a body has begun."""
    os.write(_bodies(), MOMENT.pack(time.monotonic_ns()))


def stamped(asked_at: int) -> None:
    """Tell the client how long a body was awaited."""
    waited = time.monotonic_ns() - asked_at
    stamps = str(Place.from_environment().stamps)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(MOMENT.pack(waited), stamps)


@cache
def _bodies() -> int:
    file = Place.from_environment().bodies
    return os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


# What the harness asks for.


def measure_enqueue(adapter: Adapter, count: int, within: float) -> dict[str, Any]:
    """Return the seconds that single, committed calls take."""
    del within
    adapter.clear()
    return {"seconds": _timed(adapter.enqueue, count)}


def measure_bulk(adapter: Adapter, count: int, within: float) -> dict[str, Any]:
    """Return the seconds that the call for many takes."""
    del within
    adapter.clear()
    try:
        return {"seconds": _timed(adapter.bulk, count)}
    except Unsupported as reason:
        return {"unsupported": str(reason)}


def measure_drain(adapter: Adapter, count: int, within: float) -> dict[str, Any]:
    """Return the seconds from the first body to the last stored end, of jobs that were waiting.

    The start of the worker is not counted. The store is asked only when all bodies have begun, so
    that asking does not slow the worker.
    """
    deadline = time.monotonic() + within
    adapter.clear()
    adapter.place.bodies.unlink(missing_ok=True)
    try:
        adapter.bulk(count)
    except Unsupported:
        adapter.enqueue(count)
    with _worker(adapter) as check:
        while _bodies_begun(adapter) < count or adapter.unfinished():
            check(deadline, f"{_bodies_begun(adapter):,} of {count:,} jobs have begun")
            time.sleep(PAUSE)
        ended = time.monotonic_ns()
    moments = _begun(adapter)
    return {"seconds": (ended - min(moments)) / NANOSECONDS, "bodies": len(moments)}


def measure_pick_up(adapter: Adapter, count: int, within: float) -> dict[str, Any]:
    """Return the milliseconds from each call that enqueues a job to the first line of its body."""
    deadline = time.monotonic() + within
    adapter.clear()
    adapter.place.stamps.unlink(missing_ok=True)
    pauses = random.Random(0)
    found: list[float] = []
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver,
        _worker(adapter) as check,
    ):
        receiver.bind(str(adapter.place.stamps))
        receiver.settimeout(1.0)
        while len(found) < count + WARM_UP:
            time.sleep(pauses.uniform(*IDLE))
            adapter.stamp(time.monotonic_ns())
            found.append(_received(receiver, check, deadline) / MILLISECONDS)
    return {"milliseconds": found[WARM_UP:]}


def measure_fires(adapter: Adapter, count: int, within: float) -> dict[str, Any]:
    """Return the milliseconds from the moment at which all schedules are due to each body."""
    adapter.clear()
    adapter.place.bodies.unlink(missing_ok=True)
    due = (int((time.time() + LEAD) / MINUTE) + 1) * MINUTE
    try:
        adapter.schedule(Schedules(count, f"{time.gmtime(due).tm_min} * * * *"))
    except Unsupported as reason:
        return {"unsupported": str(reason)}
    due_at = time.monotonic_ns() + int((due - time.time()) * NANOSECONDS)
    deadline = time.monotonic() + within
    try:
        with _worker(adapter) as check:
            while _bodies_begun(adapter) < count:
                check(deadline, f"{_bodies_begun(adapter):,} of {count:,} schedules have run")
                time.sleep(PAUSE)
    finally:
        os.environ.pop(DECLARED, None)
    return {"milliseconds": [(moment - due_at) / MILLISECONDS for moment in _begun(adapter)]}


VERBS: dict[str, Callable[[Adapter, int, float], dict[str, Any]]] = {
    "enqueue": measure_enqueue,
    "bulk": measure_bulk,
    "drain": measure_drain,
    "pick-up": measure_pick_up,
    "fires": measure_fires,
}


def serve(make: Callable[[Place], Adapter], requests: TextIO, answers: TextIO) -> None:
    """Answer each request until the input ends. The first answer says that the adapter is ready."""
    adapter = make(Place.from_environment())
    adapter.prepare()
    _answer(answers, {"ready": True})
    for line in requests:
        request = json.loads(line)
        try:
            found = VERBS[request["verb"]](adapter, request["count"], request["within"])
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is its result
            found = {"error": f"{type(error).__name__}: {error}"}
        _answer(answers, found)
    adapter.clear()
    adapter.close()


def _answer(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _timed(act: Callable[[int], None], count: int) -> float:
    began = time.perf_counter()
    act(count)
    return time.perf_counter() - began


def _bodies_begun(adapter: Adapter) -> int:
    try:
        return adapter.place.bodies.stat().st_size // MOMENT.size
    except FileNotFoundError:
        return 0


def _begun(adapter: Adapter) -> list[int]:
    return [moment for (moment,) in MOMENT.iter_unpack(adapter.place.bodies.read_bytes())]


def _received(
    receiver: socket.socket, check: Callable[[float, str], None], deadline: float
) -> float:
    while True:
        with suppress(TimeoutError):
            (waited,) = MOMENT.unpack(receiver.recv(MOMENT.size))
            return float(waited)
        check(deadline, "a job was not picked up")


@contextmanager
def _worker(adapter: Adapter) -> Generator[Callable[[float, str], None]]:
    """Run one worker process; what is yielded raises an error if it ended, or after the deadline."""
    process = subprocess.Popen(adapter.worker(), stdin=subprocess.DEVNULL, stdout=sys.stderr)

    def check(deadline: float, state: str) -> None:
        if process.poll() is not None:
            raise ChildProcessError(f"the worker ended with {process.returncode}; {state}")
        if time.monotonic() > deadline:
            raise TimeoutError(f"not done in time; {state}")

    try:
        yield check
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
