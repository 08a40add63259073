"""The meaning of cron expressions, on a clock without daylight saving."""

import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from horae.domain.cron.expression import CronExpression
from horae.errors import CronSyntaxError, InvalidRequest

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday
MINUTE = timedelta(minutes=1)


def fires(text: str, count: int, after: datetime = NEW_YEAR) -> list[str]:
    return [
        f"{fire:%Y-%m-%d %H:%M:%S}" for fire in CronExpression.parse(text).upcoming(after, count)
    ]


def days(text: str, count: int, after: datetime = NEW_YEAR) -> list[str]:
    return [fire[:10] for fire in fires(text, count, after)]


def values(text: str, position: int) -> tuple[int, ...]:
    return CronExpression.parse(text).fields[position].values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30 8 * * *", ["2026-01-01 08:30:00", "2026-01-02 08:30:00"]),
        ("*/30 * * * *", ["2026-01-01 00:30:00", "2026-01-01 01:00:00"]),
        ("15,45 23 * * *", ["2026-01-01 23:15:00", "2026-01-01 23:45:00", "2026-01-02 23:15:00"]),
        ("20/30 0 * * *", ["2026-01-01 00:20:00", "2026-01-01 00:50:00", "2026-01-02 00:20:00"]),
        ("10-20/5 3 * * *", ["2026-01-01 03:10:00", "2026-01-01 03:15:00", "2026-01-01 03:20:00"]),
        ("*/7 * * * *", ["2026-01-01 00:07:00", "2026-01-01 00:14:00"]),
        ("5 0 0 * * *", ["2026-01-01 00:00:05", "2026-01-02 00:00:05"]),
        ("*/20 59 23 * * *", ["2026-01-01 23:59:00", "2026-01-01 23:59:20", "2026-01-01 23:59:40"]),
        ("* * * * * *", ["2026-01-01 00:00:01", "2026-01-01 00:00:02"]),
        ("0 0 12 1 1 * 2027,2030", ["2027-01-01 12:00:00", "2030-01-01 12:00:00"]),
        ("0 0 1 */6 *", ["2026-07-01 00:00:00", "2027-01-01 00:00:00"]),
    ],
)
def test_fields_mean_what_crontab_says(text: str, expected: list[str]) -> None:
    assert fires(text, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", (0,)),
        ("7", (0,)),
        ("0,7", (0,)),
        ("5-7", (0, 5, 6)),
        ("1-7", (0, 1, 2, 3, 4, 5, 6)),
        ("6-7", (0, 6)),
        ("0-7", (0, 1, 2, 3, 4, 5, 6)),
        ("5-7/2", (0, 5)),
        ("1/2", (0, 1, 3, 5)),
        ("6/1", (0, 6)),
        ("7/2", (0,)),
        ("*/2", (0, 2, 4, 6)),
        ("*/3", (0, 3, 6)),
        ("*/5", (0, 5)),
        ("*/7", (0,)),
        ("5-5", (5,)),
        ("5-5/3", (5,)),
    ],
)
def test_sunday_is_0_and_7_and_folded_after_steps(text: str, expected: tuple[int, ...]) -> None:
    assert values(f"0 0 * * {text}", 5) == expected
    weekdays = {date.fromisoformat(day).isoweekday() % 7 for day in days(f"0 0 * * {text}", 14)}
    assert weekdays == set(expected)


