"""Spans of a zone against what zoneinfo says about single instants."""

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo, available_timezones

import pytest

from horae.domain.zone import DAY, EPOCH, span_at, to_instant

WALL_EPOCH = EPOCH.replace(tzinfo=None)


def offset_at(zone: str, instant: int) -> int:
    offset = (EPOCH + timedelta(seconds=instant)).astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return round(offset.total_seconds())


def instant_of(moment: datetime) -> int:
    return round((moment - EPOCH).total_seconds())


def test_a_span_has_the_offset_of_its_zone_throughout() -> None:
    rng = Random(2026)
    for zone in sorted(available_timezones()):
        instant = rng.randrange(-DAY, 47_482 * DAY)
        span = span_at(zone, instant)
        assert span.start <= instant < span.end
        inside = [span.start, instant, span.end - 1] if zone != "UTC" else [instant]
        assert {offset_at(zone, each) for each in inside} == {span.offset}, zone
        if zone != "UTC":
            assert span.previous_offset == offset_at(zone, span.start - 1), zone
            assert span.next_offset == offset_at(zone, span.end), zone


def test_spans_follow_each_other_without_a_seam() -> None:
    for zone in ("Europe/Berlin", "Africa/Casablanca", "Australia/Lord_Howe", "Pacific/Apia"):
        span = span_at(zone, 0)
        while span.end < instant_of(datetime(2040, 1, 1, tzinfo=UTC)):
            following = span_at(zone, span.end)
            assert following.start == span.end
            assert following.previous_offset == span.offset
            assert span.next_offset == following.offset
            span = following


def test_a_change_in_the_last_hours_of_a_block_of_the_cache_is_found() -> None:
    change = instant_of(datetime(2024, 3, 24, 3, tzinfo=UTC))
    assert span_at("America/Asuncion", change - 1).end == change
    assert span_at("America/Asuncion", change).start == change


@pytest.mark.parametrize(
    ("zone", "wall", "instant"),
    [
        ("UTC", "2026-03-29 02:30", "2026-03-29 02:30"),
        ("Europe/Berlin", "2026-01-01 12:00", "2026-01-01 11:00"),
        ("Europe/Berlin", "2026-03-29 02:30", "2026-03-29 01:00"),  # in the gap
        ("Europe/Berlin", "2026-03-29 03:00", "2026-03-29 01:00"),
        ("Europe/Berlin", "2026-10-25 02:30", "2026-10-25 00:30"),  # first pass
        ("Europe/Berlin", "2026-10-25 03:00", "2026-10-25 02:00"),
        ("Pacific/Apia", "2011-12-30 12:00", "2011-12-30 10:00"),  # a day without existence
        ("America/Havana", "2026-11-01 00:00", "2026-11-01 04:00"),
    ],
)
def test_a_wall_time_is_its_first_pass_or_the_end_of_its_gap(zone: str, wall: str, instant: str) -> None:
    seconds = round((datetime.fromisoformat(wall) - WALL_EPOCH).total_seconds())
    expected = instant_of(datetime.fromisoformat(instant).replace(tzinfo=UTC))
    assert to_instant(zone, seconds) == expected
