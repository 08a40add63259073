"""When a node counts as dead, and what a node without contact must do before others may act on its jobs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.domain.cluster.liveness import Contact, Death, Isolation, LivenessLimits, Signs, death_of
from horae.errors import InvalidRequest

LONG = 3600.0
LIMITS = LivenessLimits()
SIGNS = st.builds(
    Signs,
    silence=st.none() | st.floats(0, 100),
    lock_free=st.none() | st.booleans(),
    process_gone=st.none() | st.booleans(),
)


@pytest.mark.parametrize("gap", [8.0, 20.0])
def test_limits_by_which_a_node_would_stay_stopped_are_refused(gap: float) -> None:
    """It would stop its bodies after 8 s of silence, and only a gap of more than that tells it that contact is back."""
    with pytest.raises(InvalidRequest, match="expected less than silence without its margin"):
        LivenessLimits(silence=10.0, margin=2.0, gap=gap)


def death(
    silence: float | None = 0.0,
    *,
    lock_free: bool | None = None,
    gone: bool | None = None,
    watched: float = LONG,
) -> Death | None:
    signs = Signs(silence=silence, lock_free=lock_free, process_gone=gone)
    return death_of(signs, watched, LIMITS)


def cause(
    silence: float | None = 0.0,
    *,
    lock_free: bool | None = None,
    gone: bool | None = None,
    watched: float = LONG,
) -> str | None:
    found = death(silence, lock_free=lock_free, gone=gone, watched=watched)
    return None if found is None else found.cause


def test_the_limits_are_those_of_the_design() -> None:
    assert (LIMITS.beat, LIMITS.lock, LIMITS.silence) == (1.0, 2.0, 10.0)


@pytest.mark.parametrize("watched", [0.0, LONG])
def test_a_process_that_is_gone_is_dead_at_once(watched: float) -> None:
    assert death(0.0, lock_free=False, gone=True, watched=watched) == Death("its process is gone")
    assert death(None, lock_free=False, gone=True, watched=watched) == Death("its process is gone")


def test_with_file_locks_only_the_lock_proves_life() -> None:
    assert death(None, lock_free=True, watched=0.0) == Death("its lock is free")
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
def test_silence_and_lock(silence: float, lock_free: bool | None, expected: str | None) -> None:
    assert cause(silence, lock_free=lock_free) == expected


@pytest.mark.parametrize("lock_free", [True, False])
@pytest.mark.parametrize(("silence", "certain"), [(10.0, False), (59.9, False), (60.0, True)])
def test_silence_alone_is_not_certain_before_long(
    silence: float, *, lock_free: bool, certain: bool
) -> None:
    """The node may live on, out of contact, and end what nobody may run again."""
    found = death(silence, lock_free=lock_free)
    assert found is not None
    assert found.certain is certain


@pytest.mark.parametrize("watched", [0.0, 5.0, 9.999])
def test_a_fresh_observer_declares_no_node_dead(watched: float) -> None:
    assert cause(1000.0, lock_free=True, watched=watched) is None
    assert cause(1000.0, lock_free=True, watched=10.0) is not None


def test_a_process_that_lives_may_still_be_dead_to_the_database() -> None:
    assert cause(10.0, gone=False) == "it has been silent for 10 s"


@given(signs=SIGNS, watched=st.floats(0, 100))
def test_a_node_that_beats_holds_its_lock_and_runs_is_never_dead(
    signs: Signs, watched: float
) -> None:
    alive = Signs(silence=0.0, lock_free=False, process_gone=False)
    assert death_of(alive, watched, LIMITS) is None


@given(signs=SIGNS, watched=st.floats(0, 100), longer=st.floats(0, 100))
def test_longer_silence_and_longer_watching_never_revive(
    signs: Signs, watched: float, longer: float
) -> None:
    if death_of(signs, watched, LIMITS) is None:
        return
    silence = None if signs.silence is None else signs.silence + longer
    later = Signs(silence=silence, lock_free=signs.lock_free, process_gone=signs.process_gone)
    assert death_of(later, watched + longer, LIMITS) is not None


class TestContact:
    """A node's own contact with its database."""

    def test_uninterrupted_heartbeats_count_as_watching(self) -> None:
        contact = Contact(LIMITS, 100.0)
        for second in range(101, 121):
            assert not contact.answer(float(second))
        assert contact.watched(120.5) == 20.5

    def test_an_answer_that_took_long_counts_from_when_it_was_asked_for(self) -> None:
        """As of a server that was frozen: the answer comes when all is well again, and tells of a time before."""
        contact = Contact(LIMITS, 100.0)
        contact.answer(101.0)
        assert contact.watched(114.0) == 0.0
        contact.answer(102.0)
        assert contact.watched(114.0) == 0.0  # sent before the break
        assert contact.answer(114.0)
        assert contact.watched(115.0) == 1.0
        assert contact.watched(124.5) == 0.0

    def test_a_machine_that_slept_restarts_its_watch(self) -> None:
        contact = Contact(LIMITS, 100.0)
        assert contact.watched(3700.0) == 0.0
        assert contact.answer(3700.1)
        assert contact.watched(3701.1) == pytest.approx(1.0)

    def test_a_connection_that_was_lost_for_a_moment_is_a_break(self) -> None:
        """A restart within a beat frees everybody's lock, and not everybody is back at the same time."""
        contact = Contact(LIMITS, 100.0)
        contact.answer(130.0)
        contact.lose(cut=False)
        assert contact.watched(130.1) == 0.0
        assert contact.answer(130.5)
        assert contact.watched(131.0) == 0.5

    @pytest.mark.parametrize(
        ("silence", "expected"),
        [
            (7.9, Isolation.NONE),
            (8.0, Isolation.RETRYABLE),
            (57.9, Isolation.RETRYABLE),
            (58.0, Isolation.ALL),
        ],
    )
    def test_bodies_are_stopped_before_others_may_act(
        self, silence: float, expected: Isolation
    ) -> None:
        contact = Contact(LIMITS, 0.0)
        assert contact.isolation(silence) is expected

    def test_a_cut_connection_leaves_less_time_until_the_next_answer(self) -> None:
        """Its lock is free, and others may be connected and see it."""
        contact = Contact(LIMITS, 0.0)
        contact.lose(cut=True)
        assert contact.isolation(1.4) is Isolation.NONE
        assert contact.isolation(1.5) is Isolation.RETRYABLE
        contact.answer(1.6)
        assert contact.isolation(3.2) is Isolation.NONE

    def test_a_server_that_stops_ends_the_connections_of_all(self) -> None:
        contact = Contact(LIMITS, 0.0)
        contact.lose(cut=False)
        assert contact.isolation(7.9) is Isolation.NONE
        assert contact.isolation(8.0) is Isolation.RETRYABLE

    @given(sent=st.floats(0, 20), delay=st.floats(0, 60), cut=st.booleans(), lost=st.booleans())
    def test_no_other_node_acts_on_a_job_whose_body_was_not_stopped(
        self, sent: float, delay: float, *, cut: bool, lost: bool
    ) -> None:
        """The heartbeat was written after it was sent, so others count from then at the earliest."""
        contact = Contact(LIMITS, 0.0)
        contact.answer(sent)
        if lost:
            contact.lose(cut=cut)
        signs = Signs(silence=delay, lock_free=lost and cut, process_gone=False)
        found, isolation = death_of(signs, LONG, LIMITS), contact.isolation(sent + delay)
        if found is not None:
            assert isolation is (Isolation.ALL if found.certain else isolation)
            assert isolation is not Isolation.NONE
