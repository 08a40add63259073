"""Daylight saving, for each zone and policy."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from horae.domain.cron.expression import CronExpression
from horae.domain.cron.wall_clock import DstFold, DstGap

GAPS: tuple[DstGap, ...] = ("shift", "skip")
FOLDS: tuple[DstFold, ...] = ("first", "second", "both")
BERLIN = ZoneInfo("Europe/Berlin")


def fires(
    text: str, zone: str, day: str, gap: DstGap = "shift", fold: DstFold = "first"
) -> list[str]:
    """All fires of one local day, with offset."""
    cron = CronExpression.parse(text, timezone=zone, dst_gap=gap, dst_fold=fold)
    start = datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(days=1)
    listed: list[str] = []
    fire = cron.next_after(start)
    while fire is not None and fire - start < timedelta(days=3):
        listed.append(f"{fire:%Y-%m-%d %H:%M:%S%z}")
        fire = cron.next_after(fire)
    return [
        fire[11:].replace(":00+", "+").replace(":00-", "-") for fire in listed if fire[:10] == day
    ]


# 02:00 becomes 03:00.
SPRING = "2026-03-29"
# 03:00 becomes 02:00.
AUTUMN = "2026-10-25"


@pytest.mark.parametrize(
    ("text", "shift", "skip"),
    [
        ("30 2 * * *", ["03:00+0200"], []),
        ("0 2 * * *", ["03:00+0200"], []),
        ("0 3 * * *", ["03:00+0200"], ["03:00+0200"]),
        ("0,15,30 2 * * *", ["03:00+0200"], []),  # one run for all that is missed
        ("30 2,3 * * *", ["03:00+0200", "03:30+0200"], ["03:30+0200"]),
        ("0 2,3 * * *", ["03:00+0200"], ["03:00+0200"]),  # never two at one instant
        ("30 1 * * *", ["01:30+0100"], ["01:30+0100"]),
        ("30 2 29 3 *", ["03:00+0200"], []),
        ("15 30 2 * * *", ["03:00+0200"], []),
    ],
)
def test_a_fixed_time_in_a_gap_is_shifted_or_skipped(
    text: str, shift: list[str], skip: list[str]
) -> None:
    for fold in FOLDS:
        assert fires(text, "Europe/Berlin", SPRING, "shift", fold) == shift
        assert fires(text, "Europe/Berlin", SPRING, "skip", fold) == skip


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("30 2 * * *", ["02:30+0200"], ["02:30+0100"]),
        ("0 2 * * *", ["02:00+0200"], ["02:00+0100"]),
        ("0 3 * * *", ["03:00+0100"], ["03:00+0100"]),
        (
            "30 1,2,3 * * *",
            ["01:30+0200", "02:30+0200", "03:30+0100"],
            ["01:30+0200", "02:30+0100", "03:30+0100"],
        ),
    ],
)
def test_a_fixed_time_in_a_fold_runs_in_the_pass_that_was_chosen(
    text: str, first: list[str], second: list[str]
) -> None:
    for gap in GAPS:
        assert fires(text, "Europe/Berlin", AUTUMN, gap, "first") == first
        assert fires(text, "Europe/Berlin", AUTUMN, gap, "second") == second
        both = fires(text, "Europe/Berlin", AUTUMN, gap, "both")
        assert set(both) == {*first, *second}
        assert len(both) == len(set(both))


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize(
    "text", ["*/30 2 * * *", "30 * * * *", "30 */2 * * *", "* 30 2 * * *", "5,*/30 2 * * *"]
)
def test_a_star_in_second_minute_or_hour_follows_the_wall_clock(
    text: str, gap: DstGap, fold: DstFold
) -> None:
    spring = fires(text, "Europe/Berlin", SPRING, gap=gap, fold=fold)
    assert not [fire for fire in spring if fire.startswith("02")]
    assert ("03:00+0200" in spring) is False
    autumn = fires(text, "Europe/Berlin", AUTUMN, gap=gap, fold=fold)
    for wall in ("02:30+0200", "02:30+0100"):
        assert wall in autumn


def test_every_half_hour_keeps_its_rhythm() -> None:
    cron = CronExpression.parse("*/30 * * * *", timezone="Europe/Berlin")
    for change in (datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)):
        listed = [fire.astimezone(UTC) for fire in cron.upcoming(change, 10)]
        assert listed == [change + (index + 1) * timedelta(minutes=30) for index in range(10)]


@pytest.mark.parametrize("day", [SPRING, AUTUMN, "2026-06-01"])
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("fold", FOLDS)
def test_five_six_and_seven_fields_are_alike(day: str, gap: DstGap, fold: DstFold) -> None:
    for times in ("30 2", "0,30 2,3", "* 2", "30 *", "*/20 1-3"):
        five, six, seven = (
            fires(text, "Europe/Berlin", day, gap, fold)
            for text in (f"{times} * * *", f"0 {times} * * *", f"0 {times} * * * 2026")
        )
        assert five == six == seven


@pytest.mark.parametrize(
    ("zone", "day", "text", "expected"),
    [
        ("America/New_York", "2026-03-08", "30 2 * * *", ["03:00-0400"]),
        ("America/New_York", "2026-11-01", "30 1 * * *", ["01:30-0400"]),
        # Lord Howe moves by half an hour.
        ("Australia/Lord_Howe", "2026-10-04", "15 2 * * *", ["02:30+1100"]),
        (
            "Australia/Lord_Howe",
            "2026-10-04",
            "30 1-4 * * *",
            ["01:30+1030", "02:30+1100", "03:30+1100", "04:30+1100"],
        ),
        ("Australia/Lord_Howe", "2026-04-05", "45 1 * * *", ["01:45+1100"]),
        # Casablanca takes its hour back for Ramadan: daylight saving with a negative amount.
        ("Africa/Casablanca", "2026-02-15", "30 2 * * *", ["02:30+0100"]),
        ("Africa/Casablanca", "2026-03-22", "30 2 * * *", ["03:00+0100"]),
        # No midnight at all.
        ("America/Sao_Paulo", "2018-11-04", "0 0 * * *", ["01:00-0200"]),
        ("Asia/Beirut", "2026-03-29", "0 0 * * *", ["01:00+0300"]),
        ("America/Havana", "2026-03-08", "0 0 * * *", ["01:00-0400"]),
        ("America/Havana", "2026-03-08", "0 0 8 3 *", ["01:00-0400"]),
        # Two midnights, and two hours before midnight.
        ("America/Havana", "2026-11-01", "0 0 * * *", ["00:00-0400"]),
        ("America/Sao_Paulo", "2018-02-17", "30 23 * * *", ["23:30-0200"]),
        ("America/Sao_Paulo", "2018-02-18", "0 0 * * *", ["00:00-0300"]),
        # A day that Samoa never had.
        ("Pacific/Apia", "2011-12-30", "0 3 * * *", []),
        ("Pacific/Apia", "2011-12-31", "0 3 * * *", ["00:00+1400", "03:00+1400"]),
    ],
)
def test_zones_with_peculiar_changes(zone: str, day: str, text: str, expected: list[str]) -> None:
    assert fires(text, zone, day) == expected


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("fold", FOLDS)
def test_every_hour_of_the_wall_fires_once_a_year_but_for_the_changes(
    zone: str, gap: DstGap, fold: DstFold
) -> None:
    hours = ",".join(map(str, range(24)))
    quarter_to = CronExpression.parse(
        f"45 {hours} * * *", timezone=zone, dst_gap=gap, dst_fold=fold
    )
    start, end = (datetime(year, 1, 1, tzinfo=ZoneInfo(zone)) for year in (2021, 2023))
    listed = [fire for fire in quarter_to.upcoming(start, 20_000) if fire < end]
    every_hour = 24 * (datetime(2023, 1, 1, tzinfo=UTC) - datetime(2021, 1, 1, tzinfo=UTC)).days
    # Of Lord Howe's missing half hour from 02:00, 02:45 is not a part.
    missing = 0 if zone == "Australia/Lord_Howe" or gap == "shift" else 2
    assert len(listed) == every_hour - missing + (2 if fold == "both" else 0)
    odd = [fire for fire in listed if fire.minute != 45]
    assert len(odd) == (0 if zone == "Australia/Lord_Howe" or gap == "skip" else 2)


def test_hourly_at_half_past_loses_nothing_in_a_half_hour_zone() -> None:
    listed = fires("30 * * * *", "Australia/Lord_Howe", "2026-10-04")
    assert listed[:4] == ["00:30+1030", "01:30+1030", "02:30+1100", "03:30+1100"]
    assert len(listed) == 24


def test_from_the_second_pass_the_answer_is_later_not_earlier() -> None:
    daily = CronExpression.parse("30 2 * * *", timezone="Europe/Berlin")
    second_pass = datetime(2026, 10, 25, 2, 10, tzinfo=BERLIN, fold=1)
    assert daily.next_after(second_pass) == datetime(2026, 10, 26, 2, 30, tzinfo=BERLIN)
    in_both = CronExpression.parse("30 2 * * *", timezone="Europe/Berlin", dst_fold="both")
    fire = in_both.next_after(second_pass)
    assert fire is not None
    assert fire.astimezone(UTC) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert fire.fold == 1


def test_a_shifted_fire_is_found_at_its_own_instant_and_just_before_it() -> None:
    daily = CronExpression.parse("30 2 * * *", timezone="Europe/Berlin")
    end_of_gap = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert daily.next_after(end_of_gap, inclusive=True) == end_of_gap
    assert daily.next_after(end_of_gap - timedelta(microseconds=1)) == end_of_gap
    assert daily.next_after(end_of_gap) == datetime(2026, 3, 30, 2, 30, tzinfo=BERLIN)


def test_the_last_fire_of_an_expression_can_be_in_the_second_pass() -> None:
    once = CronExpression.parse("0 30 2 25 10 * 2026", timezone="Europe/Berlin", dst_fold="both")
    first, second = (datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1))
    assert [fire.astimezone(UTC) for fire in once.upcoming(first, 9, inclusive=True)] == [
        first,
        second,
    ]
    assert once.next_after(second) is None


def test_a_time_that_exists_only_in_a_skipped_gap_is_refused() -> None:
    text = "0 30 2 29 3 * 2026"
    CronExpression.parse(text, timezone="Europe/Berlin")
    with pytest.raises(ValueError, match="can never fire"):
        CronExpression.parse(text, timezone="Europe/Berlin", dst_gap="skip")
