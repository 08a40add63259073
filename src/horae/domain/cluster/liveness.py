"""When a node counts as dead, and when it must act as if others took it for dead.

A node is dead when its process is gone, when its lock is free, or when it has been silent for too long, all by the
database's clock. A node that cannot reach the database knows these limits too: before others may run its jobs again it
has stopped them, by its own clock, counted from when it sent the last request that was answered.
"""

from dataclasses import dataclass
from enum import IntEnum

from horae.domain.jobs.job import NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long signs of life may be missing, in seconds.

    `beat`: between heartbeats. `lock`: silence that is death where the lock is free as well. `silence`: silence that is
    death without more. `last_attempts`: silence after which even those jobs are given up that nobody may run again;
    there is no hurry to fail them. `margin`, `lock_margin`: how much earlier a node without an answer stops its bodies.
    `gap`: a longer pause between two answers is a break in the node's own contact.
    """

    beat: float = 1.0
    lock: float = 2.0
    silence: float = 10.0
    last_attempts: float = 60.0
    margin: float = 2.0
    lock_margin: float = 0.5
    gap: float = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What an observer sees of another node.

    `silence`: seconds since its last heartbeat, None where life is a file lock; `lock_free`, `process_gone`: None where
    the observer cannot tell.
    """

    node: NodeId
    silence: float | None
    lock_free: bool | None
    process_gone: bool | None


@dataclass(frozen=True, slots=True)
class Death:
    """Why a node is dead. Not `certain`: it may live on, cut off, and end what others may not run again."""

    cause: str
    certain: bool = True


def death_of(signs: Signs, watched: float, limits: Limits) -> Death | None:
    """What speaks for the node's death, or None. `watched`: seconds of the observer's own contact without a break.

    An observer that was out of contact itself cannot tell a dead node from one that is just coming back as well, so it
    waits one full limit before it judges by lock or silence.
    """
    if signs.process_gone:
        return Death("its process is gone")
    if signs.silence is None:
        return Death("its lock is free") if signs.lock_free else None
    if watched < limits.silence:
        return None
    certain = signs.silence >= limits.last_attempts
    if signs.lock_free and signs.silence >= limits.lock:
        return Death(f"its lock is free and it has been silent for {signs.silence:.1f} s", certain)
    if signs.silence >= limits.silence:
        return Death(f"it has been silent for {signs.silence:.0f} s", certain)
    return None


class Isolation(IntEnum):
    """Which bodies a node must stop for want of contact, because others may soon act on their jobs."""

    NONE = 0
    RETRYABLE = 1
    """Those that others may run again."""
    ALL = 2
    """Also those that others may only fail."""


class Contact:
    """A node's own contact with its database, as it is known from the answers to its heartbeats.

    Moments are seconds on a clock that never jumps and goes on while the machine sleeps.
    """

    def __init__(self, limits: Limits, now: float) -> None:
        """`now`: the node has just been registered."""
        self._limits = limits
        self._answered = self._since = now
        self._lost = self._cut = False

    def answer(self, sent: float) -> bool:
        """A request was answered; returns whether that ended a break.

        What counts is when the request was sent, for the answer may have taken its time.
        """
        ends_break = self._lost or sent - self._answered > self._limits.gap
        if ends_break:
            self._since = sent
        self._answered = max(sent, self._answered)
        self._lost = self._cut = False
        return ends_break

    def lose(self, *, cut: bool) -> None:
        """The connection that holds the lock is gone.

        `cut`: the server has not said that it ends it, as it does to all when it stops; so there may be others who are
        still connected, and see that the lock is free.
        """
        self._lost = True
        self._cut = self._cut or cut

    def silent_for(self, now: float) -> float:
        """Seconds since the last request that was answered."""
        return now - self._answered

    def watched(self, now: float) -> float:
        """Seconds of contact without a break; 0 while there is none."""
        return 0.0 if self._lost or self.silent_for(now) > self._limits.gap else now - self._since

    def overdue(self, now: float) -> bool:
        """Whether the heartbeat needs help."""
        return self._lost or self.silent_for(now) > 1.5 * self._limits.beat

    def isolation(self, now: float) -> Isolation:
        """Which bodies must be stopped now."""
        silence, limits = self.silent_for(now), self._limits
        if silence >= limits.last_attempts - limits.margin:
            return Isolation.ALL
        cut = self._cut and silence >= limits.lock - limits.lock_margin
        return Isolation.RETRYABLE if cut or silence >= limits.silence - limits.margin else Isolation.NONE
