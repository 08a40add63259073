"""Exclusion calendars as callers write them: days, ranges, and functions of a day."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime
from typing import Any, Final, TypeAlias, cast

from horae.domain.arguments import check_moment
from horae.domain.schedules import CALENDAR, RANGE
from horae.errors import InvalidRequest
from horae.quoting import quoted

CalendarFunction: TypeAlias = Callable[[date], bool]
Exclusion: TypeAlias = date | tuple[date, date] | str | CalendarFunction
"""A day, a range of days or moments, a text of either, or a calendar function."""

_EXPECTED: Final = (
    "a list of dates, of pairs (first, last), of texts such as 2026-12-24..2026-12-26, "
    "or a function"
)


def entries_of(given: Any) -> tuple[str, ...]:
    """Return the entries of an exclusion calendar as they are stored. Raises `InvalidRequest`."""
    entries: list[str] = []
    for item in _items(given):
        match item:
            case str():
                entries.append(item.strip())
            case datetime():
                raise InvalidRequest(
                    f"exclude {quoted(item)}: expected a date; for a part of a day give a pair of"
                    " moments"
                )
            case date():
                entries.append(item.isoformat())
            case (date() as first, date() as last) if isinstance(first, datetime) is isinstance(
                last, datetime
            ):
                for moment in (first, last):
                    if isinstance(moment, datetime):
                        check_moment("exclude", moment)
                entries.append(f"{first.isoformat()}{RANGE}{last.isoformat()}")
            case _ if callable(item):
                entries.append(f"{CALENDAR}{calendar_name(cast('CalendarFunction', item))}")
            case _:
                raise InvalidRequest(f"exclude {quoted(item)}: expected {_EXPECTED}")
    return tuple(entries)


def functions_in(given: Any) -> Iterator[CalendarFunction]:
    """Yield the calendar functions among what a caller excludes."""
    for item in _items(given):
        if callable(item):
            yield cast("CalendarFunction", item)


def calendar_name(function: CalendarFunction) -> str:
    """Return the name of a calendar function: that of its module and its own.

    Raises `InvalidRequest`.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if module is None or name is None or isinstance(function, type):
        raise InvalidRequest(f"exclude {quoted(function)}: expected a function of a module")
    if inspect.iscoroutinefunction(function):
        raise InvalidRequest(f"exclude {name}: a calendar function cannot be a coroutine function")
    try:
        inspect.signature(function).bind(date.min)
    except TypeError:
        raise InvalidRequest(
            f"exclude {name}: a calendar function takes one argument, the date"
        ) from None
    return f"{module}.{name}"


def _items(given: Any) -> Iterable[Any]:
    if isinstance(given, str | date) or callable(given):
        return (given,)
    # A pair of dates alone could mean two days or a range.
    if isinstance(given, list) or (
        isinstance(given, tuple) and all(isinstance(item, str) for item in given)
    ):
        return given
    raise InvalidRequest(f"exclude {quoted(given)}: expected {_EXPECTED}")
