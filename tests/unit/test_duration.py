"""Durations are a timedelta or a text, wherever a caller gives one."""

from datetime import timedelta
from typing import Any

import pytest

from horae.domain.arguments import seconds_of
from horae.domain.backoff import Backoff
from horae.domain.times.duration import LONGEST_DURATION, parse_duration
from horae.errors import InvalidInterval, InvalidRequest
from horae.types.function import JobFunction
from horae.types.options.start_options import StartOptions


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("1 day 2h", timedelta(hours=26)),
        ("1 month", timedelta(days=30)),
        ("PT5M", timedelta(minutes=5)),
        ("0s", timedelta(0)),
        (timedelta(seconds=-1), timedelta(seconds=-1)),
        ("100 years", timedelta(days=36_000)),
    ],
)
def test_a_duration_is_a_text_or_a_timedelta(given: str | timedelta, expected: timedelta) -> None:
    assert parse_duration("grace", given) == expected


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("5", "grace: interval '5': it has no unit: for seconds write 5s"),
        ("-5s", "grace: interval '-5s': it must be positive"),
        ("101 years", "grace: '101 years' is longer than 100 years"),
        ("200 years", "grace: '200 years' is longer than 100 years"),
        ("9999999999 years", "grace: '9999999999 years' is longer than 100 years"),
    ],
)
def test_an_unreadable_text_is_refused_with_the_name_of_the_option(given: str, text: str) -> None:
    with pytest.raises(InvalidInterval, match=text):
        parse_duration("grace", given)


@pytest.mark.parametrize("given", [5, 5.5, None, True, b"5s"])
def test_a_bare_number_is_refused(given: Any) -> None:
    with pytest.raises(InvalidRequest, match="expected a duration such as"):
        parse_duration("grace", given)


def test_the_durations_of_a_job_type_are_texts_as_those_of_a_schedule() -> None:
    def work() -> None: ...

    limits = JobFunction(
        work, soft_time_limit="5m", grace="0s", pending_timeout="30m"
    ).job_type.time_limits
    assert (limits.soft, limits.grace, limits.pending) == (
        timedelta(minutes=5),
        timedelta(0),
        timedelta(minutes=30),
    )
    assert limits.hard == timedelta(minutes=5)
    unlimited = JobFunction(work, soft_time_limit=None, pending_timeout=None).job_type.time_limits
    assert (unlimited.soft, unlimited.pending, unlimited.hard) == (None, None, None)


def test_a_backoff_and_a_delay_are_texts_as_well() -> None:
    assert Backoff(base="30s", cap="1h") == Backoff(
        base=timedelta(seconds=30), cap=timedelta(hours=1)
    )
    assert StartOptions(delay="5m").delay_seconds == 300
    with pytest.raises(InvalidRequest, match="longer than 100 years"):
        StartOptions(delay=LONGEST_DURATION + timedelta(seconds=1))


def test_a_number_of_seconds_is_deprecated_where_it_was_accepted() -> None:
    with pytest.warns(DeprecationWarning, match='timeout=2.5: write "2.5s" or a timedelta'):
        assert seconds_of("timeout", 2.5) == 2.5
    assert seconds_of("timeout", "2.5s") == 2.5
    assert seconds_of("timeout", None) is None
    with pytest.raises(InvalidRequest, match="timeout is True, expected a duration"):
        seconds_of("timeout", given=True)
