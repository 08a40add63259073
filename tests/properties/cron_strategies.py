"""Strategies for cron expressions and moments, which favour changes of the clocks."""

from datetime import UTC, datetime, timedelta
from typing import get_args
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from horae.domain.cron.expression import CronExpression
from horae.domain.cron.fields import FIELD_RANGES, FieldRange
from horae.domain.cron.wall_clock import DstFold, DstGap
from horae.errors import CronSyntaxError

# The instant at which the clocks change, with what is peculiar about the change.
CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),  # by half an hour
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 2, 15, 2, tzinfo=UTC)),  # negative daylight saving
    ("Africa/Casablanca", datetime(2026, 3, 22, 2, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2018, 11, 4, 3, tzinfo=UTC)),  # no midnight
    ("America/Sao_Paulo", datetime(2018, 2, 18, 2, tzinfo=UTC)),  # two evenings before midnight
    ("Asia/Beirut", datetime(2026, 3, 28, 22, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 3, 8, 5, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 11, 1, 5, tzinfo=UTC)),  # two midnights
    ("Antarctica/Casey", datetime(2018, 3, 10, 17, tzinfo=UTC)),  # by three hours
    ("Africa/Monrovia", datetime(1972, 1, 7, 0, 44, 30, tzinfo=UTC)),  # by 44 min 30 s
]
GAPS: st.SearchStrategy[DstGap] = st.sampled_from(get_args(DstGap))
FOLDS: st.SearchStrategy[DstFold] = st.sampled_from(get_args(DstFold))
ZONES = sorted({zone for zone, _ in CHANGES} | {"UTC", "Asia/Kathmandu", "Pacific/Apia"})


def numbers(field: FieldRange) -> st.SearchStrategy[int]:
    return st.integers(field.low, field.high)


@st.composite
def items(draw: st.DrawFn, field: FieldRange) -> str:
    first, last = sorted(draw(st.tuples(numbers(field), numbers(field))))
    step = draw(st.integers(1, field.size))
    plain = ["*", f"*/{step}", f"{first}", f"{first}-{last}", f"{first}/{step}"]
    return draw(st.sampled_from([*plain, f"{first}-{last}/{step}"]))


def field_texts(field: FieldRange) -> st.SearchStrategy[str]:
    lists = st.lists(items(field), min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), items(field), lists)


@st.composite
def cron_texts(draw: st.DrawFn, counts: tuple[int, ...] = (5, 6, 7)) -> str:
    """A text that is well formed; it may be one that never fires."""
    count = draw(st.sampled_from(counts))
    ranges = {5: FIELD_RANGES[1:6], 6: FIELD_RANGES[:6], 7: FIELD_RANGES}[count]
    return " ".join(draw(field_texts(field)) for field in ranges)


@st.composite
def expressions(draw: st.DrawFn, zones: list[str] = ZONES) -> CronExpression:
    zone = draw(st.sampled_from(zones))
    gap = draw(GAPS)
    fold = draw(FOLDS)
    text = draw(cron_texts().filter(fires))
    try:
        return CronExpression.parse(text, timezone=zone, dst_gap=gap, dst_fold=fold)
    except CronSyntaxError:  # its only times lie in gaps that are skipped
        return CronExpression.parse(text, timezone=zone, dst_gap="shift", dst_fold=fold)


def fires(text: str) -> bool:
    try:
        CronExpression.parse(text)
    except CronSyntaxError:
        return False
    return True


def instants(first_year: int, last_year: int) -> st.SearchStrategy[datetime]:
    start, end = datetime(first_year, 12, 30, tzinfo=UTC), datetime(last_year, 1, 3, tzinfo=UTC)
    return st.timedeltas(timedelta(0), end - start).map(start.__add__)


@st.composite
def moments(draw: st.DrawFn) -> datetime:
    """A moment of the years of cron, often near a change of the clocks, in any zone."""
    zone = ZoneInfo(draw(st.sampled_from(ZONES)))
    if draw(st.booleans()):
        return draw(instants(1969, 2100)).astimezone(zone)
    _, change = draw(st.sampled_from(CHANGES))
    near = draw(st.timedeltas(timedelta(hours=-30), timedelta(hours=30)))
    return (change + near).astimezone(zone)


@st.composite
def times_near_a_change(draw: st.DrawFn, change: datetime) -> str:
    """An expression that is likely to fire within hours of the change, stars or none."""
    second = draw(st.sampled_from(["0", "0", "*/20", "30"]))
    minute = draw(
        st.one_of(st.sampled_from(["0", "30", "*", "*/15", "0,30"]), items(FIELD_RANGES[1]))
    )
    hour = draw(
        st.one_of(st.sampled_from(["*", "0-3", "0", "1", "2", "23", "0,2"]), items(FIELD_RANGES[2]))
    )
    dates = st.sampled_from(
        ["* * *", f"{change.day} * *", "* * */2", "* * 6,0", "1 * 0", "*/2 * *"]
    )
    text = f"{minute} {hour} {draw(dates)}"
    if draw(st.booleans()):
        text = f"{second} {text}"
        text += draw(st.sampled_from(["", f" {change.year}", f" {change.year}-{change.year + 1}"]))
    return text
