"""The time at which a node looks for jobs next, the earliest of several."""

import math
from collections.abc import Iterable
from typing import Final, NamedTuple


class NextLook(NamedTuple):
    """The time of the next look for jobs, by the monotonic clock, and its reason."""

    at: float
    why: str


AT_ONCE: Final = NextLook(-math.inf, "there may be more jobs than were claimed")
HINTED: Final = NextLook(-math.inf, "there may be new jobs")
NEVER: Final = NextLook(math.inf, "nothing is known of further jobs")


def first_of(looks: Iterable[NextLook]) -> NextLook:
    """Return the look that comes first; `NEVER` without any."""
    return min(looks, key=lambda look: look.at, default=NEVER)


def next_to_wait_for(looks: Iterable[NextLook], now: float, *, has_room: bool) -> NextLook:
    """Return the look until which a node waits.

    Without room, only looks to come count: a node that waited for one whose time has passed would
    not wait at all, and it is woken as soon as there is room.
    """
    return first_of(look for look in looks if has_room or look.at > now)
