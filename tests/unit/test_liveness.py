"""When a node counts as dead: the three signs, and what an observer must have seen of its own connection first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.domain.job import NodeId
from horae.domain.liveness import BEAT, LOCK_BEATS, SILENCE, Signs, cause_of_death

LONG = 3600.0
SIGNS = st.builds(
    Signs,
    node=st.just(NodeId("n1")),
    silence=st.none() | st.floats(0, 100),
    lock_free=st.none() | st.booleans(),
    process_gone=st.none() | st.booleans(),
)


def cause(
    silence: float | None = 0.0, *, lock_free: bool | None = None, gone: bool | None = None, watched: float = LONG
) -> str | None:
    return cause_of_death(
        Signs(node=NodeId("n1"), silence=silence, lock_free=lock_free, process_gone=gone), watched
    )  # fmt: skip


def test_the_limits_are_those_of_the_design() -> None:
    assert (BEAT, LOCK_BEATS, SILENCE) == (1.0, 2, 10.0)


@pytest.mark.parametrize("watched", [0.0, LONG])
def test_a_process_that_is_gone_is_dead_at_once(watched: float) -> None:
    assert cause(0.0, lock_free=False, gone=True, watched=watched) == "its process is gone"
    assert cause(None, lock_free=False, gone=True, watched=watched) == "its process is gone"


def test_where_life_is_a_file_lock_nothing_else_counts() -> None:
    assert cause(None, lock_free=True, watched=0.0) == "its lock is free"
    assert cause(None, lock_free=False, gone=False) is None
    assert cause(None, lock_free=None) is None


@pytest.mark.parametrize(
    ("silence", "lock_free", "expected"),
    [
        (0.0, True, None),
        (1.999, True, None),  # between taking the lock and the first beat nobody is dead
        (2.0, True, "its lock is free and it has been silent for 2.0 s"),
        (9.99, False, None),
        (9.99, None, None),
        (10.0, False, "it has been silent for 10 s"),
        (10.0, None, "it has been silent for 10 s"),
        (12.3, True, "its lock is free and it has been silent for 12.3 s"),
    ],
)
def test_silence_and_lock(silence: float, lock_free: bool | None, expected: str | None) -> None:  # noqa: FBT001 - a row
    assert cause(silence, lock_free=lock_free) == expected


@pytest.mark.parametrize("watched", [0.0, 5.0, 9.999])
def test_a_fresh_observer_judges_nobody_by_lock_or_silence(watched: float) -> None:
    assert cause(1000.0, lock_free=True, watched=watched) is None
    assert cause(1000.0, lock_free=True, watched=10.0) is not None


def test_a_process_that_lives_may_still_be_dead_to_the_database() -> None:
    assert cause(10.0, gone=False) == "it has been silent for 10 s"


@given(signs=SIGNS, watched=st.floats(0, 100))
def test_a_node_that_beats_holds_its_lock_and_runs_is_never_dead(signs: Signs, watched: float) -> None:
    alive = Signs(node=signs.node, silence=0.0, lock_free=False, process_gone=False)
    assert cause_of_death(alive, watched) is None


@given(signs=SIGNS, watched=st.floats(0, 100), longer=st.floats(0, 100))
def test_longer_silence_and_longer_watching_never_revive(signs: Signs, watched: float, longer: float) -> None:
    if cause_of_death(signs, watched) is None:
        return
    silence = None if signs.silence is None else signs.silence + longer
    later = Signs(node=signs.node, silence=silence, lock_free=signs.lock_free, process_gone=signs.process_gone)
    assert cause_of_death(later, watched + longer) is not None
