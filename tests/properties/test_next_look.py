"""When a node looks for jobs next: nothing is looked for too late, and a node never waits for what is over."""

import math

from hypothesis import given
from hypothesis import strategies as st

from horae.runtime.claims.next_look import AT_ONCE, NEVER, NextLook, first_of, next_to_wait_for

MOMENTS = st.floats(0, 100)
LOOKS = st.lists(
    st.builds(NextLook, MOMENTS | st.sampled_from([-math.inf, math.inf]), st.just("a reason")),
    max_size=8,
)
POLL = 5.0


@given(looks=LOOKS)
def test_the_earliest_comes_first(looks: list[NextLook]) -> None:
    first = first_of(looks)
    assert first in (looks or [NEVER])
    assert all(first.at <= look.at for look in looks)


@given(looks=LOOKS, now=MOMENTS)
def test_a_node_with_room_waits_for_the_earliest(looks: list[NextLook], now: float) -> None:
    assert next_to_wait_for(looks, now, has_room=True) == first_of(looks)


@given(looks=LOOKS, now=MOMENTS)
def test_a_node_without_room_waits_for_what_is_still_to_come(
    looks: list[NextLook], now: float
) -> None:
    look = next_to_wait_for(looks, now, has_room=False)
    assert look.at > now
    assert all(look.at <= other.at for other in looks if other.at > now)


@given(
    answers=st.lists(LOOKS.map(first_of), max_size=6),
    freed=st.lists(MOMENTS, max_size=6).map(sorted),
)
def test_a_full_node_neither_spins_nor_misses_a_look(
    answers: list[NextLook], freed: list[float]
) -> None:
    """A node as the worker is: it claims when a look is due and it has room, else it waits.

    Each claim takes the only slot until the next body ends; `answers`: what claims know of the rest.
    """
    now, end, look, has_room, rounds = 0.0, 200.0, AT_ONCE, True, 0
    while now < end:
        rounds += 1
        assert rounds <= 2 * (end / POLL + len(answers) + len(freed) + 1), "it spins"
        if has_room and look.at <= now:
            has_room, look = False, answers.pop(0) if answers else NEVER
            continue
        until = next_to_wait_for([look, NextLook(now + POLL, "poll")], now, has_room=has_room)
        assert now < until.at <= now + POLL
        assert not now < look.at < until.at, "it would claim too late"
        if not has_room and freed and freed[0] < until.at:
            now, has_room = max(now, freed.pop(0)), True
        else:
            now, look = until.at, until._replace(at=-math.inf)
