"""The filter by states means the same in any order."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.client.jobs.filters import wanted_states
from horae.domain.jobs.job import JobState
from horae.errors import InvalidRequest

EVERY = frozenset(JobState)
WORDS = [*JobState, *(f"!{state}" for state in JobState)]


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["pending"], {"pending"}),
        (["started"], {"started"}),
        (["pending", "failed"], {"pending", "failed"}),
        (["!failed"], {"pending", "started", "finished", "cancelled"}),
        (["!finished", "!failed", "!cancelled"], {"pending", "started"}),
        (["pending", "!failed"], {"pending"}),
        (["failed", "!failed"], set[str]()),
        (["pending", "failed", "!failed"], {"pending"}),
        ([" pending", "failed "], {"pending", "failed"}),
        ([" !failed ", "failed"], set[str]()),
        (["pending", "pending"], {"pending"}),
        ([f"!{state}" for state in JobState], set[str]()),
    ],
)
def test_the_order_does_not_matter(texts: list[str], wanted: set[str]) -> None:
    for order in permutations(texts[:4]):
        assert wanted_states([*order, *texts[4:]]) == frozenset(JobState(state) for state in wanted)


def test_no_filter_is_not_an_empty_filter() -> None:
    assert wanted_states(None) is None
    assert wanted_states([]) == frozenset()
    assert wanted_states(iter(["pending"])) == frozenset({JobState.PENDING})


@given(st.lists(st.sampled_from(WORDS), min_size=1), st.randoms())
def test_any_filter_in_any_order(texts: list[str], rng: object) -> None:
    shuffled = sorted(texts, key=lambda _text: getattr(rng, "random")())  # noqa: B009 - Hypothesis' own Random
    plain = {text for text in texts if not text.startswith("!")} or set(JobState)
    wanted = frozenset(JobState(state) for state in plain if f"!{state}" not in texts)
    assert wanted_states(texts) == wanted_states(shuffled) == wanted


@pytest.mark.parametrize(
    "text", ["", "!", "running", "PENDING", "importing-table-7", "!!failed", "! failed", "a,b"]
)
def test_an_unknown_state_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        wanted_states(["pending", text])
    expected = "is unknown; allowed are pending, started, finished, failed, cancelled, each with ! in front to leave it out"
    assert str(caught.value) == f"state {text.removeprefix('!')!r} {expected}"
