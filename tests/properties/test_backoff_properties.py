"""Laws of backoff that hold for every setting, attempt and seed."""

import json
from datetime import timedelta
from random import Random
from typing import get_args

from hypothesis import example, given
from hypothesis import strategies as st

from horae.domain.backoff import Backoff, Growth, nominal_delay, retry_delay
from horae.domain.times.duration import LONGEST_DURATION

ATTEMPTS = st.one_of(st.integers(1, 100), st.integers(1, 10**9))
SEEDS = st.integers(0, 2**32)


@st.composite
def backoffs(draw: st.DrawFn) -> Backoff:
    shorter, longer = sorted(draw(st.tuples(*[st.timedeltas(timedelta(0), LONGEST_DURATION)] * 2)))
    return Backoff(
        base=shorter,
        cap=longer,
        factor=draw(st.sampled_from(get_args(Growth))),
        jitter=draw(st.floats(0, 1)),
    )


@given(ATTEMPTS, backoffs(), SEEDS)
@example(10**9, Backoff(base=LONGEST_DURATION, cap=LONGEST_DURATION, jitter=1), 0)
def test_a_delay_is_never_negative_and_never_above_the_cap(
    attempt: int, backoff: Backoff, seed: int
) -> None:
    assert timedelta(0) <= retry_delay(attempt, backoff, Random(seed)) <= backoff.cap


@given(ATTEMPTS, backoffs(), SEEDS)
def test_a_delay_stays_in_its_band(attempt: int, backoff: Backoff, seed: int) -> None:
    nominal, delay = nominal_delay(attempt, backoff), retry_delay(attempt, backoff, Random(seed))
    rounding = timedelta(milliseconds=1)
    assert abs(delay - nominal) <= nominal * backoff.jitter + rounding


@given(st.integers(1, 200), backoffs())
def test_the_nominal_delay_is_the_textbook_one(attempt: int, backoff: Backoff) -> None:
    multiplier = {"exponential": 2 ** (attempt - 1), "linear": attempt, "constant": 1}
    base = backoff.base // timedelta(microseconds=1) * multiplier[backoff.factor]
    cap = backoff.cap // timedelta(microseconds=1)
    assert nominal_delay(attempt, backoff) == timedelta(microseconds=min(base, cap))


@given(ATTEMPTS, ATTEMPTS, backoffs())
def test_a_later_attempt_never_waits_less(first: int, second: int, backoff: Backoff) -> None:
    earlier, later = sorted((first, second))
    assert nominal_delay(earlier, backoff) <= nominal_delay(later, backoff)


@given(st.integers(1, 100), st.integers(1, 10**6))
def test_a_cap_of_twenty_bases_ends_linear_growth_after_twenty_steps(
    attempt: int, milliseconds: int
) -> None:
    base = timedelta(milliseconds=milliseconds)
    linear = Backoff(base=base, cap=20 * base, factor="linear")
    assert nominal_delay(attempt, linear) == base * min(attempt, 20)


@given(backoffs())
@example(Backoff(base=LONGEST_DURATION - timedelta(microseconds=1), cap=LONGEST_DURATION))
def test_storage_keeps_every_microsecond(backoff: Backoff) -> None:
    assert Backoff.from_json(json.loads(json.dumps(backoff.to_json()))) == backoff
