r"""The search of jobs: `type:import* params.customer_id:4711 -state:finished
created:2026-11-01..2026-11-22`.

A query is a list of terms, separated by spaces, that a job must all meet:

    query    = term { " " term }
    term     = [ "-" ] field ":" value            "-" in front: the job must not meet the term
    field    = "id" | "type" | "state" | "queue" | "owner" | "key" | "tag" | "error" | "params."
    path
             | "created" | "finished" | "duration"
    path     = name { "." name }                  the name of a parameter, then names within it
    value    = word | '"' text '"'                within quotes \" and \\ stand for " and \
    range    = low ".." high | low ".." | ".." high | ">" low | "<" high

`created` and `finished` take a range of days (`2026-11-01`), of moments (`2026-11-01T10:00+01:00`,
UTC without a zone) or of ages (`2h`), or one day. An age counts back from now, so `>2h` is longer
ago than two hours. `duration` takes a range of durations (`30s`, `1h30m`).
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from horae.domain.jobs.job import JobState
from horae.domain.names import LONGEST_NAME
from horae.domain.storable import is_storable
from horae.domain.times import parse_duration
from horae.errors import InvalidRequest
from horae.quoting import quoted

MOST_CHARACTERS: Final = 1_000
"""Characters of a query; more would be a statement that takes the database long to plan."""
MOST_TERMS: Final = 20
"""Terms of a query; each is a condition that the database checks for each job that it reads."""
MOST_NAMES: Final = 10
"""Names in the path of a parameter."""
LARGEST_ID: Final = 2**63 - 1
"""The largest id that a database can store."""

Literal: TypeAlias = str | int | float | bool | None
Bound: TypeAlias = datetime | timedelta
"""A moment, or an age: how long before now."""


class Field(StrEnum):
    """What a term compares, other than a parameter."""

    ID = "id"
    TYPE = "type"
    STATE = "state"
    QUEUE = "queue"
    OWNER = "owner"
    KEY = "key"
    TAG = "tag"
    ERROR = "error"
    CREATED = "created"
    FINISHED = "finished"
    DURATION = "duration"


@dataclass(frozen=True, slots=True)
class Is:
    """The field is this text, or begins with it; for `error`: contains it.

    Case counts, except for `error`.
    """

    field: Field
    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class HasId:
    """The job has this id."""

    id: int


@dataclass(frozen=True, slots=True)
class HasParameter:
    """The parameter at `path` is one of these values: `4711` may be a number or a text."""

    path: tuple[str, ...]
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class InTime:
    """The moment is not before `start` and is before `end`; None is no bound."""

    field: Field
    start: Bound | None
    end: Bound | None


@dataclass(frozen=True, slots=True)
class Lasted:
    """An ended job ran for at least and at most these durations since the start of its last
    attempt.

    The bounds themselves match, unless `strictly`.
    """

    least: timedelta | None
    most: timedelta | None
    strictly: bool = False


Condition: TypeAlias = Is | HasId | HasParameter | InTime | Lasted


@dataclass(frozen=True, slots=True)
class Term:
    """A condition that a job must meet, or must not meet."""

    condition: Condition
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """The terms that a job must all meet.

    `technical`: whether `error` also searches the error text for developers, which owners do not
    see.
    """

    terms: tuple[Term, ...]
    technical: bool = True


def parse_query(text: object, *, technical: bool = True) -> Query:
    """Parse a query.

    Raises `InvalidRequest`, which names the term, its position, and what is allowed.
    """
    if not isinstance(text, str):
        raise InvalidRequest(
            f"query {quoted(text)}: expected a text such as type:import* state:failed"
        )
    if len(text) > MOST_CHARACTERS:
        raise InvalidRequest(
            f"the query has {len(text):,} characters; at most {MOST_CHARACTERS:,} are allowed"
        )
    if not is_storable(text):
        raise InvalidRequest("the query has a character that no job can contain, such as NUL")
    terms = tuple(_terms(text))
    if not terms:
        raise InvalidRequest(
            "the query is empty; write terms such as type:import* state:failed; fields are"
            f" {_FIELDS}"
        )
    return Query(terms, technical)


_FIELDS: Final = ", ".join([*Field, "params.NAME"])
_WORD: Final = re.compile(
    r'\s*(?P<minus>-?)(?P<field>[^\s:"]*)(?P<colon>:?)(?P<value>"(?:[^"\\]|\\.)*"|[^\s"]*)'
)
_PLAIN_JSON: Final = re.compile(
    r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


def _terms(text: str) -> Iterator[Term]:
    place, count = 0, 0
    while text[place:].strip():
        found = _WORD.match(text, place)
        start = place + len(text[place:]) - len(text[place:].lstrip())
        where = f"query, character {start + 1}"
        if found is None or found.end() == start:
            raise InvalidRequest(
                f"{where}: {quoted(text[start:], 20)}: expected a term such as owner:alice"
            )
        following = text[found.end() : found.end() + 1]
        if following and not following.isspace():
            raise InvalidRequest(
                f"{where}: {quoted(text[start:], 20)}: quotes enclose a whole value, as in"
                ' owner:"Ann Lee", and are closed; within them write \\" for a quote'
            )
        count += 1
        if count > MOST_TERMS:
            raise InvalidRequest(f"{where}: the query has more than {MOST_TERMS} terms")
        yield _term(found, where)
        place = found.end()


def _term(found: re.Match[str], where: str) -> Term:
    field, value = found["field"], found["value"]
    written = quoted(found[0].strip())
    if not found["colon"]:
        raise InvalidRequest(f"{where}: {written}: expected field:value; fields are {_FIELDS}")
    is_quoted = value.startswith('"')
    plain = _ESCAPE.sub(r"\1", value[1:-1]) if is_quoted else value
    if not plain:
        raise InvalidRequest(
            f"{where}: {written}: the value is missing; write it after the colon, without a space"
        )
    parse = _PARSERS.get(field)
    if parse is None and not field.startswith("params."):
        hint = "; a parameter is params.NAME:value" if field.startswith("param") else ""
        raise InvalidRequest(
            f"{where}: {written}: there is no field {quoted(field)}; fields are {_FIELDS}{hint}"
        )
    try:
        if parse is None:
            condition: Condition = HasParameter(_path(field), _literals(plain, is_quoted=is_quoted))
        else:
            condition = parse(Field(field), plain, is_quoted)
    except InvalidRequest as error:
        raise InvalidRequest(f"{where}: {written}: {error}") from None
    return Term(condition, negated=bool(found["minus"]))


def _path(field: str) -> tuple[str, ...]:
    names = tuple(field.split(".")[1:])
    if not all(names):
        raise InvalidRequest(
            "expected params.NAME, or params.NAME.NAME for a value within a parameter"
        )
    if "\\" in field:
        # SQLite 3.45 and later read `pass\u0077ord` in a path as `password`, which may be a secret.
        raise InvalidRequest(
            "a name in the path of a parameter cannot have a backslash; write it without escapes"
        )
    if len(names) > MOST_NAMES:
        raise InvalidRequest(f"the path of a parameter has at most {MOST_NAMES} names")
    return names


def _literals(value: str, *, is_quoted: bool) -> tuple[Literal, ...]:
    """Return the values that a text may stand for: in quotes it is always a text."""
    if is_quoted or _PLAIN_JSON.fullmatch(value) is None:
        return (value,)
    read: Literal = json.loads(value)
    if isinstance(read, float) and not math.isfinite(read):
        return (value,)
    if isinstance(read, int) and abs(read) > LARGEST_ID:
        return (value,)
    return (read, value)


# The following functions are the parsers of the table below.
def _id(_field: Field, value: str, _is_quoted: bool) -> Condition:
    if (
        not value.isascii()
        or not value.isdigit()
        or len(value) > len(str(LARGEST_ID))
        or int(value) > LARGEST_ID
    ):
        raise InvalidRequest("expected the number of a job, such as id:4711")
    return HasId(int(value))


def _name(field: Field, value: str, is_quoted: bool) -> Condition:
    prefix = field in _WITH_PREFIX and value.endswith("*") and not is_quoted
    text = value[:-1] if prefix else value
    if len(text) > LONGEST_NAME:
        raise InvalidRequest(
            f"the value has {len(text)} characters; at most {LONGEST_NAME} are possible"
        )
    if "*" in text and field in _WITH_PREFIX and not is_quoted:
        raise InvalidRequest("* is allowed only at the end; put a value that contains it in quotes")
    if prefix and not text:
        raise InvalidRequest("expected the beginning of a name before the *")
    return Is(field, text, prefix)


def _state(field: Field, value: str, _is_quoted: bool) -> Condition:
    if value not in list(JobState):
        raise InvalidRequest(f"the state is unknown; allowed are {', '.join(JobState)}")
    return Is(field, value)


def _time(field: Field, value: str, _is_quoted: bool) -> Condition:
    low, high, is_range = _ends(value)
    if not is_range:
        start, end = _moment(value)
        if isinstance(start, timedelta) or start == end:
            raise InvalidRequest(_EXPECTED_TIME)
        return InTime(field, start, end)
    if value.startswith((">", "<")) and low != high:
        first, last = _moment(low or high)
        if isinstance(first, timedelta):  # an age: `>2h` is longer ago
            return InTime(field, None, first) if low else InTime(field, first, None)
        return InTime(field, last, None) if low else InTime(field, None, first)
    start_, end_ = (_moment(low)[0] if low else None), (_moment(high)[1] if high else None)
    # The earlier one of two moments has the greater age.
    if (isinstance(start_, datetime) and isinstance(end_, datetime) and start_ >= end_) or (
        isinstance(start_, timedelta) and isinstance(end_, timedelta) and start_ <= end_
    ):
        raise InvalidRequest(
            f"{quoted(low)} is not before {quoted(high)}; write the earlier one first"
        )
    return InTime(field, start_, end_)


_EXPECTED_TIME: Final = (
    "expected a day such as 2026-11-22, or a range of days, moments or ages:"
    " 2026-11-01..2026-11-22, 2026-11-22T10:00.., >2h (longer ago than two hours), <2h"
)
LATEST: Final = datetime.max.replace(tzinfo=UTC)
"""The end of the last day: there is none after it."""
_AGE: Final = re.compile(r"\d+(?:\.\d+)?\s*[a-z]", re.IGNORECASE)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def _moment(text: str) -> tuple[Bound, Bound]:
    """Return the moment or the age, twice; for a day its beginning and its end."""
    if _AGE.match(text):
        age = parse_duration("age", text)
        return age, age
    try:
        moment = datetime.fromisoformat(text)
        known = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        known = known.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidRequest(_EXPECTED_TIME) from None
    if not _DAY.fullmatch(text):
        return known, known
    return known, LATEST if known.date() == LATEST.date() else known + timedelta(days=1)


def _duration(_field: Field, value: str, _is_quoted: bool) -> Condition:
    low, high, is_range = _ends(value)
    if not is_range:
        raise InvalidRequest("expected a range of durations, such as >30s, <5m or 30s..5m")
    least = parse_duration("duration", low) if low else None
    most = parse_duration("duration", high) if high else None
    if least is not None and most is not None and least > most:
        raise InvalidRequest(
            f"{quoted(low)} is longer than {quoted(high)}; write the shorter one first"
        )
    return Lasted(least, most, strictly=value.startswith((">", "<")))


def _ends(value: str) -> tuple[str, str, bool]:
    """Return the ends of a range, of which one may be empty, and whether the text is a range."""
    if value.startswith(">"):
        low, high, is_range = value[1:].strip(), "", True
    elif value.startswith("<"):
        low, high, is_range = "", value[1:].strip(), True
    else:
        low, dots, high = value.partition("..")
        low, high, is_range = low.strip(), high.strip(), bool(dots)
    if is_range and not (low or high):
        raise InvalidRequest("the range has neither a beginning nor an end")
    return low, high, is_range


_WITH_PREFIX: Final = frozenset({Field.TYPE})
_PARSERS: Final[Mapping[str, Callable[[Field, str, bool], Condition]]] = {
    Field.ID: _id,
    Field.TYPE: _name,
    Field.STATE: _state,
    Field.QUEUE: _name,
    Field.OWNER: _name,
    Field.KEY: _name,
    Field.TAG: _name,
    Field.ERROR: lambda field, value, _: Is(field, value),
    Field.CREATED: _time,
    Field.FINISHED: _time,
    Field.DURATION: _duration,
}


def written_term(field: Field, value: str) -> str:
    """Return the term that finds the jobs whose `field` is exactly this text."""
    if _PLAIN.fullmatch(value):
        return f"{field}:{value}"
    text = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{field}:"{text}"'


_PLAIN: Final = re.compile(r"[\w-]+")
