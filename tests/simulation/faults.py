"""The faults: what can go wrong, when it does, and how it acts on the statements of a process."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from math import log
from random import Random
from typing import Any, Final

from tests.simulation import world
from tests.simulation.threads import Waiters
from tests.simulation.world import Process, ProcessDied

NORMAL_CALL: Final = 0.0015
"""Seconds that a call of the database takes on average."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a plan.

    `at`: virtual seconds since the begin; `node`: which of the nodes (a place that may have several incarnations), -1
    for all; `skip`: how many statements or commits it lets pass from then on; `phase`: before or after that one;
    `seconds`: how long it lasts.
    """

    kind: str
    at: float
    node: int = -1
    skip: int = 0
    phase: str = "after"
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return the fault as one line."""
        return f"{self.kind} at {self.at:.3f} node {self.node} skip {self.skip} {self.phase} for {self.seconds:.3f} s"


@dataclass(slots=True)
class Trap:
    """A fault that waits for a statement (`statement`), for one that commits by itself, as claims do (`autocommit`), for
    a commit (`commit`) or for the end of a body (`end`).
    """

    on: str
    left: int
    phase: str
    act: Callable[[], None]
    late: float | None = None
    """After how many seconds a refused statement takes effect all the same."""


class Unreachable(sqlite3.OperationalError):
    """What a call raises that gets no answer."""


class Gate:
    """What stands between the statements of one process and the database."""

    def __init__(self, process: Process) -> None:
        self.process, self._world = process, process.world
        self.connections: list[Any] = []
        self.traps: list[Trap] = []
        self.cut_until = 0.0
        """The database cannot be reached until then."""
        self.cut_fails = False
        """Whether calls fail at once while it cannot be reached, instead of waiting for an answer."""
        self.slow_until, self.slowness = 0.0, 0.0
        self._waiting = Waiters()
        self._hung_up = 0
        self._latency = Random(f"{process.world.seed} {process.name} latency").random
        process.released_by_kill.append(self._close)

    @staticmethod
    def of(process: Process) -> "Gate":
        """Return the gate of a process."""
        if process.gate is None:
            process.gate = Gate(process)
        gate: Gate = process.gate
        return gate

    def _close(self) -> None:
        for connection in self.connections:
            connection.end()
        self.connections.clear()

    def before(self, name: str, *, within: bool, again: Callable[[], None] | None = None) -> None:
        """Act before a statement: take time, and let the faults act that wait for it."""
        here = self._world
        if self.process.dead or here.ended:
            raise ProcessDied
        if not within:
            self._take_time()
        if here.now < self.cut_until:
            self._reach(name)
        if self.traps:
            self._spring("statement", "before", again)
            if again is not None:
                self._spring("autocommit", "before", again)
        here.note(name)

    def after(self, *, within: bool) -> None:
        """Act after a statement that is no commit."""
        if self.traps:
            self._spring("statement", "after")
        if not within:
            self._take_time()

    def before_commit(self) -> None:
        """Act before a commit."""
        self._reach("COMMIT")
        self._spring("commit", "before")
        self.process.world.note("COMMIT")
        if self.process.world.now < self.slow_until:
            self._take_time()

    def after_commit(self) -> None:
        """Act after a commit, or after a statement that commits by itself."""
        self._spring("commit", "after")
        self._spring("statement", "after")
        self._take_time()
        self._reach("the answer")

    def body_ended(self) -> None:
        """Act when a body has ended and its result is not written yet."""
        self._spring("end", "after")

    def cut(self, seconds: float, *, fails: bool) -> None:
        """Make the database unreachable for a while; what the process has open there is rolled back.

        With `fails` calls fail at once, and the session locks end with the connections.
        """
        here = self.process.world
        locks = here.surroundings.session_locks
        for key in [key for key, holder in locks.items() if fails and holder is self.process]:
            del locks[key]
        # A short cut does not end a longer one.
        self.cut_until, self.cut_fails = max(self.cut_until, here.now + seconds), fails
        for connection in list(self.connections):
            connection.lose()
        here.at(self.cut_until, self._waiting.wake)

    def hang_up(self) -> None:
        """Make the calls fail that wait for an answer."""
        self._hung_up += 1
        self._waiting.wake()

    def _reach(self, name: str) -> None:
        here = self.process.world
        if here.now >= self.cut_until:
            return
        hung_up = self._hung_up
        if not self.cut_fails:
            self._waiting.wait(
                lambda: here.now >= self.cut_until or self._hung_up != hung_up, ANSWER_DEADLINE
            )
            if here.now >= self.cut_until and name not in {"the answer", "COMMIT"}:
                return
        else:
            here.wait(NORMAL_CALL)
        raise Unreachable("the database does not answer")

    def _take_time(self) -> None:
        here = self._world
        share = -log(1.0 - self._latency())  # a random number with an exponential distribution
        here.wait(share * (self.slowness if here.now < self.slow_until else NORMAL_CALL) + 1e-5)

    def _spring(self, on: str, phase: str, again: Callable[[], None] | None = None) -> None:
        for trap in [trap for trap in self.traps if trap.on == on and trap.phase == phase]:
            if trap.left > 0:
                trap.left -= 1
                continue
            self.traps.remove(trap)
            here = world.current()
            if trap.late is not None and again is not None:
                here.at(here.now + trap.late, again)
            trap.act()


ANSWER_DEADLINE: Final = 60.0
"""Seconds after which a call that gets no answer fails in any case."""


def unanswered() -> None:
    """Fail a call although it has taken effect, or before it could."""
    world.current().note("no answer")
    raise Unreachable("the answer was lost")
