r"""Reads a query, such as `type:import* customer:4711 -state:finished since:yesterday "timed out"`.

A query is a list of terms, separated by spaces, that a job must all meet:

    query    = term { " " term }
    term     = [ "-" ] ( field operator value | value )    "-": the job must not meet the term
    operator = ":" | ">" | ">=" | "<" | "<="              the last four for times and numbers
    field    = "id" | "type" | "state" | "queue" | "owner" | "key" | "tag" | "schedule" | "group"
             | "error" | "text" | "created" | "finished" | "since" | "until" | "duration" | "wait"
             | "attempts" | [ "params." ] path
    path     = name { "." name }                  the name of a parameter, then names within it
    value    = item { "," item }                  one of these; only for names, states and ids
    item     = word | '"' text '"'                within quotes \" and \\ stand for " and \
    range    = low ".." high | low ".." | ".." high | ">" low | ">=" low | "<" high | "<=" high

A value without a field is an id if it is a whole number, and else a text that the job contains.

`created` and `finished` take a range of days (`2026-11-01`, `today`, `yesterday`), of moments
(`2026-11-01T10:00+01:00`, without an offset in the zone of the query) or of ages (`2h`), or one
day. An age counts back from now, so `>2h` is longer ago than two hours. `since` and `until` are the
ends of `created`. `duration` and `wait` take a range of durations (`30s`, `1h30m`), `attempts` a
number or a range of numbers.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from horae.domain.jobs.job import JobState
from horae.domain.jobs.query.moments import range_of, time_of
from horae.domain.jobs.query.terms import (
    MOST_CHARACTERS,
    MOST_NAMES,
    MOST_TERMS,
    Attempted,
    Condition,
    Contains,
    Field,
    HasId,
    HasParameter,
    InGroup,
    Is,
    Lasted,
    Literal,
    Query,
    Term,
)
from horae.domain.names import LONGEST_NAME
from horae.domain.storable import LARGEST_ID, is_storable
from horae.domain.times import load_zone, parse_duration
from horae.errors import InvalidQuery, InvalidRequest
from horae.quoting import did_you_mean, most_similar, quoted
from horae.sentences import Sentence, SentenceCode, sentence_of

_PLAIN_JSON: Final = re.compile(
    r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@/][\w@/.+-]*", re.ASCII)
_FIELDS: Final = ", ".join([*Field, "params.NAME"])
_QUOTES: Final = Sentence(
    'quotes enclose a whole value, as in owner:"Ann Lee", and are closed; within them write \\" for'
    " a quote",
    SentenceCode.QUERY_QUOTES,
)
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_TERM: Final = re.compile(
    r'(?P<minus>-?)(?:(?P<field>[^\s:"<>]+)(?P<operator>:|>=|<=|>|<))?'
    rf'(?P<value>(?:{_QUOTED}|[^\s"])*)',
    re.DOTALL,
)
_ITEM: Final = re.compile(rf'(?P<item>{_QUOTED}|[^",]+)(?:,|$)', re.DOTALL)
_SPACE: Final = re.compile(r"\s*")
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*(?:\.\w+)*")
_MOST_ATTEMPTS: Final = 10**9
"""More attempts than any job can have."""


def parse_query(text: object, *, technical: bool = True, zone: str = "UTC") -> Query:
    """Parse a query whose days are those of a time zone, by its IANA name.

    Raises `InvalidQuery`, which names the term, its position, and what is allowed, and
    `InvalidRequest` for an unknown zone.
    """
    days = load_zone(zone)
    if not isinstance(text, str):
        raise InvalidRequest(
            f"query {quoted(text)}: expected a text such as type:import* state:failed"
        )
    if len(text) > MOST_CHARACTERS:
        raise InvalidQuery(
            Sentence(
                f"the query has {len(text):,} characters; at most {MOST_CHARACTERS:,} are allowed",
                SentenceCode.QUERY_TOO_LONG,
                count=len(text),
                most=MOST_CHARACTERS,
            ),
            text=text,
            position=MOST_CHARACTERS + 1,
        )
    if not is_storable(text):
        raise InvalidQuery(
            Sentence(
                "the query has a character that no job can contain, such as NUL",
                SentenceCode.QUERY_CHARACTER,
            ),
            text=text,
        )
    terms = tuple(_terms(text, days))
    if not terms:
        raise InvalidQuery(
            Sentence(
                "the query is empty; write terms such as type:import* state:failed; fields are"
                f" {_FIELDS}",
                SentenceCode.QUERY_EMPTY,
                fields=_FIELDS,
            ),
            text=text,
        )
    return Query(terms, technical, zone, text)


def written_term(field: str, value: str) -> str:
    """Return the term that finds the jobs whose `field` is exactly this text.

    The value is written so that it is neither a number, nor a list, nor a beginning.
    """
    if _PLAIN.fullmatch(value) and not _PLAIN_JSON.fullmatch(value):
        return f"{field}:{value}"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{field}:"{escaped}"'


@dataclass(frozen=True, slots=True)
class _Value:
    """The value of a term: as it stands there, and without its quotes.

    `items`: the parts between commas, each with whether it was in quotes.
    """

    text: str
    is_quoted: bool
    items: tuple[tuple[str, bool], ...]


def _terms(text: str, zone: tzinfo) -> Iterator[Term]:
    def refuse(problem: str, term: str | None = None, *, length: int) -> InvalidQuery:
        what = problem if term is None else f"{quoted(term)}: {problem}"
        return InvalidQuery(
            Sentence(
                f"query, character {start + 1}: {what}",
                SentenceCode.QUERY_AT,
                position=start + 1,
                term=None if term is None else quoted(term),
                problem=problem,
            ),
            text=text,
            position=start + 1,
            length=length,
        )

    start, count = _end_of_space(text, 0), 0
    while start < len(text):
        found = _TERM.match(text, start)
        assert found is not None  # each of its parts may be empty
        end = found.end()
        if end < len(text) and not text[end].isspace():
            raise refuse(_QUOTES, text[start:], length=len(text) - start)
        count += 1
        if count > MOST_TERMS:
            problem = Sentence(
                f"the query has more than {MOST_TERMS} terms",
                SentenceCode.QUERY_TOO_MANY,
                most=MOST_TERMS,
            )
            raise refuse(problem, length=len(text) - start)
        try:
            condition = _condition(found, zone)
        except InvalidRequest as error:
            raise refuse(sentence_of(error), found[0], length=end - start) from None
        yield Term(condition, bool(found["minus"]), (start + 1, end - start))
        start = _end_of_space(text, end)


def _end_of_space(text: str, place: int) -> int:
    space = _SPACE.match(text, place)
    return place if space is None else space.end()


def _condition(found: re.Match[str], zone: tzinfo) -> Condition:
    name = found["field"]
    field = next((each for each in Field if each == name), None)
    operator, written = _operator(field, found["operator"] or "", found["value"])
    value = _value(written)
    if not value.text:
        if not operator:
            raise InvalidRequest(
                "expected a term such as owner:alice after the -", SentenceCode.QUERY_MINUS
            )
        raise InvalidRequest(
            f"the value is missing; write it after {operator} without a space",
            SentenceCode.QUERY_VALUE_MISSING,
            operator=operator,
        )
    if name is None:
        if len(value.items) > 1 and '"' in value.text:
            raise InvalidRequest("put the whole text in quotes", SentenceCode.QUERY_ONE_VALUE)
        number = value.text.removeprefix("#")
        if not value.is_quoted and _is_id(number):
            return HasId((int(number),))
        return Contains(Field.TEXT, value.text)
    if operator != ":":
        if field not in _WITH_ORDER:
            raise InvalidRequest(
                f"{operator} compares {', '.join(_WITH_ORDER)}; write {name}:{written}",
                SentenceCode.QUERY_OPERATOR,
                operator=operator,
                fields=", ".join(_WITH_ORDER),
                instead=f"{name}:{written}",
            )
        value = _Value(operator + value.text, value.is_quoted, ())
    if len(value.items) > 1 and '"' in written and field not in _WITH_LIST:
        raise InvalidRequest(
            f"{name} takes one value; put the whole of it in quotes", SentenceCode.QUERY_ONE_VALUE
        )
    if field is None:
        return HasParameter(_path(name), _literals(value))
    if field in _TIMES:
        return time_of(field, value.text, zone)
    return _PARSERS[field](field, value)


def _operator(field: Field | None, operator: str, value: str) -> tuple[str, str]:
    """Return the operator and the value behind it: `created:>=today` is `created>=today`."""
    comparison = _COMPARISONS.get(field) if operator == ":" else None
    compared = comparison.match(value) if comparison else None
    return (compared[0], value[compared.end() :]) if compared else (operator, value)


def _value(written: str) -> _Value:
    """Take the quotes off a value and off each of its parts. Raises `InvalidRequest`."""
    items: list[tuple[str, bool]] = []
    place = 0
    while place < len(written):
        item = _ITEM.match(written, place)
        if item is None:
            break
        part = item["item"]
        is_quoted = part.startswith('"')
        items.append((_ESCAPE.sub(r"\1", part[1:-1]) if is_quoted else part, is_quoted))
        place = item.end()
    is_whole = place == len(written) and not written.endswith(",")
    if not is_whole:
        if '"' in written:
            raise InvalidRequest(_QUOTES)
        items = []
    text, is_quoted = items[0] if len(items) == 1 else (written, False)
    return _Value(text, is_quoted, tuple(items))


def _path(field: str) -> tuple[str, ...]:
    names = field.split(".")
    if names[0] == "params" and len(names) > 1:
        names = names[1:]
    elif names[0] == "params" or not _IDENTIFIER.fullmatch(field):
        hint = "; a parameter is params.NAME:value" if field.startswith("param") else ""
        meant = did_you_mean(field, map(str, Field))
        raise InvalidRequest(
            f"there is no field {quoted(field)}{meant}; fields are {_FIELDS}{hint}; put a text"
            " that contains a colon in quotes",
            SentenceCode.QUERY_FIELD_UNKNOWN,
            field=quoted(field),
            meant=most_similar(field, map(str, Field)),
            fields=_FIELDS,
        )
    if not all(names):
        raise InvalidRequest(
            "expected params.NAME, or params.NAME.NAME for a value within a parameter",
            SentenceCode.QUERY_PATH,
        )
    if "\\" in field:
        # SQLite 3.45 and later read `pass\u0077ord` in a path as `password`, which may be a secret.
        raise InvalidRequest(
            "a name in the path of a parameter cannot have a backslash; write it without escapes",
            SentenceCode.QUERY_PATH,
        )
    if len(names) > MOST_NAMES:
        raise InvalidRequest(
            f"the path of a parameter has at most {MOST_NAMES} names",
            SentenceCode.QUERY_PATH_TOO_LONG,
            most=MOST_NAMES,
        )
    return tuple(names)


def _literals(value: _Value) -> tuple[Literal, ...]:
    """Return the values that a text may stand for: in quotes it is always a text."""
    text = value.text
    if value.is_quoted or _PLAIN_JSON.fullmatch(text) is None:
        return (text,)
    read: Literal = json.loads(text)
    if isinstance(read, float) and not math.isfinite(read):
        return (text,)
    if isinstance(read, int) and abs(read) > LARGEST_ID:
        return (text,)
    return (read, text)


def _is_id(text: str) -> bool:
    return (
        text.isascii()
        and text.isdigit()
        and len(text) <= len(str(LARGEST_ID))
        and int(text) <= LARGEST_ID
    )


# The following functions are the parsers of the table below.
def _ids(_field: Field, value: _Value) -> Condition:
    if not value.items or not all(_is_id(item) for item, _ in value.items):
        raise InvalidRequest(
            "expected the number of a job, such as id:4711, or id:4711,4712", SentenceCode.QUERY_JOB
        )
    return HasId(tuple(int(item) for item, _ in value.items))


def _group(_field: Field, value: _Value) -> Condition:
    if not _is_id(value.text):
        raise InvalidRequest(
            "expected the number of a group, such as group:12", SentenceCode.QUERY_GROUP
        )
    return InGroup(int(value.text))


def _names(field: Field, value: _Value) -> Condition:
    if not value.items or not all(item for item, _ in value.items):
        raise InvalidRequest(
            "a name is missing; names are separated by one comma, without spaces",
            SentenceCode.QUERY_NAME_MISSING,
        )
    texts: list[str] = []
    prefixes: list[str] = []
    for item, is_quoted in value.items:
        may_begin = field in _WITH_PREFIX and not is_quoted
        text = item.removesuffix("*") if may_begin else item
        if len(text) > LONGEST_NAME:
            raise InvalidRequest(
                f"the value has {len(text)} characters; at most {LONGEST_NAME} are possible",
                SentenceCode.VALUE_TOO_LONG,
                bound=str(LONGEST_NAME),
            )
        if may_begin and "*" in text:
            raise InvalidRequest(
                "* is allowed only at the end; put a value that contains it in quotes",
                SentenceCode.QUERY_STAR,
            )
        if not text:
            raise InvalidRequest(
                "expected the beginning of a name before the *", SentenceCode.QUERY_STAR_ALONE
            )
        (texts if text == item else prefixes).append(text)
    return Is(field, tuple(texts), tuple(prefixes))


def _states(field: Field, value: _Value) -> Condition:
    for item, _ in value.items or (("", False),):
        if item not in list(JobState):
            raise InvalidRequest(
                f"the state is unknown{did_you_mean(item, map(str, JobState))}; allowed are"
                f" {', '.join(JobState)}",
                SentenceCode.QUERY_STATE,
                meant=most_similar(item, map(str, JobState)),
                states=", ".join(JobState),
            )
    return Is(field, tuple(item for item, _ in value.items))


def _text(field: Field, value: _Value) -> Condition:
    return Contains(field, value.text)


def _durations(field: Field, value: _Value) -> Condition:
    ends = range_of(value.text)
    if ends is None:
        raise InvalidRequest(
            "expected a range of durations, such as >30s, <5m or 30s..5m",
            SentenceCode.QUERY_DURATION,
        )
    least = parse_duration(field, ends.low) if ends.low else None
    most = parse_duration(field, ends.high) if ends.high else None
    if least is not None and most is not None and least > most:
        raise InvalidRequest(
            f"{quoted(ends.low)} is longer than {quoted(ends.high)}; write the shorter one first",
            SentenceCode.QUERY_LONGER_FIRST,
            low=ends.low,
            high=ends.high,
        )
    return Lasted(field, least, most, strictly=ends.strictly)


def _attempts(_field: Field, value: _Value) -> Condition:
    ends = range_of(value.text)
    if ends is None:
        number = _number(value.text)
        return Attempted(number, number)
    least = _number(ends.low) if ends.low else None
    most = _number(ends.high) if ends.high else None
    if ends.strictly:
        least = None if least is None else least + 1
        most = None if most is None else most - 1
    if most is not None and most < (least or 0):
        raise InvalidRequest(
            "there is no such number of attempts; write the smaller number first",
            SentenceCode.QUERY_NO_SUCH_NUMBER,
        )
    return Attempted(least, most)


def _number(text: str) -> int:
    if not (_is_id(text) and int(text) <= _MOST_ATTEMPTS):
        raise InvalidRequest(
            "expected a number of attempts, such as attempts:3 or attempts>=3",
            SentenceCode.QUERY_NUMBER,
        )
    return int(text)


_WITH_PREFIX: Final = frozenset({Field.TYPE})
_TIMES: Final = frozenset({Field.CREATED, Field.FINISHED, Field.SINCE, Field.UNTIL})
_WITH_LIST: Final = frozenset(
    {
        Field.ID,
        Field.TYPE,
        Field.STATE,
        Field.QUEUE,
        Field.OWNER,
        Field.KEY,
        Field.TAG,
        Field.SCHEDULE,
    }
)
_WITH_ORDER: Final = (
    Field.CREATED,
    Field.FINISHED,
    Field.DURATION,
    Field.WAIT,
    Field.ATTEMPTS,
)
_COMPARISONS: Final[Mapping[Field | None, re.Pattern[str]]] = {
    **dict.fromkeys(_WITH_ORDER, re.compile("[<>]=?")),
    # Nobody looks for the text `>=100` in a parameter.
    None: re.compile(r"[<>]=?(?=-?[0-9.]+$)"),
}
"""What stands for an operator after a colon."""
_PARSERS: Final[Mapping[Field, Callable[[Field, _Value], Condition]]] = {
    Field.ID: _ids,
    Field.TYPE: _names,
    Field.STATE: _states,
    Field.QUEUE: _names,
    Field.OWNER: _names,
    Field.KEY: _names,
    Field.TAG: _names,
    Field.SCHEDULE: _names,
    Field.GROUP: _group,
    Field.ERROR: _text,
    Field.TEXT: _text,
    Field.DURATION: _durations,
    Field.WAIT: _durations,
    Field.ATTEMPTS: _attempts,
}
