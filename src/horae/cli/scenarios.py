"""Parses what `horae simulate` is asked: outages, killed nodes, other load, durations.

Errors name the option.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from horae.cli.moments import moment
from horae.cli.values import duration
from horae.domain.forecast.scenario import Load, Outage
from horae.domain.times.zone import load_zone
from horae.errors import InvalidRequest
from horae.quoting import quoted

_DAY: Final = timedelta(days=1)
_NODE: Final = re.compile(r"(?:node-?)?(\d{1,4})?")
_LOAD: Final = re.compile(
    r"(?:(?P<queue>[^=]+)=)?(?P<count>\d{1,9})/(?P<period>[^:]+):(?P<took>.+)"
)


class Period(NamedTuple):
    """The simulated period, and the time zone of times that are given without one."""

    start: datetime
    end: datetime
    zone: str


def outages(texts: Sequence[str], period: Period) -> list[Outage]:
    """Parse `02:00/3h` (each day) and `2026-12-01T02:00/3h` (once). Raises `InvalidRequest`."""
    return [outage for text in texts for outage in _outages(text, period)]


def _outages(text: str, period: Period) -> Iterator[Outage]:
    start, slash, length = text.partition("/")
    if not (slash and length):
        raise InvalidRequest(
            f"--outage {quoted(text)}: write start/length, as in 02:00/3h or 2026-12-01T02:00/3h"
        )
    lasts = _length("--outage", text, length)
    daily = _time_of_day(start)
    if daily is None:
        yield Outage(_within("--outage", text, start, period), lasts)
        return
    zone = load_zone(period.zone)
    day: date = (period.start - lasts).astimezone(zone).date()
    while (begins := datetime.combine(day, daily, zone).astimezone(UTC)) < period.end:
        if begins + lasts > period.start:
            yield Outage(begins, lasts)
        day += _DAY


def kills(texts: Sequence[str], period: Period) -> list[Outage]:
    """Parse `2026-12-01T03:00/node-2`, with `/10m` if the node comes back.

    Raises `InvalidRequest`.
    """
    return [_kill(text, period) for text in texts]


def _kill(text: str, period: Period) -> Outage:
    start, _, rest = text.partition("/")
    name, slash, length = rest.partition("/")
    found = _NODE.fullmatch(name)
    if not name or found is None:
        raise InvalidRequest(
            f"--kill {quoted(text)}: write time/node, as in 2026-12-01T03:00/node-2"
        )
    lasts = _length("--kill", text, length) if slash else None
    return Outage(_within("--kill", text, start, period), lasts, node=int(found[1] or 1))


def loads(texts: Sequence[str]) -> list[Load]:
    """Parse `20/1m:5s` and `emails=20/1m:5s`: 20 jobs of 5 seconds in each minute.

    Raises `InvalidRequest`.
    """
    return [_load(text) for text in texts]


def _load(text: str) -> Load:
    found = _LOAD.fullmatch(text)
    if found is None:
        raise InvalidRequest(
            f"--load {quoted(text)}: write [queue=]jobs/period:duration, as in emails=20/1m:5s"
        )
    period, took = _length("--load", text, found["period"]), duration(found["took"])
    if int(found["count"]) < 1:
        raise InvalidRequest(f"--load {quoted(text)}: expected at least one job")
    return Load(int(found["count"]), period, took, found["queue"] or "default")


class Durations(NamedTuple):
    """The given durations by the name of the schedule, and the one for schedules of which nothing
    is known.
    """

    by_name: dict[str, timedelta]
    default: timedelta | None


def durations(texts: Sequence[str]) -> Durations:
    """Parse `name=30s`, and `30s` for all others that have not run yet. Raises `InvalidRequest`."""
    by_name: dict[str, timedelta] = {}
    default = None
    for text in texts:
        name, equals, length = text.rpartition("=")
        if equals and name:
            by_name[name] = duration(length)
        else:
            default = duration(length)
    return Durations(by_name, default)


def _time_of_day(text: str) -> time | None:
    if not re.fullmatch(r"\d\d:\d\d(:\d\d)?", text):
        return None
    try:
        return time.fromisoformat(text)
    except ValueError as error:
        raise InvalidRequest(
            f"--outage {quoted(text)}: expected a time of day from 00:00 to 23:59"
        ) from error


def _length(option: str, text: str, length: str) -> timedelta:
    try:
        parsed = duration(length)
    except InvalidRequest as error:
        raise InvalidRequest(f"{option} {quoted(text)}: {error}") from error
    if parsed <= timedelta(0):
        raise InvalidRequest(f"{option} {quoted(text)}: expected a duration of more than zero")
    return parsed


def _within(option: str, text: str, start: str, period: Period) -> datetime:
    begins = moment(start, option, period.zone)
    if not period.start <= begins < period.end:
        lasts = f"{period.start:%Y-%m-%d %H:%M} to {period.end:%Y-%m-%d %H:%M} UTC"
        raise InvalidRequest(f"{option} {quoted(text)}: not within the simulated period, {lasts}")
    return begins
