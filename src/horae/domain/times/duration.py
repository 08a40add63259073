"""Durations that callers give: a timedelta, or a text such as `90s`, `5m`, `1h30m` or `1 day`."""

from datetime import timedelta
from typing import Final, TypeAlias

from horae.domain.times.interval_text import read_interval
from horae.domain.times.zone import MICROSECOND
from horae.errors import InvalidInterval, InvalidRequest
from horae.quoting import quoted
from horae.sentences import Sentence, SentenceCode, about

Duration: TypeAlias = str | timedelta

LONGEST_DURATION: Final = timedelta(days=36_525)
"""A hundred years: short enough that seconds in a float keep every microsecond."""

_MOST_MONTHS: Final = 1_200
"""A hundred years. Months of 30 days need a limit of their own: more of them would still be shorter
than `LONGEST_DURATION`.
"""


def parse_duration(name: str, value: object) -> timedelta:
    """Return a duration as a timedelta; `name` is the option, for the error.

    A day counts 24 hours and a month 30 days. Raises `InvalidInterval` for a text that cannot be
    read, and `InvalidRequest` for a value that is neither a text nor a timedelta, such as a bare
    number of seconds.
    """
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        seconds = (
            f' (for {value:g} seconds write "{value:g}s")' if isinstance(value, float | int) else ""
        )
        raise InvalidRequest(
            f'{name} is {quoted(value)}, expected a duration such as "5m", or a timedelta{seconds}'
        )
    try:
        amounts = read_interval(value)
        duration = amounts.nominal
    except InvalidInterval as error:
        raise InvalidInterval(about(name, error)) from None
    except OverflowError:
        raise InvalidInterval(_too_long(name, value)) from None
    if amounts.months > _MOST_MONTHS or duration > LONGEST_DURATION:
        raise InvalidInterval(_too_long(name, value))
    return duration


def bounded_duration(
    name: str,
    value: object,
    expected: str,
    *,
    least: timedelta = MICROSECOND,
    most: timedelta = LONGEST_DURATION,
) -> timedelta:
    """Return a duration within bounds, usually of more than zero; `expected` is for the error.

    Raises `InvalidInterval` and `InvalidRequest`.
    """
    duration = parse_duration(name, value)
    if not least <= duration <= most:
        raise InvalidRequest(f"{name} is {quoted(value)}, expected {expected}")
    return duration


def _too_long(name: str, value: str) -> Sentence:
    return Sentence(
        f"{name}: {quoted(value)} is longer than 100 years",
        SentenceCode.VALUE_INTERVAL_TOO_LONG,
        text=value,
    )
