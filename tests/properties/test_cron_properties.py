"""Laws of cron that hold for every expression, zone, policy and moment."""

import itertools
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from croniter import CroniterError, croniter
from cronsim import CronSim, CronSimError
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from horae.domain.cron.expression import CronExpression
from horae.domain.cron.fields import FIELD_RANGES, WEEKDAY, FieldRange
from horae.domain.cron.parsing import complete, parse_field
from horae.errors import CronSyntaxError
from tests.properties.cron_oracle import chosen_by, every_day, fires_in, matches_date, to_utc
from tests.properties.cron_strategies import (
    CHANGES,
    FOLDS,
    GAPS,
    ZONES,
    cron_texts,
    expressions,
    fires,
    instants,
    items,
    moments,
    times_near_a_change,
)

MICROSECOND = timedelta(microseconds=1)
WINDOW = timedelta(hours=5)


def utc(moment: datetime) -> datetime:
    """The instant itself: two moments of one zone would be compared by their wall times."""
    return moment.astimezone(UTC)


@given(expressions(), moments())
def test_the_next_fire_is_a_later_whole_second_in_the_zone(
    cron: CronExpression, moment: datetime
) -> None:
    fire = cron.next_after(moment)
    if fire is not None:
        assert utc(fire) > utc(moment)
        assert fire.microsecond == 0
        assert fire.tzinfo in (UTC, ZoneInfo(cron.timezone))


@given(expressions(), moments())
def test_a_fire_is_its_own_answer_when_asked_inclusively(
    cron: CronExpression, moment: datetime
) -> None:
    fire = cron.next_after(moment)
    assume(fire is not None)
    assert fire is not None
    assert utc(cron.next_after(fire, inclusive=True) or moment) == utc(fire)
    assert utc(cron.next_after(utc(fire), inclusive=True) or moment) == utc(fire)


@given(expressions(), moments(), st.timedeltas(timedelta(0), timedelta(days=400)), st.booleans())
def test_a_later_moment_never_has_an_earlier_fire(
    cron: CronExpression,
    moment: datetime,
    wait: timedelta,
    inclusive: bool,
) -> None:
    fire = cron.next_after(moment, inclusive=inclusive)
    later = cron.next_after(utc(moment) + wait, inclusive=inclusive)
    if later is not None:
        assert fire is not None
        assert utc(later) >= utc(fire)


@given(expressions(), moments(), st.floats(0, 1, exclude_max=True))
def test_every_moment_between_two_fires_has_the_same_next_one(
    cron: CronExpression, moment: datetime, share: float
) -> None:
    two = cron.upcoming(moment, 2)
    assume(len(two) == 2)
    first, second = map(utc, two)
    between = first + min((second - first) * share, second - first - MICROSECOND)
    for asked in (between, between.astimezone(ZoneInfo("Australia/Lord_Howe"))):
        assert to_utc([cron.next_after(asked) or asked]) == [second]
    for inclusive in (False, True):
        shortly_before = second - MICROSECOND
        fire = cron.next_after(shortly_before, inclusive=inclusive)
        assert to_utc([fire or shortly_before]) == [second]


@given(expressions(), moments(), st.integers(1, 20))
def test_upcoming_fires_are_those_asked_for_one_by_one(
    cron: CronExpression, moment: datetime, count: int
) -> None:
    one_by_one: list[datetime] = []
    fire = cron.next_after(moment)
    while fire is not None and len(one_by_one) < count:
        one_by_one.append(fire)
        fire = cron.next_after(fire)
    assert cron.upcoming(moment, count) == one_by_one


@given(cron_texts().filter(fires), st.sampled_from(ZONES))
def test_the_normalised_text_parses_to_an_equal_value(text: str, zone: str) -> None:
    cron = CronExpression.parse(text, timezone=zone)
    again = CronExpression.parse(str(cron), timezone=zone)
    assert again == cron
    assert hash(again) == hash(cron)
    assert again.fields == cron.fields


@given(cron_texts())
@example("0 0 30 2 *")
@example("0 0 0 29 2 */7 2000-2030/4")
@example("0 0 0 29 2 */7 2000-2032/4")
def test_an_expression_refused_as_never_firing_matches_no_date(text: str) -> None:
    try:
        cron = CronExpression.parse(text)
    except CronSyntaxError as error:
        refusal = error
    else:
        assert cron.next_after(datetime(1960, 1, 1, tzinfo=UTC)) is not None
        return
    assert "it can never fire" in str(refusal)
    fields = map(parse_field, FIELD_RANGES, complete(tuple(text.split())))
    chosen = chosen_by(tuple(fields))
    assert not any(matches_date(chosen, day) for day in every_day())


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(CHANGES))
def test_every_second_around_a_change_of_the_clocks_is_judged_by_the_rules(
    data: st.DataObject, place: tuple[str, datetime]
) -> None:
    zone, change = place
    cron = CronExpression.parse(
        data.draw(times_near_a_change(change)),
        timezone=zone,
        dst_gap=data.draw(GAPS),
        dst_fold=data.draw(FOLDS),
    )
    start = change - WINDOW / 2
    expected = fires_in(cron, start, WINDOW)
    listed = to_utc(cron.upcoming(start, len(expected) + 1, inclusive=True))
    assert listed[: len(expected)] == expected
    assert all(fire >= start + WINDOW for fire in listed[len(expected) :])


