"""The times of a query: how days, moments and ages are read, and what they mean at a moment."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Final

from horae.domain.jobs.query.terms import Bound, DayAgo, Field, InTime, Query, Term
from horae.domain.times import load_zone, parse_duration
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.sentences import Sentence, SentenceCode

EXPECTED_TIME: Final = Sentence(
    "expected a day such as 2026-11-22, today or yesterday, or a range of days, moments or ages:"
    ' 2026-11-01..2026-11-22, >="2026-11-22 10:00", >2h (longer ago than two hours), <2h',
    SentenceCode.QUERY_TIME,
)
LATEST: Final = datetime.max.replace(tzinfo=UTC)
"""The end of the last day: there is none after it."""
DAYS: Final = {"today": DayAgo(0), "yesterday": DayAgo(1)}
NOW: Final = "now"
_AGE: Final = re.compile(r"\d+(?:\.\d+)?\s*[a-z]", re.IGNORECASE)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The ends of a range as they are written, of which one may be empty.

    `strictly`: the ends themselves are not in it.
    """

    low: str
    high: str
    strictly: bool = False


def range_of(value: str) -> ValueRange | None:
    """Return the range that a value names; None if it is one value."""
    if value.startswith((">", "<")):
        end = value[1:].removeprefix("=").strip()
        strictly = not value[1:].startswith("=")
        found = ValueRange(end, "", strictly) if value[0] == ">" else ValueRange("", end, strictly)
    else:
        low, dots, high = value.partition("..")
        if not dots:
            return None
        found = ValueRange(low.strip(), high.strip())
    if not (found.low or found.high):
        raise InvalidRequest(
            "the range has neither a beginning nor an end", SentenceCode.QUERY_RANGE_EMPTY
        )
    return found


def time_of(field: Field, value: str, zone: tzinfo) -> InTime:
    """Return the condition of a time. Raises `InvalidRequest`."""
    if field is Field.SINCE:
        return InTime(Field.CREATED, _span_of(value, zone)[0], None)
    if field is Field.UNTIL:
        return InTime(Field.CREATED, None, _span_of(value, zone)[1])
    ends = range_of(value)
    if ends is None:
        start, end = _span_of(value, zone)
        if isinstance(start, timedelta) or start == end:
            raise InvalidRequest(EXPECTED_TIME)
        return InTime(field, start, end)
    low = _span_of(ends.low, zone) if ends.low else None
    high = _span_of(ends.high, zone) if ends.high else None
    # With > and < an age counts back: `>2h` is longer ago.
    if low is not None and high is None and isinstance(low[0], timedelta) and value[0] == ">":
        return InTime(field, None, low[0])
    if high is not None and low is None and isinstance(high[0], timedelta) and value[0] == "<":
        return InTime(field, high[0], None)
    start_ = None if low is None else low[1 if ends.strictly else 0]
    end_ = None if high is None else high[0 if ends.strictly else 1]
    if isinstance(start_, DayAgo) and start_.days < 0:
        raise InvalidRequest(
            "that is after today; write >=today for the jobs of today",
            SentenceCode.QUERY_AFTER_TODAY,
        )
    if start_ is not None and end_ is not None and _is_not_before(start_, end_):
        raise InvalidRequest(
            f"{quoted(ends.low)} is not before {quoted(ends.high)}; write the earlier one first",
            SentenceCode.QUERY_RANGE_REVERSED,
            low=ends.low,
            high=ends.high,
        )
    return InTime(field, start_, end_)


def has_days(query: Query) -> bool:
    """Return whether a term names a day by its distance from today."""
    conditions = [term.condition for term in query.terms]
    return any(
        isinstance(bound, DayAgo)
        for condition in conditions
        if isinstance(condition, InTime)
        for bound in (condition.start, condition.end)
    )


def dated(query: Query, now: datetime, *, ages: bool = False) -> Query:
    """Return the query with moments in place of days such as yesterday.

    `ages`: in place of ages as well, so that its meaning does not change.
    """
    zone = load_zone(query.zone)

    def moment(bound: Bound | None) -> Bound | None:
        match bound:
            case DayAgo(days=days):
                try:
                    day = now.astimezone(zone).date() - timedelta(days=days)
                    return datetime.combine(day, time(), zone).astimezone(UTC)
                except OverflowError:
                    return LATEST
            case timedelta() if ages:
                try:
                    return now - bound
                except OverflowError:  # before the years that a datetime can hold
                    return bound
            case _:
                return bound

    terms: list[Term] = []
    for term in query.terms:
        condition = term.condition
        if isinstance(condition, InTime):
            start, end = moment(condition.start), moment(condition.end)
            condition = replace(condition, start=start, end=end)
        terms.append(replace(term, condition=condition))
    return replace(query, terms=tuple(terms))


def _span_of(text: str, zone: tzinfo) -> tuple[Bound, Bound]:
    """Return the moment or the age, twice; for a day its beginning and its end."""
    if text in DAYS:
        day = DAYS[text]
        return day, DayAgo(day.days - 1)
    if text == NOW:
        return timedelta(0), timedelta(0)
    if _AGE.match(text):
        age = parse_duration("age", text)
        return age, age
    try:
        moment = datetime.fromisoformat(text)
        if not _DAY.fullmatch(text):
            known = _in_utc(moment, zone)
            return known, known
        start = _in_utc(moment, zone)
        if moment.date() == LATEST.date():
            return start, LATEST
        return start, _in_utc(moment + timedelta(days=1), zone)
    except (ValueError, OverflowError):
        raise InvalidRequest(EXPECTED_TIME) from None


def _in_utc(moment: datetime, zone: tzinfo) -> datetime:
    known = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
    return known.astimezone(UTC)


def _is_not_before(start: Bound, end: Bound) -> bool:
    """Return whether a start cannot come before an end; ends of two kinds may always do so."""
    match start, end:
        case datetime(), datetime():
            return start >= end
        case timedelta(), timedelta():  # the earlier one of two moments has the greater age
            return start <= end
        case DayAgo(), DayAgo():
            return start.days <= end.days
        case _:
            return False
