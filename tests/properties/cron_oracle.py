"""A slow and obvious implementation of cron: it checks every second around a change of the clocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from horae.domain.cron.expression import CronExpression
from horae.domain.cron.fields import CronField

SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Moment:
    """A second of the wall clock, and the pass it belongs to: "only", "first" or "second"."""

    instant: datetime
    wall: datetime
    seen: str


@lru_cache(maxsize=64)
def seconds_of(zone: str, start: datetime, length: timedelta) -> tuple[Moment, ...]:
    """Every second of the window, as a clock on the wall shows it."""
    info = ZoneInfo(zone)
    instants = [start + index * SECOND for index in range(length // SECOND)]
    return tuple(_moment(instant, info) for instant in instants)


@lru_cache(maxsize=64)
def missing_in(zone: str, start: datetime, length: timedelta) -> dict[datetime, list[datetime]]:
    """The wall times that the window leaves out, by the instant that follows them."""
    missing: dict[datetime, list[datetime]] = {}
    previous = _moment(start - SECOND, ZoneInfo(zone)).wall
    for moment in seconds_of(zone, start, length):
        jump = moment.wall - previous - SECOND
        if jump > timedelta(0):
            missing[moment.instant] = [
                previous + (index + 1) * SECOND for index in range(jump // SECOND)
            ]
        previous = moment.wall
    return missing


def fires_in(cron: CronExpression, start: datetime, length: timedelta) -> list[datetime]:
    """What the rules say about every second of the window, in UTC."""
    fields = chosen_by(cron.fields)
    wildcard = any("*" in part.text for part in cron.fields[:3])
    passes = {"only", "first", "second"}
    if not wildcard and cron.dst_fold != "both":
        passes = {"only", cron.dst_fold}
    fires = {
        moment.instant
        for moment in seconds_of(cron.timezone, start, length)
        if moment.seen in passes and matches(fields, moment.wall)
    }
    if not wildcard and cron.dst_gap == "shift":
        fires |= {
            after
            for after, walls in missing_in(cron.timezone, start, length).items()
            if any(matches(fields, wall) for wall in walls)
        }
    return sorted(fires)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The values of all fields as sets, and whether both kinds of day must match."""

    values: tuple[frozenset[int], ...]
    both_days: bool


def chosen_by(fields: tuple[CronField, ...]) -> Chosen:
    values = tuple(frozenset(part.values) for part in fields)
    return Chosen(values, fields[3].text[0] == "*" or fields[5].text[0] == "*")


def matches(chosen: Chosen, wall: datetime) -> bool:
    second, minute, hour = chosen.values[:3]
    if wall.hour not in hour or wall.minute not in minute or wall.second not in second:
        return False
    return matches_date(chosen, wall)


def matches_date(chosen: Chosen, wall: date) -> bool:
    day, month, weekday, year = chosen.values[3:]
    by_date = wall.day in day
    by_weekday = wall.isoweekday() % 7 in weekday
    fits = by_date and by_weekday if chosen.both_days else by_date or by_weekday
    return fits and wall.month in month and wall.year in year


def every_day() -> Iterator[date]:
    ordinals = range(date(1970, 1, 1).toordinal(), date(2100, 1, 1).toordinal())
    return map(date.fromordinal, ordinals)


def _moment(instant: datetime, info: ZoneInfo) -> Moment:
    local = instant.astimezone(info)
    wall = local.replace(tzinfo=None)
    earlier, later = (local.replace(fold=fold).utcoffset() for fold in (0, 1))
    if earlier == later:
        return Moment(instant, wall, "only")
    return Moment(instant, wall, "second" if local.fold else "first")


def to_utc(fires: list[datetime]) -> list[datetime]:
    return [fire.astimezone(UTC) for fire in fires]
