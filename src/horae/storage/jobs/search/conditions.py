"""The conditions of a search as SQL: of the filter of a list and of the terms of a query."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    false,
    func,
    literal,
    or_,
    select,
    true,
)

from horae.domain.jobs import (
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
    database_now,
    seconds_between,
    seconds_from_now,
)
from horae.storage.jobs.reading import JobFilter, conditions_of, in_group
from horae.storage.jobs.tables import IS_SLOW, SLOW_SECONDS, job_tags, jobs

# The range of ids is written into the statement: PostgreSQL would reuse a plan that was made for a
# range of another length.
LOW: Final = bindparam("low", type_=BigInteger(), literal_execute=True)
HIGH: Final = bindparam("high", type_=BigInteger(), literal_execute=True)
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
_TEXTS: Final = (
    jobs.c.type,
    jobs.c.queue,
    jobs.c.owner,
    jobs.c.unique_key,
    jobs.c.label,
    cast(jobs.c.tags, Text()),
)
"""What a text without a field is looked for in, besides the errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A query, and what its names stand for.

    `types`: the job types in which each of its parameters may be searched, by path. `schedules`:
    the ids of the schedules that it names.
    """

    query: Query
    types: Mapping[tuple[str, ...], Sequence[str]]
    schedules: Mapping[str, Sequence[int]]


def matching_conditions(wanted: JobFilter, search: Search | None) -> list[ColumnElement[bool]]:
    """Return what a job must meet besides its place in the list."""
    conditions = conditions_of(replace(wanted, before=None))
    for term in () if search is None else search.query.terms:
        assert search is not None
        condition = _of_condition(term.condition, search)
        # `NOT` would not match a job without the value, for which the condition is null.
        conditions.append(case((condition, false()), else_=true()) if term.negated else condition)
    return conditions


def possible_states(wanted: JobFilter, terms: Sequence[Term]) -> frozenset[JobState]:
    """Return the states that the filter and the terms allow; if there are none, no job matches."""
    possible = frozenset(JobState) if wanted.states is None else frozenset(wanted.states)
    for condition, negated in ((term.condition, term.negated) for term in terms):
        if isinstance(condition, Is) and condition.field is Field.STATE:
            named = frozenset(JobState(text) for text in condition.texts)
            possible = possible - named if negated else possible & named
        elif isinstance(condition, Contains) and condition.field is Field.ERROR and not negated:
            possible &= {JobState.FAILED}
    return possible


def _of_condition(condition: Condition, search: Search) -> ColumnElement[bool]:
    found: ColumnElement[bool]
    match condition:
        case HasId(ids=ids):
            found = jobs.c.id.in_(ids)
        case InGroup(id=group_id):
            found = and_(*in_group(group_id))
        case Is():
            found = _is(condition, search)
        case Contains():
            found = _contains(condition, technical=search.query.technical)
        case InTime(field=field, start=start, end=end):
            column = _COLUMNS[field]
            bounds = [] if start is None else [column >= _moment(start)]
            found = and_(
                column.is_not(None), *bounds, *([] if end is None else [column < _moment(end)])
            )
        case Lasted():
            found = _has_lasted(condition)
        case Attempted(least=least, most=most):
            conditions = [] if least is None else [jobs.c.attempt >= least]
            found = and_(true(), *conditions, *([] if most is None else [jobs.c.attempt <= most]))
        case HasParameter(path=path, values=values):
            either = (_has_parameter(path, value) for value in values)
            found = and_(jobs.c.type.in_(search.types[path]), or_(*either))
        case _:
            assert_never(condition)
    return found


def _is(condition: Is, search: Search) -> ColumnElement[bool]:
    """Return the condition that a value of the job is, or begins with, one of these texts."""
    if condition.field is Field.SCHEDULE:
        named = [id_ for name in condition.texts for id_ in search.schedules.get(name, ())]
        return jobs.c.schedule_id.in_(named)
    if condition.field is Field.TAG:
        # The range is repeated: PostgreSQL does not infer it, and would read all jobs that have the
        # tag.
        having = select(job_tags.c.job_id).where(
            _one_of(job_tags.c.tag, condition.texts),
            job_tags.c.job_id >= LOW,
            job_tags.c.job_id < HIGH,
        )
        # For a subquery SQLite would look the tag up for each job in the range.
        return PerDatabase(
            exists(having.where(job_tags.c.job_id == jobs.c.id)), jobs.c.id.in_(having)
        )
    column = _COLUMNS[condition.field]
    is_one = [_one_of(column, condition.texts)] if condition.texts else []
    # LIKE ignores case on SQLite.
    begins = [
        PerDatabase(
            column.like(_WILDCARD.sub(r"\\\g<0>", prefix) + "%"),
            func.substr(column, 1, len(prefix)) == prefix,
        )
        for prefix in condition.prefixes
    ]
    return or_(*is_one, *begins)


def _one_of(column: ColumnElement[str], texts: Sequence[str]) -> ColumnElement[bool]:
    return column == texts[0] if len(texts) == 1 else column.in_(texts)


def _contains(condition: Contains, *, technical: bool) -> ColumnElement[bool]:
    """Return whether a text of the job contains the text; no index has them."""
    errors = (
        [jobs.c.error, jobs.c.human_readable_error] if technical else [jobs.c.human_readable_error]
    )
    if condition.field is Field.ERROR:
        # This state condition is that of the index of failed jobs.
        return and_(
            jobs.c.state == JobState.FAILED,
            or_(*(column.icontains(condition.text, autoescape=True) for column in errors)),
        )
    texts = [*_TEXTS, *errors]
    return or_(*(column.icontains(condition.text, autoescape=True) for column in texts))


def _moment(bound: Bound) -> ColumnElement[datetime]:
    assert not isinstance(bound, DayAgo)  # `dated_search` has replaced it
    if isinstance(bound, timedelta):
        return seconds_from_now(-bound.total_seconds())
    return literal(bound, Instant())


def _has_lasted(condition: Lasted) -> ColumnElement[bool]:
    """Return the condition that the run of a job, or its wait, was in a range of durations."""
    if condition.field is Field.WAIT:
        # A pending job keeps the start of its last attempt.
        waited_until = case(
            (jobs.c.state == JobState.PENDING, database_now()),
            else_=func.coalesce(jobs.c.started_at, jobs.c.finished_at),
        )
        return and_(true(), *_between(seconds_between(waited_until, jobs.c.run_at), condition))
    took = seconds_between(jobs.c.finished_at, jobs.c.started_at)
    conditions: list[ColumnElement[bool]] = [
        jobs.c.finished_at.is_not(None),
        jobs.c.started_at.is_not(None),
        *_between(took, condition),
    ]
    if condition.least is not None and condition.least.total_seconds() > SLOW_SECONDS:
        conditions.append(IS_SLOW.repeat())
    return and_(*conditions)


def _between(seconds: ColumnElement[float], condition: Lasted) -> list[ColumnElement[bool]]:
    bounds: list[ColumnElement[bool]] = []
    if condition.least is not None:
        least = condition.least.total_seconds()
        bounds.append(seconds > least if condition.strictly else seconds >= least)
    if condition.most is not None:
        most = condition.most.total_seconds()
        bounds.append(seconds < most if condition.strictly else seconds <= most)
    return bounds


def _has_parameter(path: Sequence[str], value: Literal) -> ColumnElement[bool]:
    """Return the condition that a parameter has this value; by an index on PostgreSQL."""
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
