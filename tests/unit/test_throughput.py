"""The estimate of how many bodies can end in a moment."""

from hypothesis import given
from hypothesis import strategies as st

from horae.runtime.claims.throughput import Throughput
from horae.runtime.timing import ThroughputTiming

TIMING = ThroughputTiming(moment=0.1, most=2000)
SLOTS = st.integers(1, 100)
SECONDS = st.floats(1e-5, 60)


def after(throughput: Throughput, bodies: int, seconds: float, now: float = 1000.0) -> float:
    """Let bodies end one after the other, each of which took so long."""
    for _ in range(bodies):
        now += seconds
        throughput.count(now - seconds, now)
    return now


def test_nothing_is_expected_before_bodies_have_ended() -> None:
    assert Throughput(10, TIMING).expected == 0


@given(slots=SLOTS)
def test_little_is_expected_after_one_short_body(slots: int) -> None:
    throughput = Throughput(slots, TIMING)
    after(throughput, 1, 0.0001)
    assert throughput.expected <= 2 * slots


@given(slots=SLOTS, seconds=SECONDS)
def test_it_is_what_all_slots_can_run_by_the_time_that_bodies_take(
    slots: int, seconds: float
) -> None:
    throughput = Throughput(slots, TIMING)
    after(throughput, int(0.3 / seconds) + 30, seconds)
    exact = min(slots * TIMING.moment / seconds, TIMING.most)
    assert 0.8 * exact - 1 <= throughput.expected <= exact


def test_ten_short_bodies_are_enough_for_a_large_claim_however_slow_the_claim_was() -> None:
    throughput = Throughput(10, TIMING)
    now = after(throughput, 10, 0.0002)
    assert throughput.expected >= 90
    after(throughput, 100, 0.0002, now + 0.5)
    assert throughput.expected >= 800


def test_little_is_expected_after_long_bodies_that_end_together() -> None:
    throughput = Throughput(10, TIMING)
    for _ in range(10):
        throughput.count(1000.0, 1001.0)
    assert throughput.expected <= 1


@given(slots=SLOTS, seconds=SECONDS)
def test_long_bodies_after_short_ones_count_within_some_moments(slots: int, seconds: float) -> None:
    throughput = Throughput(slots, TIMING)
    now = after(throughput, 1000, 0.0001)
    after(throughput, 20, max(seconds, 0.1), now)
    assert throughput.expected <= slots


def test_nothing_is_expected_after_a_reset() -> None:
    throughput = Throughput(10, TIMING)
    after(throughput, 1000, 0.0001)
    throughput.reset()
    assert throughput.expected == 0