def test_every_minute_of_a_weekday_goes_on_today() -> None:
    thursday_noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    sunday_noon = datetime(2026, 1, 4, 12, tzinfo=UTC)
    assert CronExpression.parse("* * * * 4").next_after(thursday_noon) == thursday_noon + MINUTE
    assert CronExpression.parse("* * * * 7").next_after(sunday_noon) == sunday_noon + MINUTE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 13 * 5", ["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"]),  # either
        ("0 0 * 6 5", ["2026-06-05", "2026-06-12", "2026-06-19", "2026-06-26"]),  # month always
        ("0 0 13 6 5", ["2026-06-05", "2026-06-12", "2026-06-13", "2026-06-19"]),
        ("0 0 */2 * 5", ["2026-01-09", "2026-01-23", "2026-02-13", "2026-02-27"]),  # both
        ("0 0 13 * */2", ["2026-01-13", "2026-06-13", "2026-08-13", "2026-09-13"]),
        ("0 0 13 * */1", ["2026-01-13", "2026-02-13", "2026-03-13"]),
        ("0 0 *,13 * 5", ["2026-01-02", "2026-01-09", "2026-01-16"]),
        ("0 0 13,*/20 * 5", ["2026-01-02", "2026-01-09", "2026-01-13", "2026-01-16"]),
        ("0 0 1-31 * 5", ["2026-01-02", "2026-01-03", "2026-01-04"]),  # a full range is no star
        ("0 0 1 * 0-6", ["2026-01-02", "2026-01-03", "2026-01-04"]),
        ("0 0 31 2 1", ["2026-02-02", "2026-02-09", "2026-02-16"]),  # a dead date, or Mondays
    ],
)
def test_the_rule_for_days(text: str, expected: list[str]) -> None:
    assert days(text, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 0 31 * *", 2026, ["2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31"]),
        ("0 0 30 2-3 *", 2026, ["2026-03-30", "2027-03-30"]),
        ("0 0 29 2 *", 2026, ["2028-02-29", "2032-02-29"]),
        ("0 0 29 2 */7", 2026, ["2032-02-29", "2060-02-29", "2088-02-29"]),
        ("0 0 29 2 *", 1998, ["2000-02-29", "2004-02-29"]),
        ("0 0 1 1 *", 2098, ["2099-01-01"]),
    ],
)
def test_short_months_and_leap_years(text: str, after: int, expected: list[str]) -> None:
    assert days(text, len(expected), datetime(after, 1, 1, tzinfo=UTC)) == expected


def test_after_the_last_year_there_is_no_fire() -> None:
    last_leap_day = datetime(2096, 2, 29, tzinfo=UTC)
    leap_day = CronExpression.parse("0 0 29 2 *")
    assert leap_day.next_after(last_leap_day) is None
    assert leap_day.next_after(last_leap_day, inclusive=True) == last_leap_day
    every_second = CronExpression.parse("* * * * * *")
    last = datetime(2099, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert every_second.next_after(last) is None
    assert every_second.upcoming(last - timedelta(seconds=2), 9) == [
        last - timedelta(seconds=1),
        last,
    ]
    assert every_second.next_after(datetime.max.replace(tzinfo=UTC)) is None


def test_a_single_year_ends() -> None:
    once = CronExpression.parse("0 0 0 1 1 * 1999")
    assert once.next_after(datetime(1998, 5, 5, tzinfo=UTC)) == datetime(1999, 1, 1, tzinfo=UTC)
    assert once.next_after(datetime(1999, 1, 1, tzinfo=UTC)) is None


def test_before_the_first_year_the_first_fire_is_next() -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    cron = CronExpression.parse("* * * * *")
    assert cron.next_after(datetime.min.replace(tzinfo=UTC)) == epoch
    assert cron.next_after(epoch - timedelta(microseconds=1), inclusive=True) == epoch
    assert cron.next_after(epoch, inclusive=True) == epoch
    assert cron.next_after(epoch) == epoch + MINUTE


def test_fractional_seconds_are_neither_lost_nor_rounded_back() -> None:
    cron = CronExpression.parse("* * * * * *")
    half_past = NEW_YEAR + timedelta(microseconds=500_000)
    following = NEW_YEAR + timedelta(seconds=1)
    assert cron.next_after(half_past) == following
    assert cron.next_after(half_past, inclusive=True) == following
    assert cron.next_after(NEW_YEAR) == following
    assert cron.next_after(NEW_YEAR, inclusive=True) == NEW_YEAR
    assert cron.next_after(following - timedelta(microseconds=1)) == following


def test_the_zone_of_the_moment_does_not_matter_and_the_answer_is_in_that_of_the_expression() -> (
    None
):
    cron = CronExpression.parse("0 3 * * *", timezone="Asia/Kathmandu")
    moment = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=-7)))
    fire = cron.next_after(moment)
    assert fire == datetime(2026, 1, 2, 3, tzinfo=ZoneInfo("Asia/Kathmandu"))
    assert fire is not None
    assert fire.tzinfo is ZoneInfo("Asia/Kathmandu")
    assert CronExpression.parse("0 3 * * *").next_after(moment) == datetime(
        2026, 1, 2, 3, tzinfo=UTC
    )


