"""Backoff: the delays people will see, and the settings that are refused."""

import json
import math
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from horae.domain.backoff import (
    Backoff,
    Growth,
    jittered,
    nominal_delay,
    retry_delay,
)
from horae.domain.times.duration import LONGEST_DURATION
from horae.errors import InvalidRequest


def seconds(backoff: Backoff, attempts: int) -> list[float]:
    return [nominal_delay(attempt, backoff).total_seconds() for attempt in range(1, attempts + 1)]


def test_the_default_doubles_from_five_seconds_to_ten_minutes() -> None:
    assert seconds(Backoff(), 9) == [5, 10, 20, 40, 80, 160, 320, 600, 600]


def test_linear_grows_by_the_base() -> None:
    linear = Backoff(base=timedelta(seconds=30), cap=timedelta(minutes=2), factor="linear")
    assert seconds(linear, 6) == [30, 60, 90, 120, 120, 120]


def test_constant_stays() -> None:
    assert seconds(Backoff(factor="constant"), 3) == [5, 5, 5]


def test_a_base_of_zero_retries_at_once() -> None:
    at_once = Backoff(base=timedelta(0))
    assert retry_delay(1, at_once, Random(1)) == retry_delay(99, at_once, Random(1)) == timedelta(0)


def test_doubling_does_not_stop_short_of_the_cap() -> None:
    longest = Backoff(base=timedelta(microseconds=1), cap=LONGEST_DURATION)
    assert nominal_delay(51, longest) == timedelta(microseconds=2**50)
    assert nominal_delay(10**9, longest) == LONGEST_DURATION


@pytest.mark.parametrize("factor", ["exponential", "linear", "constant"])
def test_a_billion_attempts_do_not_overflow(factor: Growth) -> None:
    longest = Backoff(base=timedelta(seconds=1), cap=LONGEST_DURATION, factor=factor)
    assert retry_delay(10**9, longest, Random(1)) <= LONGEST_DURATION


def test_without_jitter_the_delay_is_the_nominal_one() -> None:
    assert retry_delay(2, Backoff(jitter=0), Random(1)) == timedelta(seconds=10)


def test_the_same_seed_gives_the_same_delay() -> None:
    assert retry_delay(3, Backoff(), Random(7)) == retry_delay(3, Backoff(), Random(7))
    assert retry_delay(3, Backoff(), Random(7)) != retry_delay(3, Backoff(), Random(8))


def test_jitter_uses_both_sides_of_the_nominal_delay() -> None:
    rng = Random(1)
    delays = [retry_delay(1, Backoff(), rng).total_seconds() for _ in range(500)]
    assert 4.375 <= min(delays) < 4.4
    assert 5.6 < max(delays) <= 5.625


def test_waiters_at_the_cap_do_not_return_together() -> None:
    rng = Random(1)
    delays = {retry_delay(20, Backoff(), rng) for _ in range(500)}
    assert len(delays) == 500
    assert timedelta(minutes=8.75) <= min(delays) <= max(delays) <= timedelta(minutes=10)


def test_a_delay_above_the_cap_becomes_the_cap() -> None:
    minute = timedelta(minutes=1)
    assert jittered(timedelta(hours=1), 0.125, Random(1), cap=minute) == minute


@pytest.mark.parametrize("attempt", [0, -1])
def test_attempts_count_from_one(attempt: int) -> None:
    with pytest.raises(InvalidRequest, match=f"attempt {attempt}: expected 1 or more"):
        retry_delay(attempt, Backoff(), Random(1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": timedelta(seconds=-1)}, "backoff base -1 day, 23:59:59: expected zero or more"),
        ({"cap": timedelta(seconds=4)}, r"backoff cap 0:00:04: expected the base \(0:00:05\) to"),
        ({"cap": LONGEST_DURATION + timedelta(microseconds=1)}, "backoff cap .* to 36525 days"),
        ({"factor": "cubic"}, "factor 'cubic': expected one of exponential, linear, constant"),
        ({"jitter": -0.1}, "backoff jitter -0.1: expected 0 to 1"),
        ({"jitter": 1.1}, "backoff jitter 1.1: expected 0 to 1"),
        ({"jitter": math.nan}, "backoff jitter nan: expected 0 to 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        Backoff(**settings)


def test_the_stored_form_is_plain_json_in_seconds() -> None:
    stored = Backoff(base=timedelta(milliseconds=1500), factor="linear").to_json()
    assert json.loads(json.dumps(stored)) == {
        "base": 1.5,
        "cap": 600,
        "factor": "linear",
        "jitter": 0.125,
    }


def test_a_key_missing_from_the_stored_form_gets_its_default() -> None:
    assert Backoff.from_json({}) == Backoff()
    assert Backoff.from_json({"cap": 60}) == Backoff(cap=timedelta(minutes=1))


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"bases": 1, "caps": 2}, "unknown backoff settings: bases, caps"),
        ({"base": "soon"}, "backoff settings {'base': 'soon'}"),
        ({"base": None}, "backoff settings {'base': None}"),
        ({"cap": math.nan}, "backoff settings {'cap': nan}"),
        ({"cap": 1e300}, "backoff settings {'cap': 1e\\+300}"),
        ({"jitter": "much"}, "backoff settings {'jitter': 'much'}"),
        ({"jitter": 2}, "backoff jitter 2: expected 0 to 1"),
    ],
)
def test_a_stored_form_that_makes_no_sense_is_refused(stored: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        Backoff.from_json(stored)
