"""Any query as a text that reads back as the same, for the properties of the search."""

from datetime import datetime, timedelta
from typing import assert_never

from horae.domain.jobs.query.moments import DAYS
from horae.domain.jobs.query.parsing import written_term
from horae.domain.jobs.query.terms import (
    Attempted,
    Bound,
    Condition,
    Contains,
    DayAgo,
    Field,
    HasId,
    HasParameter,
    InGroup,
    InTime,
    Is,
    Lasted,
    Query,
)
from horae.domain.times.interval_text import Amounts, write_interval


def print_query(query: Query) -> str:
    """Return the text of a query, its terms in their order."""
    return " ".join(
        f"{'-' if term.negated else ''}{_text_of(term.condition)}" for term in query.terms
    )


def _text_of(condition: Condition) -> str:
    match condition:
        case Is(field=field, texts=texts, prefixes=prefixes):
            names = [*(_value(text) for text in texts), *(f"{prefix}*" for prefix in prefixes)]
            found = f"{field}:{','.join(names)}"
        case Contains(field=field, text=text):
            found = f"{field}:{_value(text)}"
        case HasId(ids=ids):
            found = f"{Field.ID}:{','.join(map(str, ids))}"
        case InGroup(id=group):
            found = f"{Field.GROUP}:{group}"
        case HasParameter(path=path, values=values):
            value = _value(str(values[0])) if len(values) == 1 else str(values[-1])
            found = f"params.{'.'.join(path)}:{value}"
        case InTime():
            found = _time_of(condition)
        case Lasted():
            found = _range_of(
                condition.field,
                None if condition.least is None else write_duration(condition.least),
                None if condition.most is None else write_duration(condition.most),
                strictly=condition.strictly,
            )
        case Attempted(least=least, most=most):
            low, high = (None if each is None else str(each) for each in (least, most))
            found = _range_of(Field.ATTEMPTS, low, high, strictly=False)
        case _:
            assert_never(condition)
    return found


def _range_of(field: Field, low: str | None, high: str | None, *, strictly: bool) -> str:
    if low is not None and high is not None:
        return f"{field}:{low}..{high}"
    sign = ">" if low is not None else "<"
    return f"{field}{sign}{'' if strictly else '='}{low or high or ''}"


def _value(text: str) -> str:
    return written_term("", text).removeprefix(":")


def _time_of(condition: InTime) -> str:
    start, end = condition.start, condition.end
    if start is None and end in DAYS.values():
        return f"{condition.field}<{_bound(end)}"
    # A range holds the whole day at its end.
    last = DayAgo(end.days + 1) if isinstance(end, DayAgo) else end
    return f"{condition.field}:{_bound(start)}..{_bound(last)}"


def _bound(bound: Bound | None) -> str:
    match bound:
        case None:
            return ""
        case datetime():
            return bound.isoformat()
        case timedelta():
            return write_duration(bound)
        case DayAgo():
            return next(name for name, day in DAYS.items() if day == bound)


def write_duration(length: timedelta) -> str:
    return write_interval(Amounts(0, 0, length // timedelta(microseconds=1))) or "0s"
