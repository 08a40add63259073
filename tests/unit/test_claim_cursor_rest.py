"""A claim that waited for a lock: jobs that were handed back meanwhile are found soon."""

from horae.runtime.claims.claim_cursor import LONGEST_REST, ClaimCursor


def test_the_cursor_returns_to_the_front_soon() -> None:
    cursor = ClaimCursor(slow=0.02, rest=30.0, gain=2.0)
    cursor.move([], beyond=None, began=0.0, ended=30.0)
    assert cursor.rest(30.0) == LONGEST_REST


def test_a_slow_claim_puts_the_next_one_off_in_proportion() -> None:
    cursor = ClaimCursor(slow=0.02, rest=30.0, gain=2.0)
    cursor.move([], beyond=None, began=0.0, ended=0.25)
    assert cursor.rest(0.25) == 7.5
