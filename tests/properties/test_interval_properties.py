"""Laws of intervals, grids and recovery that hold for every value, zone and moment."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import get_args
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from horae.domain.backoff import Growth
from horae.domain.schedules.recovery import failure_delay
from horae.domain.times.grid import Grid
from horae.domain.times.interval import Interval
from horae.errors import InvalidInterval
from tests.properties.cron_strategies import ZONES, moments

MICROSECOND = timedelta(microseconds=1)
YEAR = 365 * 86_400 * 10**6
SEEDS = st.integers(0, 2**32)
GROWTHS = st.sampled_from(get_args(Growth))

elapsed = st.integers(1, YEAR).map(lambda part: Interval(microseconds=part))
short = st.integers(1, 10**9).map(lambda part: Interval(microseconds=part))
calendar = st.one_of(
    st.integers(1, 36).map(lambda part: Interval(months=part)),
    st.integers(1, 400).map(lambda part: Interval(days=part)),
)
intervals = st.one_of(elapsed, short, calendar)
zones = st.sampled_from(ZONES)


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    return Grid(draw(intervals), draw(moments()), draw(zones))


@given(intervals)
def test_an_interval_reads_back_from_its_text(interval: Interval) -> None:
    assert Interval.parse(str(interval)) == interval


@given(st.one_of(st.text(max_size=30), st.text("0123456789.,-PT YMWDHSmhsdayo", max_size=15)))
@example("\ud800")
def test_any_text_is_a_positive_interval_or_refused(text: str) -> None:
    try:
        interval = Interval.parse(text)
    except InvalidInterval:
        return
    assert interval.nominal > timedelta(0)


@given(intervals, moments(), zones)
def test_an_interval_later_is_later(interval: Interval, moment: datetime, zone: str) -> None:
    assert interval.after(moment, zone) > moment.astimezone(UTC)


@given(grids(), moments())
def test_the_next_point_is_after_the_finish_and_not_before_the_anchor(
    grid: Grid, finish: datetime
) -> None:
    point = grid.first_after(finish)
    assert point > finish.astimezone(UTC)
    assert point >= grid.anchor.astimezone(UTC)


@given(grids(), st.integers(0, 200))
def test_each_point_of_a_grid_is_returned_once(grid: Grid, index: int) -> None:
    point = grid.point(index)
    later = next(each for each in map(grid.point, range(index + 1, index + 10)) if each > point)
    assert grid.first_after(point - MICROSECOND) <= point
    assert grid.first_after(point) == later
    assert grid.first_after(later - MICROSECOND) == later


@given(st.integers(1, 60), moments(), st.integers(0, 200), zones)
def test_a_calendar_grid_keeps_the_time_on_the_wall(
    days: int, anchor: datetime, index: int, zone: str
) -> None:
    info = ZoneInfo(zone)
    wall = anchor.astimezone(info).replace(tzinfo=None) + timedelta(days=days * index)
    point = Grid(Interval(days=days), anchor, zone).point(index).astimezone(info)
    exists = wall.replace(tzinfo=info).astimezone(UTC).astimezone(info).replace(tzinfo=None) == wall
    assert not exists or point.replace(tzinfo=None) == wall
    assert exists or point.replace(tzinfo=None) > wall


@given(st.integers(1, 10**9), short, intervals, GROWTHS, SEEDS)
@example(10**9, Interval(months=1200), Interval(months=1200), "exponential", 0)
@example(10**9, Interval(microseconds=1), Interval(microseconds=1), "linear", 0)
def test_the_wait_after_failures_is_positive_and_bounded(
    failures: int, retry: Interval, interval: Interval, growth: Growth, seed: int
) -> None:
    wait = failure_delay(failures, retry, interval, growth, Random(seed))
    factor = {
        "exponential": 1 << min(failures - 1, 90),
        "linear": min(failures, 20),
        "constant": 1,
    }[growth]
    middle = min(retry.nominal // MICROSECOND * factor, 5 * interval.nominal // MICROSECOND)
    bound = min(middle, timedelta(days=36_525) // MICROSECOND)
    assert wait > timedelta(0)
    assert 8 * abs(wait // MICROSECOND - bound) <= bound
