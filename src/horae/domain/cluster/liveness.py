"""When a node counts as dead, and when a node must stop its bodies because others will consider it
dead.

A node is dead when its process is gone, when its lock is free, or when it has been silent for too
long, all by the database's clock. A node that cannot reach the database applies the same limits to
itself: by its own clock, counted from the last request that was answered, it stops its bodies
before other nodes may run their jobs again.
"""

from dataclasses import dataclass
from enum import IntEnum

from horae.errors import InvalidRequest
from horae.sentences import Sentence, SentenceCode


@dataclass(frozen=True, slots=True, kw_only=True)
class LivenessLimits:
    """How long signs of life may be missing, in seconds.

    The margins are subtracted where a node applies a limit to itself, so that it acts before the
    others do.
    """

    beat: float = 1.0
    """The time between two heartbeats."""
    lock: float = 2.0
    """Silence after which a node is dead if its lock is free as well."""
    silence: float = 10.0
    """Silence after which a node is dead in any case."""
    last_attempts: float = 60.0
    """Silence after which even jobs without a further attempt are failed; this is not urgent."""
    margin: float = 2.0
    """How much earlier than `silence` a node without contact stops its bodies."""
    lock_margin: float = 0.5
    """How much earlier than `lock` a node whose lock may be free stops its bodies."""
    gap: float = 3.0
    """A longer pause between two answers interrupts a node's contact."""

    def __post_init__(self) -> None:
        """Refuse limits by which a node could stop its bodies for lack of contact without noticing
        that it is back.
        """
        if self.gap >= self.silence - self.margin:
            least = self.silence - self.margin
            raise InvalidRequest(
                f"gap is {self.gap:g} s, expected less than silence without its margin"
                f" ({least:g} s)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """The signs of life of a node, as another node observes them.

    `silence`: seconds since its last heartbeat, None where a file lock shows that it lives;
    `lock_free`, `process_gone`: None where the observer cannot know; `may_end`: it may end without
    unregistering.
    """

    silence: float | None
    lock_free: bool | None
    process_gone: bool | None
    may_end: bool = False


@dataclass(frozen=True, slots=True)
class Death:
    """Why a node is dead.

    If not `certain`, it may only be cut off and still end jobs that must not run twice. If
    `expected`, it has ended, and not died.
    """

    cause: str
    certain: bool = True
    expected: bool = False


def death_of(signs: Signs, watched: float, limits: LivenessLimits) -> Death | None:
    """Return why the node is dead, or None.

    `watched`: seconds of the observer's own uninterrupted contact.

    An observer that has just lost contact itself cannot tell a dead node from one that is coming
    back like itself, so it waits one full limit before it judges by lock or silence.
    """
    if signs.process_gone:
        cause = Sentence("its process is gone", SentenceCode.DEATH_BY_PROCESS)
        return Death(cause, expected=signs.may_end)
    if signs.silence is None:
        if not signs.lock_free:
            return None
        cause = Sentence("its lock is free", SentenceCode.DEATH_BY_LOCK)
        return Death(cause, expected=signs.may_end)
    if watched < limits.silence:
        return None
    certain = signs.silence >= limits.last_attempts
    if signs.lock_free and signs.silence >= limits.lock:
        cause = Sentence(
            f"its lock is free and it has been silent for {signs.silence:.1f} s",
            SentenceCode.DEATH_BY_LOCK_AND_SILENCE,
            seconds=signs.silence,
        )
    elif signs.silence >= limits.silence:
        cause = Sentence(
            f"it has been silent for {signs.silence:.0f} s",
            SentenceCode.DEATH_BY_SILENCE,
            seconds=signs.silence,
        )
    else:
        return None
    return Death(cause, certain, signs.may_end)


class Isolation(IntEnum):
    """Which bodies a node without contact must stop, because others may soon act on their jobs."""

    NONE = 0
    RETRYABLE = 1
    """Bodies of jobs that other nodes may run again."""
    ALL = 2
    """Also bodies of jobs that other nodes may only fail."""


class Contact:
    """A node's contact with its database, known from the answers to its heartbeats.

    Moments are seconds of a clock that never steps and that includes the time a machine sleeps.
    """

    def __init__(self, limits: LivenessLimits, now: float) -> None:
        """`now`: the moment at which the node was registered."""
        self._limits = limits
        self._answered = self._since = now
        self._lost = self._cut = False

    def answer(self, sent: float) -> bool:
        """Record the answer to a request that was sent at `sent`; return whether it ended an
        interruption.

        The moment of sending counts, because the answer may have been delayed.
        """
        ends_break = self._lost or sent - self._answered > self._limits.gap
        if ends_break:
            self._since = sent
        self._answered = max(sent, self._answered)
        self._lost = self._cut = False
        return ends_break

    def lose(self, *, cut: bool) -> None:
        """Record that the connection which holds the lock is lost.

        `cut`: the server did not announce it, as it does to all clients when it stops; so other
        nodes may still be connected and see that the lock is free.
        """
        self._lost = True
        self._cut = self._cut or cut

    def silent_for(self, now: float) -> float:
        """Return the seconds since the last answered request was sent."""
        return now - self._answered

    def watched(self, now: float) -> float:
        """Return the seconds of uninterrupted contact; 0 while there is none."""
        return 0.0 if self._lost or self.silent_for(now) > self._limits.gap else now - self._since

    def overdue(self, now: float) -> bool:
        """Return whether the heartbeat is late, so that another connection should send it."""
        return self._lost or self.silent_for(now) > 1.5 * self._limits.beat

    def isolation(self, now: float) -> Isolation:
        """Return which bodies must be stopped now."""
        silence, limits = self.silent_for(now), self._limits
        if silence >= limits.last_attempts - limits.margin:
            return Isolation.ALL
        cut = self._cut and silence >= limits.lock - limits.lock_margin
        if cut or silence >= limits.silence - limits.margin:
            return Isolation.RETRYABLE
        return Isolation.NONE
