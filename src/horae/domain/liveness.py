"""When a node counts as dead: its process gone, its lock free, or its silence too long. All by the database's clock."""

from dataclasses import dataclass
from typing import Final

from horae.domain.job import NodeId

BEAT: Final = 1.0
LOCK_BEATS: Final = 2
SILENCE: Final = 10.0
"""Seconds: a heartbeat; beats before a free lock is death; silence that is death without a lock."""


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


def cause_of_death(signs: Signs, watched: float) -> str | None:
    """Why the node is dead, or None. `watched`: seconds that the observer has been connected without a break.

    A fresh observer cannot tell a dead node from one that is itself reconnecting after the database restarted, so it
    waits one full limit before it judges by lock or silence.
    """
    if signs.process_gone:
        return "its process is gone"
    if signs.silence is None:
        return "its lock is free" if signs.lock_free else None
    if watched < SILENCE:
        return None
    if signs.lock_free and signs.silence >= LOCK_BEATS * BEAT:
        return f"its lock is free and it has been silent for {signs.silence:.1f} s"
    if signs.silence >= SILENCE:
        return f"it has been silent for {signs.silence:.0f} s"
    return None
