"""Checks the arguments of calls, so that errors are Horae's own and raised at the caller."""

import warnings
from datetime import datetime
from typing import Any, Final, TypeAlias

from horae.domain.cron import YEAR
from horae.domain.storable import LARGEST_NUMBER, is_storable
from horae.domain.times import Duration, parse_duration
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.sentences import SentenceCode, between

Timeout: TypeAlias = Duration | float
"""A duration; the number of seconds is deprecated."""

LONGEST_NOTE: Final = 2_000
"""Maximum number of characters of the note of a pause, because lists show the whole note."""


def of_kind(name: str, value: Any, kind: type, expected: str) -> Any:
    """Return the value if it is an instance of `kind`; True and False are no numbers.

    Raises `InvalidRequest`.
    """
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise InvalidRequest(f"{name} {quoted(value)}: expected {expected}")
    return value


def seconds_of(name: str, given: Any) -> float | None:
    """Return the seconds of a duration that may be None; a number counts as seconds for one more
    release.

    Raises `InvalidRequest`.
    """
    if given is None:
        return None
    if isinstance(given, int | float) and not isinstance(given, bool):
        warnings.warn(
            f'{name}={given}: write "{given:g}s" or a timedelta; the next release refuses a number'
            " of seconds",
            DeprecationWarning,
            stacklevel=3,  # the caller of the method whose argument this is
        )
        return float(given)
    return parse_duration(name, given).total_seconds()


def check_moment(name: str, moment: Any) -> None:
    """Refuse what is no point in time at which a schedule could start. Raises `InvalidRequest`."""
    expected = "a datetime with a time zone"
    of_kind(name, moment, datetime, expected)
    if not has_zone(moment):
        raise InvalidRequest(
            f"{name} {quoted(moment)}: expected {expected}", SentenceCode.VALUE_NOT_TIME
        )
    if not YEAR.low <= moment.year <= YEAR.high:
        raise InvalidRequest(
            f"{name} is {moment}; expected a year from {YEAR.low} to {YEAR.high}",
            SentenceCode.VALUE_YEAR,
            least=YEAR.low,
            most=YEAR.high,
        )


def has_zone(moment: datetime) -> bool:
    """Return whether the offset from UTC is known; an application's own time zone may raise."""
    try:
        return moment.utcoffset() is not None
    except Exception:  # noqa: BLE001 - a zone that raises gives no offset, whatever it raises
        return False


def check_note(note: Any) -> None:
    """Refuse a note that cannot be stored; None is no note. Raises `InvalidRequest`."""
    if note is None:
        return
    of_kind("note", note, str, "a text")
    if len(note) > LONGEST_NOTE:
        raise InvalidRequest(
            f"note has {len(note):,} characters, expected at most {LONGEST_NOTE:,}",
            SentenceCode.VALUE_TOO_LONG,
            bound=str(LONGEST_NOTE),
        )
    if not is_storable(note):
        raise InvalidRequest(
            f"note {quoted(note)} has a character that cannot be stored",
            SentenceCode.VALUE_NOT_STORABLE,
        )


def whole_number(name: str, value: Any, least: int) -> int:
    """Return a whole number from `least` to `LARGEST_NUMBER`. Raises `InvalidRequest`."""
    number: int = of_kind(name, value, int, "a whole number")
    if not least <= number <= LARGEST_NUMBER:
        raise InvalidRequest(between(name, number, least, LARGEST_NUMBER))
    return number
