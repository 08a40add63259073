"""The grid of a fixed schedule: exact points, across short months and changes of the clocks."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from horae.domain.times.grid import Grid
from horae.domain.times.interval import Interval
from horae.errors import InvalidRequest

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def grid(interval: str, anchor: datetime = NOON, timezone: str = "UTC") -> Grid:
    return Grid(Interval.parse(interval), anchor, timezone)


def run_on(points: Grid, start: datetime, count: int) -> list[datetime]:
    """Starts of a job that takes no time at all."""
    starts = [start]
    while len(starts) < count:
        starts.append(points.first_after(starts[-1]))
    return starts


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        (timedelta(0), timedelta(minutes=10)),  # on a point: the next one
        (timedelta(microseconds=1), timedelta(minutes=10)),
        (timedelta(minutes=9, seconds=59), timedelta(minutes=10)),
        (timedelta(minutes=10), timedelta(minutes=20)),
        (timedelta(minutes=35), timedelta(minutes=40)),  # points that were missed stay missed
        (timedelta(days=1000, seconds=1), timedelta(days=1000, minutes=10)),
        (timedelta(seconds=-1), timedelta(0)),  # never before the anchor
        (timedelta(days=-1000), timedelta(0)),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_the_first_point_strictly_after_the_finish(
    finish: timedelta, expected: timedelta, zone: str
) -> None:
    assert grid("10m", timezone=zone).first_after(NOON + finish) == NOON + expected


def test_the_end_of_a_month_does_not_stick() -> None:
    anchor = datetime(2025, 10, 31, 9, tzinfo=UTC)
    days = [f"{start:%m-%d}" for start in run_on(grid("1 month", anchor), anchor, 7)]
    assert days == ["10-31", "11-30", "12-31", "01-31", "02-28", "03-31", "04-30"]


@pytest.mark.parametrize(
    ("interval", "anchor", "finish", "expected"),
    [
        ("1 month", "2026-09-15", "2026-10-01", "2026-10-15"),  # before the anchor's day
        ("1 month", "2026-09-15", "2026-10-15", "2026-11-15"),
        ("2 months", "2026-02-02", "2026-03-01", "2026-04-02"),
        ("2 months", "2026-02-02", "2026-04-02", "2026-06-02"),
        ("1 month", "2026-01-31", "2026-02-28", "2026-03-31"),
        ("1 month", "2026-01-31", "2026-02-27", "2026-02-28"),
        ("1 year", "2024-02-29", "2026-01-01", "2026-02-28"),
        ("1 year", "2024-02-29", "2027-03-01", "2028-02-29"),
        ("1 month", "2027-05-05", "2026-01-01", "2027-05-05"),  # an anchor to come
        ("3 days", "2026-01-01", "2026-01-05", "2026-01-07"),
        ("1 week", "2026-01-01", "2026-01-08", "2026-01-15"),
    ],
)
def test_calendar_points(interval: str, anchor: str, finish: str, expected: str) -> None:
    start, moment, point = (
        datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (anchor, finish, expected)
    )
    assert grid(interval, start).first_after(moment) == point


@pytest.mark.parametrize(
    "change", [datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)]
)
@pytest.mark.parametrize("hour", [0, 2, 3, 12, 23])
def test_one_run_for_each_local_day_at_the_same_time_on_the_wall(
    change: datetime, hour: int
) -> None:
    first = (change - timedelta(days=3)).date()
    anchor = datetime(first.year, first.month, first.day, hour, 30, tzinfo=BERLIN)
    starts = run_on(grid("1 day", anchor, "Europe/Berlin"), anchor, 7)
    local = [start.astimezone(BERLIN) for start in starts]
    assert [day.toordinal() for day in local] == [first.toordinal() + index for index in range(7)]
    in_gap = hour == 2 and change.month == 3
    assert {f"{moment:%H:%M}" for moment in local} == (
        {"02:30", "03:00"} if in_gap else {f"{hour:02}:30"}
    )


def test_an_hourly_grid_skips_the_missing_hour_and_runs_in_both_repeated_ones() -> None:
    for change in (datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)):
        starts = run_on(grid("1h", change, "Europe/Berlin"), change, 5)
        assert starts == [change + index * timedelta(hours=1) for index in range(5)]


def test_an_anchor_in_the_second_pass_of_a_fold_is_itself_the_first_point() -> None:
    anchor = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1)
    instant = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    points = grid("1 day", anchor, "Europe/Berlin")
    assert points.first_after(instant - timedelta(hours=2)) == instant
    assert points.first_after(instant) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)


def test_a_day_skipped_by_the_zone_adds_no_run() -> None:
    zone = ZoneInfo("Pacific/Apia")
    anchor = datetime(2011, 12, 28, 0, tzinfo=zone)
    starts = run_on(grid("1 day", anchor, "Pacific/Apia"), anchor, 4)
    assert [f"{start.astimezone(zone):%d %H:%M}" for start in starts] == [
        "28 00:00",
        "29 00:00",
        "31 00:00",
        "01 00:00",
    ]


def test_fractions_of_a_second_are_kept() -> None:
    anchor = NOON + timedelta(microseconds=7)
    assert grid("1 day", anchor).first_after(NOON) == anchor
    assert grid("1 day", anchor).first_after(anchor) == anchor + timedelta(days=1)
    assert grid("7us", anchor).first_after(anchor) == anchor + timedelta(microseconds=7)


def test_an_invalid_grid_is_refused() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 - what is refused
    with pytest.raises(InvalidRequest, match="anchor"):
        grid("1h", naive)
    with pytest.raises(InvalidRequest, match="unknown time zone"):
        grid("1h", NOON, "Nowhere")
    with pytest.raises(InvalidRequest, match="time zone"):
        grid("1h").first_after(naive)
