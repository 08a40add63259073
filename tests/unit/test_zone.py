"""Spans of a time zone, compared with zoneinfo at single instants."""

from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from horae.domain.times.zone import DAY, EPOCH, load_zone, span_at, to_instant, zone_names
from horae.errors import InvalidRequest

WALL_EPOCH = EPOCH.replace(tzinfo=None)


def offset_at(zone: str, instant: int) -> int:
    offset = (EPOCH + timedelta(seconds=instant)).astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return round(offset.total_seconds())


def instant_of(moment: datetime) -> int:
    return round((moment - EPOCH).total_seconds())


def test_a_span_has_the_offset_of_its_zone_throughout() -> None:
    rng = Random(2026)
    for zone in sorted(zone_names()):
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
def test_a_wall_time_is_its_first_pass_or_the_end_of_its_gap(
    zone: str, wall: str, instant: str
) -> None:
    seconds = round((datetime.fromisoformat(wall) - WALL_EPOCH).total_seconds())
    expected = instant_of(datetime.fromisoformat(instant).replace(tzinfo=UTC))
    assert to_instant(zone, seconds) == expected


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("localtime", "it is what this machine is set to"),
        ("posixrules", "give an IANA name like Europe/Berlin"),
        ("Factory", "give an IANA name like Europe/Berlin"),
        ("right/UTC", "write UTC"),
        ("posix/Europe/Berlin", "write Europe/Berlin"),
        ("/usr/share/zoneinfo/Europe/Berlin", "write Europe/Berlin"),
        ("../zoneinfo/Europe/Berlin", "write Europe/Berlin"),
        ("europe/berlin", "write Europe/Berlin"),
        ("utc", "write UTC"),
        ("Europe/Berlijn", "did you mean Europe/Berlin"),
        ("Europe", "did you mean Europe/"),
        ("zone.tab", "give an IANA name like Europe/Berlin"),
        ("", "give an IANA name like Europe/Berlin"),
        ("Europe/Berlin\0", "did you mean Europe/Berlin"),
    ],
)
def test_a_name_that_is_not_in_the_time_zone_database_is_refused_with_a_hint(
    key: str, hint: str
) -> None:
    with pytest.raises(InvalidRequest, match="unknown time zone") as refused:
        load_zone(key)
    assert hint in str(refused.value)


def test_a_long_name_of_a_zone_is_echoed_in_part() -> None:
    with pytest.raises(InvalidRequest) as refused:
        load_zone("Europe/" + "x" * 10_000_000)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    "key", ["UTC", "Etc/UTC", "EST5EDT", "US/Eastern", "GMT+0", "America/Argentina/ComodRivadavia"]
)
def test_old_names_of_the_time_zone_database_are_known(key: str) -> None:
    assert str(load_zone(key)) == key
