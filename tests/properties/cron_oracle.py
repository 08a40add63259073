"""A slow and obvious cron: looks at every second around a change of the clocks, one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from horae.domain.cron.expression import CronExpression
from horae.domain.cron.fields import Field

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
            missing[moment.instant] = [previous + (index + 1) * SECOND for index in range(jump // SECOND)]
        previous = moment.wall
    return missing


def fires_in(cron: CronExpression, start: datetime, length: timedelta) -> list[datetime]:
    """What the rules say about every second of the window, in UTC."""
    wildcard = any("*" in part.text for part in cron.fields[:3])
    passes = {"only", "first", "second"}
    if not wildcard and cron.dst_fold != "both":
        passes = {"only", cron.dst_fold}
    fires = {
        moment.instant
        for moment in seconds_of(cron.timezone, start, length)
        if moment.seen in passes and matches(cron.fields, moment.wall)
    }
    if not wildcard and cron.dst_gap == "shift":
        fires |= {
            after
            for after, walls in missing_in(cron.timezone, start, length).items()
            if any(matches(cron.fields, wall) for wall in walls)
        }
    return sorted(fires)


def matches(fields: tuple[Field, ...], wall: datetime) -> bool:
    second, minute, hour = fields[:3]
    if wall.hour not in hour.values or wall.minute not in minute.values:
        return False
    return wall.second in second.values and matches_date(fields, wall)


def matches_date(fields: tuple[Field, ...], wall: date) -> bool:
    day, month, weekday, year = fields[3:]
    by_date = wall.day in day.values
    by_weekday = wall.isoweekday() % 7 in weekday.values
    star = day.text[0] == "*" or weekday.text[0] == "*"
    chosen = by_date and by_weekday if star else by_date or by_weekday
    return chosen and wall.month in month.values and wall.year in year.values


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
