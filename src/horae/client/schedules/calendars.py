"""The days that calendar functions exclude: computed ahead, and stored with the schedules.

A schedule is planned under a lock by any node, which may not know the function. So a process that
knows it computes the coming days outside of transactions, and plans use the stored days.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from horae.domain.schedules import Rules, calendars_in
from horae.errors import InvalidRequest
from horae.guarded_log import guarded_log
from horae.sentences import SentenceCode
from horae.types import Registry

AHEAD: Final = timedelta(days=400)
"""How far ahead calendar functions are asked: over a year, for nodes that run once a year."""
KEPT: Final = timedelta(days=31)
"""How long past days are kept, for times that are decided late."""
FIRST_DAY: Final = date(1970, 1, 1)
"""The earliest day of any nominal time."""
DAY: Final = timedelta(days=1)
log = guarded_log("horae.schedules")


def with_calendar_days(
    rules: Rules, registry: Registry, today: date, known: Rules | None = None
) -> Rules:
    """Return the rules with the days that their calendar functions exclude.

    Days of `known`, the former rules, stay if a function raises or is not registered in this
    process. Raises `InvalidRequest` for an unknown function that `known` does not have.
    """
    names = calendars_in(rules.exclude)
    if not names:
        return replace(rules, calendar_days=())
    before = frozenset[date]() if known is None else frozenset(known.calendar_days)
    days = {day for day in before if today - KEPT <= day < today}
    coming = [today + offset * DAY for offset in range(AHEAD.days)]
    for name in names:
        if name in registry.calendars:
            try:
                days |= _ask(name, registry, coming)
                continue
            except InvalidRequest:
                log.exception(
                    "calendar function %s failed; the days that it returned before stay excluded",
                    name,
                )
        elif known is None or name not in calendars_in(known.exclude):
            registry.check_calendar(name)
        days |= before
    return replace(rules, calendar_days=tuple(sorted(days)))


def past_days(rules: Rules, registry: Registry, start: datetime, end: datetime) -> frozenset[date]:
    """Return the days from `start` to `end`, in any zone, that calendar functions exclude.

    Raises `InvalidRequest` for a function that is not registered here or raises: only recent days
    are stored.
    """
    days: set[date] = set()
    first, last = (
        max(start.astimezone(UTC).date(), FIRST_DAY) - DAY,
        end.astimezone(UTC).date() + DAY,
    )
    window = [first + offset * DAY for offset in range((last - first).days + 1)]
    for name in calendars_in(rules.exclude):
        if name not in registry.calendars:
            raise InvalidRequest(
                f"the days that {name} excludes are asked of that function, which this process"
                " does not know; on the command line --app names the application",
                SentenceCode.VALUE_CALENDAR_ELSEWHERE,
                name=name,
            )
        days |= _ask(name, registry, window)
    return frozenset(days)


def _ask(name: str, registry: Registry, days: Iterable[date]) -> set[date]:
    """Return the days that a calendar function excludes. Raises `InvalidRequest` if it raises."""
    function = registry.calendars[name]
    try:
        return {day for day in days if function(day)}
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise InvalidRequest(
            f"calendar function {name} failed: {what}",
            SentenceCode.VALUE_CALENDAR_FAILED,
            name=name,
            error=what,
        ) from error
