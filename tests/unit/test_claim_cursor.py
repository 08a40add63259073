"""When a claim reads from the beginning of the index, and when it begins where the last one ended."""

import math

from horae.domain.jobs.job import Claim, JobId
from horae.runtime.claims.claim_cursor import ClaimCursor

SLOW, REST, GAIN = 0.02, 30.0, 2.0


def cursor(rest: float = REST) -> ClaimCursor:
    return ClaimCursor(slow=SLOW, rest=rest, gain=GAIN)


def claim(job_id: int) -> Claim:
    return Claim(
        id=JobId(job_id),
        type="import",
        queue="default",
        priority=0,
        owner=None,
        params=None,
        attempt=1,
        max_attempts=1,
        lease=1,
        backoff=None,
        meta="{}",
    )


def looked(
    frontier: ClaimCursor, *ids: int, took: float, at: float = 100.0, beyond: int | None = None
) -> None:
    last = None if beyond is None else JobId(beyond)
    frontier.move([claim(job_id) for job_id in ids], beyond=last, began=at - took, ended=at)


def test_a_fast_query_is_repeated_at_once() -> None:
    frontier = cursor()
    assert frontier.beyond(0.0) is None
    looked(frontier, 1, 2, took=SLOW)
    assert (frontier.beyond(100.0), frontier.rest(100.0)) == (None, 0.0)


def test_after_a_slow_query_claims_start_behind_the_last_job_for_a_while() -> None:
    frontier = cursor()
    looked(frontier, 7, 3, took=0.5)
    assert (frontier.beyond(100.0), frontier.rest(101.0)) == (3, REST * 0.5 - 1.0)
    looked(frontier, 9, took=0.01, beyond=3)
    assert frontier.beyond(100.0 + REST * 0.5 - 0.01) == 9
    assert frontier.beyond(100.0 + REST * 0.5) is None


def test_an_empty_claim_moves_no_cursor() -> None:
    frontier = cursor()
    looked(frontier, took=0.5)
    assert frontier.beyond(100.0) is None  # there is no place to begin at
    looked(frontier, 4, took=0.5)
    looked(frontier, took=0.01, beyond=4)
    looked(frontier, took=0.5)
    assert frontier.beyond(100.0) == 4


def test_the_cursor_is_not_used_if_it_makes_claims_no_faster() -> None:
    frontier = cursor()
    looked(frontier, 4, took=0.5)
    looked(frontier, 5, took=0.5 / GAIN + 0.001, beyond=4)
    assert frontier.beyond(100.0) is None


def test_the_cursor_is_given_up_where_it_never_helps() -> None:
    frontier = cursor(rest=0.0)
    looked(frontier, 4, took=math.inf)
    assert frontier.beyond(100.0) is None


def test_higher_priorities_are_looked_for_as_long_as_that_is_fast() -> None:
    frontier = cursor()
    looked(frontier, 4, took=0.5)
    frontier.note_higher(began=100.0, ended=100.0 + SLOW)
    assert frontier.looks_higher(100.0 + SLOW)
    frontier.note_higher(began=101.0, ended=101.5)
    assert not frontier.looks_higher(101.5 + REST * 0.5 - 0.01)
    assert frontier.looks_higher(101.5 + REST * 0.5)


def test_without_the_last_job_claims_return_to_the_front() -> None:
    frontier = cursor()
    looked(frontier, 4, took=0.5)
    frontier.return_to_front()
    assert frontier.beyond(100.0) is None