# Both read 5-5 or 5-5/2 as something else than the one value that it says.
RANGE_OF_ONE = re.compile(r"\b([0-9]+)-\1\b")


def by_croniter(text: str, moment: datetime, count: int) -> list[datetime]:
    cursor = croniter(text, moment)
    return [utc(cursor.get_next(datetime)) for _ in range(count)]


def by_cronsim(text: str, moment: datetime, count: int) -> list[datetime]:
    cursor = CronSim(text, moment)
    return [utc(next(cursor)) for _ in range(count)]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
def test_results_match_croniter_and_cronsim_where_they_agree(
    zone: str, data: st.DataObject
) -> None:
    text = data.draw(cron_texts(counts=(5,)).filter(fires))
    assume(not RANGE_OF_ONE.search(text))
    moment = data.draw(instants(1990, 2060)).astimezone(ZoneInfo(zone))
    try:
        theirs = by_croniter(text, moment, 5)
        assume(theirs == by_cronsim(text, moment, 5))
    except (CroniterError, CronSimError, StopIteration):
        assume(False)
        raise
    assert to_utc(CronExpression.parse(text, timezone=zone).upcoming(moment, 5)) == theirs


LOOKALIKES = st.text(
    st.sampled_from("0123456789*/-, \t?LW#@+_.\u0663\uff15MONSUJAFEBxyz\u00a0\n"), max_size=40
)


@st.composite
def distorted(draw: st.DrawFn) -> str:
    text, at = draw(cron_texts()), draw(st.integers(0, 30))
    return text[:at] + draw(st.text(max_size=3)) + text[at:]


@given(st.one_of(st.text(max_size=60), LOOKALIKES, distorted()))
@example("\ud800 * * * *")
@example("9" * 10_000 + " * * * *")
@example("*/" + "9" * 5_000 + " * * * *")
@example("1," * 20_000 + "1 * * * *")
@example("0 0 0 * * * " + "1970-2099," * 100 + "1970")
def test_any_text_fires_or_is_refused_with_a_reason(text: str) -> None:
    try:
        cron = CronExpression.parse(text)
    except CronSyntaxError as error:
        refusal = error
    else:
        assert cron.next_after(datetime(1970, 1, 1, tzinfo=UTC), inclusive=True) is not None
        return
    assert refusal.allowed
    assert refusal.text is not None
    assert len(str(refusal)) < 1000


NOTATIONS = [
    "?",
    "?/15",
    "*/200",
    "5/200",
    "7-2",
    "7-2/3",
    "22-2/3",
    "L",
    "LW",
    "3W",
    "1#2",
    "MON#5",
    "5L",
    "٣",
    "99",
    "*/0",
    "",
]
NAMES = [
    "MON",
    "sun",
    "Sat-Mon",
    "FRI-TUE/2",
    "Wednesday",
    "JAN",
    "nov-feb",
    "OCT-MAR/3",
    "May/40",
    "MON-99",
]


@given(
    field=st.sampled_from(FIELD_RANGES),
    data=st.data(),
)
@settings(max_examples=300)
def test_what_a_refusal_advises_to_write_can_be_read(
    field: FieldRange, data: st.DataObject
) -> None:
    item = st.one_of(items(field), st.sampled_from([*NOTATIONS, *NAMES]))
    text = ",".join(data.draw(st.lists(item, min_size=1, max_size=3)))
    try:
        parse_field(field, text)
    except CronSyntaxError as error:
        for advised in re.findall("write ([0-9*,/-]+)", error.hint or ""):
            parse_field(field, advised)


@pytest.mark.parametrize("step", range(1, 8))
def test_ranges_of_weekdays_by_name_are_advised_as_the_same_days(step: int) -> None:
    """Also over the end of the week, and in steps."""
    days = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
    for first, last in itertools.product(range(7), repeat=2):
        with pytest.raises(CronSyntaxError) as refused:
            parse_field(WEEKDAY, f"{days[first]}-{days[last]}/{step}")
        advised = str(refused.value.hint).removeprefix("write ")
        meant = {number % 7 for number in range(first, last + 1 + 7 * (last < first), step)}
        assert set(parse_field(WEEKDAY, advised).values) == meant, advised