def test_naive_moments_are_refused() -> None:
    cron = CronExpression.parse("0 3 * * *")
    with pytest.raises(InvalidRequest, match="time zone"):
        cron.next_after(datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused
    with pytest.raises(InvalidRequest, match="time zone"):
        cron.upcoming(datetime(2026, 1, 1), 1)  # noqa: DTZ001 - what is refused


def test_negative_and_huge_counts_are_refused() -> None:
    cron = CronExpression.parse("0 3 * * *")
    assert cron.upcoming(NEW_YEAR, 0) == []
    for count in (-1, 10**9):
        with pytest.raises(InvalidRequest, match="count"):
            cron.upcoming(NEW_YEAR, count)


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("  0   3 *\t* *\n", "0 3 * * *"),
        ("05 003 01 1 *", "5 3 1 1 *"),
        ("00 00 00 1 1 * 2030", "0 0 0 1 1 * 2030"),
        ("00-010/02,00 * * * *", "0-10/2,0 * * * *"),
        ("0 0 3 * * *", "0 0 3 * * *"),
    ],
)
def test_str_gives_the_normalised_text(text: str, normalised: str) -> None:
    assert str(CronExpression.parse(text)) == normalised


def test_equal_expressions_are_equal_values() -> None:
    cron = CronExpression.parse("0 3 * * *", timezone="Europe/Berlin")
    assert cron == CronExpression.parse(" 0  03 * * *", timezone="Europe/Berlin")
    assert hash(cron) == hash(CronExpression.parse("0 3 * * *", timezone="Europe/Berlin"))
    assert cron != CronExpression.parse("0 3 * * *")
    assert cron != CronExpression.parse("0 3 * * *", timezone="Europe/Berlin", dst_gap="skip")
    assert cron != CronExpression.parse("0 3 * * *", timezone="Europe/Berlin", dst_fold="both")
    assert pickle.loads(pickle.dumps(cron)) == cron
    with pytest.raises(AttributeError):
        cron.text = "* * * * *"  # type: ignore[misc] # what is refused


@pytest.mark.parametrize("zone", ["Europe/Berln", "", "America", "../etc/passwd", "a\0b", "/UTC"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidRequest, match="unknown time zone"):
        CronExpression.parse("0 3 * * *", timezone=zone)


def test_a_mistyped_zone_gets_a_suggestion() -> None:
    with pytest.raises(InvalidRequest, match="did you mean Europe/Berlin"):
        CronExpression.parse("0 3 * * *", timezone="Europe/Berln")


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="dst_gap 'jump': expected one of shift, skip"):
        CronExpression.parse("0 3 * * *", dst_gap="jump")  # type: ignore[arg-type] # what is refused
    with pytest.raises(
        InvalidRequest, match="dst_fold 'last': expected one of first, second, both"
    ):
        CronExpression.parse("0 3 * * *", dst_fold="last")  # type: ignore[arg-type] # what is refused


@pytest.mark.parametrize(
    "text", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 0 29 2 * 2023", "0 0 0 31 1 */7 2023"]
)
def test_an_expression_that_can_never_fire_is_refused(text: str) -> None:
    with pytest.raises(CronSyntaxError, match="can never fire") as caught:
        CronExpression.parse(text)
    assert caught.value.text == text
    assert caught.value.hint == "to run only by hand, pause the schedule"
