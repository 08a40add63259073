"""The conditions of a search, and how its jobs are found: in growing ranges of ids, newest first.

A search reads one range of ids after another until it has enough jobs, so that a search that
matches many jobs is over after the first, small range. Each statement is planned for its own range,
and PostgreSQL chooses the index for it without regard to the order of the ids: for the sake of that
order it would read the whole table from its end, in the hope of finding enough jobs soon.
"""

import json
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
    true,
    union_all,
)

from horae.domain.jobs import (
    Bound,
    Condition,
    Field,
    HasId,
    HasParameter,
    InTime,
    Is,
    JobId,
    JobState,
    Lasted,
    Literal,
    Query,
    Term,
)
from horae.storage.engine import (
    Instant,
    Json,
    PerDatabase,
    keeps_rows_in_order,
    seconds_between,
    seconds_from_now,
)
from horae.storage.jobs.reading import OPEN_PARTS, JobFilter, conditions_of, lists_of
from horae.storage.jobs.tables import IS_SLOW, SLOW_SECONDS, job_tags, jobs

RANGES: Final = (10_000, 100_000, 2_000_000, 20_000_000)
"""Lengths of ranges: the first takes some milliseconds, long ones are read in parallel."""
SLOW: Final = 0.5
"""Seconds after which the next range is shorter, so that the search ends near its deadline."""
_WILDCARD: Final = re.compile(r"[\\%_]")
EXPONENTS_FROM: Final = 10**15
"""Floats slightly above this may be written with an exponent."""
_COLUMNS: Final = {
    Field.TYPE: jobs.c.type,
    Field.STATE: jobs.c.state,
    Field.QUEUE: jobs.c.queue,
    Field.OWNER: jobs.c.owner,
    Field.KEY: jobs.c.unique_key,
    Field.CREATED: jobs.c.created_at,
    Field.FINISHED: jobs.c.finished_at,
}
# These are two queries in one: for both values in one query SQLite would read the whole table.
BOUNDS: Final = select(
    select(func.min(jobs.c.id)).scalar_subquery(), select(func.max(jobs.c.id)).scalar_subquery()
)
# The range is written into the statement: PostgreSQL would reuse a plan that was made for a range
# of another length.
_low: Final = bindparam("low", type_=BigInteger(), literal_execute=True)
_high: Final = bindparam("high", type_=BigInteger(), literal_execute=True)
_IS_ENDED: Final = jobs.c.finished_at.is_not(None)
_IN_RANGE: Final = and_(jobs.c.id >= _low, jobs.c.id < _high)
_plain_id = literal_column("+horae_jobs.id", BigInteger())
_AFTER_INDEX: Final = and_(_plain_id >= _low, _plain_id < _high)
"""The range in a form for small indexes; with a plain column SQLite prefers the primary key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A query, and the job types in which each of its parameters may be searched, by path."""

    query: Query
    types: Mapping[tuple[str, ...], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Found:
    """Jobs, the newest first.

    `reached`: where the search stopped for lack of time, None if it was complete.
    """

    ids: list[JobId]
    reached: JobId | None = None


def find(
    connection: Connection,
    wanted: JobFilter,
    search: Search | None,
    *,
    limit: int,
    seconds: float | None = None,
    also: Sequence[ColumnElement[bool]] = (),
) -> Found:
    """Return the newest jobs that meet the filter, the search, and the conditions of the caller.

    After `seconds` it stops with what it has found.
    """
    matching = _matching(connection, wanted, search, also)
    newest = matching.order_by(matching.selected_columns.id.desc()).limit(limit)
    ids: list[JobId] = []

    def read(bounds: Mapping[str, int]) -> bool:
        ids.extend(JobId(id_) for id_ in connection.scalars(newest, {**lists_of(wanted), **bounds}))
        return len(ids) < limit

    reached = _read_ranges(connection, wanted, search, read, seconds)
    return Found(ids[:limit], reached)


def count(
    connection: Connection,
    wanted: JobFilter,
    search: Search | None,
    *,
    seconds: float,
    also: Sequence[ColumnElement[bool]] = (),
) -> tuple[int, bool]:
    """Return how many jobs meet the filter, and whether all were counted within the time."""
    matching = _matching(connection, wanted, search, also).subquery()
    counting = select(func.count()).select_from(matching)
    total = 0

    def read(bounds: Mapping[str, int]) -> bool:
        nonlocal total
        total += connection.execute(counting, {**lists_of(wanted), **bounds}).scalar_one()
        return True

    reached = _read_ranges(connection, wanted, search, read, seconds)
    return total, reached is None


def moment_in(connection: Connection, seconds: float) -> datetime:
    """Return the moment that is `seconds` from now, by the clock of the database."""
    return connection.execute(select(seconds_from_now(seconds))).scalar_one()


def _read_ranges(
    connection: Connection,
    wanted: JobFilter,
    search: Search | None,
    read: Callable[[Mapping[str, int]], bool],
    seconds: float | None,
) -> JobId | None:
    """Read ranges of ids while `read` returns True; return the last id if the time ran out."""
    first, last = connection.execute(BOUNDS).one()
    if first is None:
        return None
    high = last + 1 if wanted.before is None else min(wanted.before, last + 1)
    if wanted.ids is not None:
        first, high = (
            max(first, min(wanted.ids, default=high)),
            min(high, max(wanted.ids, default=0) + 1),
        )
    for term in () if search is None else search.query.terms:
        if isinstance(term.condition, HasId) and not term.negated:
            first, high = max(first, term.condition.id), min(high, term.condition.id + 1)
    deadline = None if seconds is None else time.monotonic() + seconds
    level = 0
    while high > first:
        low = max(high - RANGES[level], first)
        began = time.monotonic()
        if not read({"low": low, "high": high}):
            return None
        high, now = low, time.monotonic()
        if deadline is not None and now > deadline and high > first:
            return JobId(high)
        level = max(level - 1, 0) if now - began > SLOW else min(level + 1, len(RANGES) - 1)
    return None


def _matching(
    connection: Connection,
    wanted: JobFilter,
    search: Search | None,
    also: Sequence[ColumnElement[bool]],
) -> Select[Any]:
    """Return the ids in a range that match, in any order."""
    terms = () if search is None else search.query.terms
    states = _possible_states(wanted, terms)
    conditions = [*conditions_of(replace(wanted, before=None)), *also]
    for term in terms:
        assert search is not None
        condition = _of_condition(term.condition, search)
        # `NOT` would not match a job without the value, for which the condition is null.
        conditions.append(case((condition, false()), else_=true()) if term.negated else condition)
    in_order = keeps_rows_in_order(connection)
    is_narrow = wanted.types is not None or wanted.queues is not None or _has_own_index(terms)
    parts: list[ColumnElement[bool]] = []
    if JobState.FINISHED not in states:
        parts = _open_parts(states)
        named = [state for state in (JobState.FAILED, JobState.CANCELLED) if state in states]
        if named:
            parts.append(_unsuccessful(named))
        parts = parts or [false()]
    elif not in_order and is_narrow:
        # The indexes hold ended jobs; the states of open jobs have small indexes of their own.
        parts = [_IS_ENDED, *_open_parts(states)]
    chosen = select(jobs.c.id).where(_AFTER_INDEX if parts and in_order else _IN_RANGE, *conditions)
    if not parts and in_order:
        return chosen
    found = union_all(*(chosen.where(part) for part in parts)) if parts else chosen
    return select(found.cte("found").prefix_with("MATERIALIZED").c.id)


def _possible_states(wanted: JobFilter, terms: Sequence[Term]) -> frozenset[JobState]:
    """Return the states that the filter and the terms allow; if there are none, no job matches."""
    possible = frozenset(JobState) if wanted.states is None else frozenset(wanted.states)
    for condition, negated in ((term.condition, term.negated) for term in terms):
        if isinstance(condition, Is) and condition.field is Field.STATE:
            named = frozenset({JobState(condition.text)})
            possible = possible - named if negated else possible & named
        elif isinstance(condition, Is) and condition.field is Field.ERROR and not negated:
            possible &= {JobState.FAILED}
    return possible


def _open_parts(states: Collection[JobState]) -> list[ColumnElement[bool]]:
    """Return the conditions of the indexes of open jobs in these states, each once."""
    return [part for state, parts in OPEN_PARTS.items() if state in states for part in parts]


def _unsuccessful(states: Sequence[JobState]) -> ColumnElement[bool]:
    """Return the condition of the index of failed and cancelled jobs, for these states."""
    # It has the words of the index; SQLAlchemy would compare it with 1 on SQLite.
    named = " OR ".join(f"state = '{state}'" for state in states)
    condition = and_(text(f"({named})"))
    # With the second condition PostgreSQL can choose an index of ended jobs; SQLite would always
    # choose it.
    return PerDatabase(and_(condition, _IS_ENDED), condition)


def _has_own_index(terms: Sequence[Term]) -> bool:
    """Return whether few ended jobs can meet a term, which PostgreSQL finds by their index."""
    return any(
        isinstance(term.condition, HasParameter)
        or (isinstance(term.condition, Is) and term.condition.field in {Field.TYPE, Field.QUEUE})
        or (isinstance(term.condition, InTime) and term.condition.field is Field.CREATED)
        for term in terms
        if not term.negated
    )


def _of_condition(condition: Condition, search: Search) -> ColumnElement[bool]:
    match condition:
        case HasId(id=job_id):
            return jobs.c.id == job_id
        case Is():
            return _is(condition, technical=search.query.technical)
        case InTime(field=field, start=start, end=end):
            column = _COLUMNS[field]
            bounds = [] if start is None else [column >= _moment(start)]
            return and_(
                column.is_not(None), *bounds, *([] if end is None else [column < _moment(end)])
            )
        case Lasted():
            return _has_lasted(condition)
        case HasParameter(path=path, values=values):
            either = (_has_parameter(path, value) for value in values)
            return and_(jobs.c.type.in_(search.types[path]), or_(*either))
        case _:
            assert_never(condition)


def _is(condition: Is, *, technical: bool) -> ColumnElement[bool]:
    wanted = condition.text
    if condition.field is Field.ERROR:
        columns = [jobs.c.human_readable_error]
        if technical:
            columns.insert(0, jobs.c.error)
        # This state condition is that of the index of failed jobs.
        return and_(
            jobs.c.state == literal_column(f"'{JobState.FAILED}'"),
            or_(*(column.icontains(wanted, autoescape=True) for column in columns)),
        )
    if condition.field is Field.TAG:
        # The range is repeated: PostgreSQL does not infer it, and would read all jobs that have the
        # tag.
        having = select(job_tags.c.job_id).where(
            job_tags.c.tag == wanted, job_tags.c.job_id >= _low, job_tags.c.job_id < _high
        )
        # For a subquery SQLite would look the tag up for each job in the range.
        return PerDatabase(
            exists(having.where(job_tags.c.job_id == jobs.c.id)), jobs.c.id.in_(having)
        )
    column = _COLUMNS[condition.field]
    if not condition.prefix:
        return column == wanted
    # LIKE ignores case on SQLite.
    return PerDatabase(
        column.like(_WILDCARD.sub(r"\\\g<0>", wanted) + "%"),
        func.substr(column, 1, len(wanted)) == wanted,
    )


def _moment(bound: Bound) -> ColumnElement[datetime]:
    if isinstance(bound, timedelta):
        return seconds_from_now(-bound.total_seconds())
    return literal(bound, Instant())


def _has_lasted(condition: Lasted) -> ColumnElement[bool]:
    took = seconds_between(jobs.c.finished_at, jobs.c.started_at)
    conditions: list[ColumnElement[bool]] = [
        jobs.c.finished_at.is_not(None),
        jobs.c.started_at.is_not(None),
    ]
    if condition.least is not None:
        least = condition.least.total_seconds()
        conditions.append(took > least if condition.strictly else took >= least)
        if least > SLOW_SECONDS:
            conditions.append(IS_SLOW.repeat())
    if condition.most is not None:
        most = condition.most.total_seconds()
        conditions.append(took < most if condition.strictly else took <= most)
    return and_(*conditions)


def _has_parameter(path: Sequence[str], value: Literal) -> ColumnElement[bool]:
    document: Any = value
    for name in reversed(path):
        document = {name: document}
    contains = jobs.c.params.op("@>", is_comparison=True)(
        cast(literal(json.dumps(document), Text()), Json())
    )
    # SQLite has no index of parameters: it reads those of each job.
    place = "$" + "".join(f'."{name}"' for name in path)
    kind, found = func.json_type(jobs.c.params, place), func.json_extract(jobs.c.params, place)
    match value:
        case None | bool():
            matches = kind == json.dumps(value)
        case str():
            matches = and_(kind == "text", found == value)
        case _:
            matches = and_(kind.in_(["integer", "real"]), found == value)
    skipped = [(func.json_valid(jobs.c.params) == 0, false())]
    # A text that any JSON with the value contains; other values have several forms.
    written: str | None = None
    if isinstance(value, str):
        if value.isascii() and value.replace("-", "").replace("_", "").isalnum():
            written = value
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < EXPONENTS_FROM:
        written = str(value)  # the text also occurs in 4711.0, which is equal
    if written is not None:
        # Searching for the text is cheaper than parsing the parameters of each job.
        skipped.insert(0, (func.instr(jobs.c.params, written, type_=Integer()) == 0, false()))
    return PerDatabase(contains, case(*skipped, else_=matches))
