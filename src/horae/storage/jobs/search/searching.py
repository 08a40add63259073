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
    ENDED,
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
    JobId,
    JobState,
    Lasted,
    Literal,
    Query,
    Term,
    dated,
    has_days,
)
from horae.storage.engine import (
    Instant,
    Json,
    PerDatabase,
    database_now,
    keeps_rows_in_order,
    read_clock,
    seconds_between,
    seconds_from_now,
)
from horae.storage.jobs.reading import (
    OPEN_PARTS,
    JobFilter,
    conditions_of,
    in_group,
    lists_of,
)
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
_TEXTS: Final = (
    jobs.c.type,
    jobs.c.queue,
    jobs.c.owner,
    jobs.c.unique_key,
    jobs.c.label,
    cast(jobs.c.tags, Text()),
)
"""What a text without a field is looked for in, besides the errors."""
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
    """A query, and what its names stand for.

    `types`: the job types in which each of its parameters may be searched, by path. `schedules`:
    the ids of the schedules that it names.
    """

    query: Query
    types: Mapping[tuple[str, ...], Sequence[str]]
    schedules: Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Found:
    """Jobs in the order that was asked for.

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
    oldest_first: bool = False,
) -> Found:
    """Return the newest jobs that meet the filter, the search, and the conditions of the caller,
    or the oldest ones.

    After `seconds` it stops with what it has found.
    """
    search = dated_search(connection, search)
    matching = _matching(connection, wanted, search, also)
    place = matching.selected_columns.id
    ordered = matching.order_by(place if oldest_first else place.desc()).limit(limit)
    ids: list[JobId] = []

    def read(bounds: Mapping[str, int]) -> bool:
        ids.extend(
            JobId(id_) for id_ in connection.scalars(ordered, {**lists_of(wanted), **bounds})
        )
        return len(ids) < limit

    reached = _read_ranges(connection, wanted, search, read, seconds, upwards=oldest_first)
    return Found(ids[:limit], reached)


def count(
    connection: Connection,
    wanted: JobFilter,
    search: Search | None,
    *,
    seconds: float,
    also: Sequence[ColumnElement[bool]] = (),
    most: int | None = None,
) -> tuple[int, bool]:
    """Return how many jobs meet the filter, and whether all were counted within the time.

    At most `most` jobs are counted, if it is given.
    """
    search = dated_search(connection, search)
    matching = _matching(connection, wanted, search, also)
    if most is not None:
        matching = matching.limit(most + 1)
    counting = select(func.count()).select_from(matching.subquery())
    total = 0

    def read(bounds: Mapping[str, int]) -> bool:
        nonlocal total
        total += connection.execute(counting, {**lists_of(wanted), **bounds}).scalar_one()
        return most is None or total <= most

    reached = _read_ranges(connection, wanted, search, read, seconds)
    if most is not None and total > most:
        return most, False
    return total, reached is None


def count_by_state(
    connection: Connection,
    owner: str | None,
    search: Search | None,
    *,
    seconds: float,
    most: int,
) -> dict[JobState, tuple[int, bool]]:
    """Return how many jobs in each state meet the search, at most `most`, and whether all of them
    were counted within the time.
    """
    deadline = time.monotonic() + seconds
    search = dated_search(connection, search)
    counts: dict[JobState, tuple[int, bool]] = {}
    # PostgreSQL finds the rows of few ended jobs in no order of their states, and among the rows of
    # failed jobs, of which there is an index, it would look for them a second time. One statement
    # counts ended jobs in all states as soon as those in one.
    together = (
        search is not None
        and not keeps_rows_in_order(connection)
        and _has_own_index(search.query.terms)
    )
    # Finished jobs are last: only of these there are so many that counting may take long.
    for state in sorted(JobState, key=lambda each: each is JobState.FINISHED):
        if state in ENDED and together:
            continue
        left = max(deadline - time.monotonic(), 0.0)
        wanted = JobFilter(states=[state], owner=owner)
        counts[state] = count(connection, wanted, search, seconds=left, most=most)
    if together:
        left = max(deadline - time.monotonic(), 0.0)
        counts |= _count_ended(connection, JobFilter(owner=owner), search, left, most)
    return {state: counts[state] for state in JobState}


def _count_ended(
    connection: Connection, wanted: JobFilter, search: Search | None, seconds: float, most: int
) -> dict[JobState, tuple[int, bool]]:
    """Return how many ended jobs in each state match, and whether all of them were counted."""
    counting = (
        select(jobs.c.state, func.count())
        .where(_IN_RANGE, _IS_ENDED, *matching_conditions(wanted, search))
        .group_by(jobs.c.state)
    )
    counts = dict.fromkeys(sorted(ENDED), 0)

    def read(bounds: Mapping[str, int]) -> bool:
        for state, found in connection.execute(counting, {**lists_of(wanted), **bounds}):
            counts[JobState(state)] += found
        return min(counts.values()) <= most

    reached = _read_ranges(connection, wanted, search, read, seconds)
    return {
        state: (min(found, most), reached is None and found <= most)
        for state, found in counts.items()
    }


def dated_search(connection: Connection, search: Search | None) -> Search | None:
    """Return the search with moments in place of days such as yesterday."""
    if search is None or not has_days(search.query):
        return search
    return replace(search, query=dated(search.query, read_clock(connection)))


def _read_ranges(
    connection: Connection,
    wanted: JobFilter,
    search: Search | None,
    read: Callable[[Mapping[str, int]], bool],
    seconds: float | None,
    *,
    upwards: bool = False,
) -> JobId | None:
    """Read ranges of ids while `read` returns True; return the last id if the time ran out."""
    first, last = connection.execute(BOUNDS).one()
    if first is None:
        return None
    first, end = _possible_ids(wanted, search, first, last + 1)
    reads_each_job = search is not None and any(
        isinstance(term.condition, Attempted)
        or (isinstance(term.condition, Contains) and term.condition.field is Field.TEXT)
        or (isinstance(term.condition, Lasted) and term.condition.field is Field.WAIT)
        for term in search.query.terms
    )
    reached = read_in_parts(
        first,
        end,
        RANGES,
        lambda low, high: read({"low": low, "high": high}),
        seconds,
        upwards=upwards,
        # Otherwise an index may be read as a whole for each range, so fewer ranges are better.
        paced=reads_each_job,
    )
    if reached is None:
        return None
    return JobId(reached - 1 if upwards else reached)


def read_in_parts(
    first: Any,
    end: Any,
    lengths: Sequence[Any],
    read: Callable[[Any, Any], bool],
    seconds: float | None,
    *,
    upwards: bool,
    paced: bool,
) -> Any:
    """Read from `first` to before `end` in growing parts, while `read` returns True for each.

    The ends are numbers or moments, and `lengths` are those of the parts. Returns where the next
    part begins, or ends, if the time ran out; None if all was read. `paced`: whether the time that
    is left bounds the length of the next part.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    level = 0
    while end > first:
        length = min(lengths[level], end - first)
        low, high = (first, first + length) if upwards else (end - length, end)
        began = time.monotonic()
        if not read(low, high):
            return None
        now = time.monotonic()
        if upwards:
            first = high
        else:
            end = low
        if deadline is not None and now > deadline and end > first:
            return first if upwards else end
        left = deadline - now if deadline is not None and paced else None
        level = next_level(level, now - began, left, lengths)
    return None


def _possible_ids(
    wanted: JobFilter, search: Search | None, first: int, end: int
) -> tuple[int, int]:
    """Return the ids from the first one to before the last one that may match."""
    if wanted.before is not None:
        end = min(end, wanted.before)
    if wanted.after is not None:
        first = max(first, wanted.after + 1)
    if wanted.ids is not None:
        first, end = (
            max(first, min(wanted.ids, default=end)),
            min(end, max(wanted.ids, default=0) + 1),
        )
    for term in () if search is None else search.query.terms:
        if isinstance(term.condition, HasId) and not term.negated:
            ids = term.condition.ids
            first, end = max(first, min(ids)), min(end, max(ids) + 1)
    return first, end


def next_level(level: int, took: float, left: float | None, lengths: Sequence[Any]) -> int:
    """Return which length of range to read next, so that the search ends near its deadline."""
    if took > SLOW:
        return max(level - 1, 0)
    longer = min(level + 1, len(lengths) - 1)
    # Each job of a range is read, so a longer range takes as much longer.
    expected = took * lengths[longer] / lengths[level]
    return longer if left is None or expected < left + SLOW else level


def _matching(
    connection: Connection,
    wanted: JobFilter,
    search: Search | None,
    also: Sequence[ColumnElement[bool]],
) -> Select[Any]:
    """Return the ids in a range that match, in any order."""
    terms = () if search is None else search.query.terms
    states = possible_states(wanted, terms)
    conditions = [*matching_conditions(wanted, search), *also]
    in_order = keeps_rows_in_order(connection)
    is_narrow = wanted.types is not None or wanted.queues is not None or _has_own_index(terms)
    parts: list[ColumnElement[bool]] = []
    if JobState.FINISHED not in states:
        parts = _open_parts(states)
        named = [state for state in (JobState.FAILED, JobState.CANCELLED) if state in states]
        if named:
            # The words of the index; SQLAlchemy would compare it with 1 on SQLite.
            words = " OR ".join(f"state = '{state}'" for state in named)
            condition = and_(text(f"({words})"))
            # With the second condition PostgreSQL can choose an index of ended jobs; SQLite would
            # always choose it.
            parts.append(PerDatabase(and_(condition, _IS_ENDED), condition))
        parts = parts or [false()]
    elif not in_order and is_narrow:
        # The indexes hold ended jobs; the states of open jobs have small indexes of their own.
        parts = [_IS_ENDED, *_open_parts(states)]
    chosen = select(jobs.c.id).where(_AFTER_INDEX if parts and in_order else _IN_RANGE, *conditions)
    if not parts and in_order:
        return chosen
    found = union_all(*(chosen.where(part) for part in parts)) if parts else chosen
    return select(found.cte("found").prefix_with("MATERIALIZED").c.id)


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


def _open_parts(states: Collection[JobState]) -> list[ColumnElement[bool]]:
    """Return the conditions of the indexes of open jobs in these states, each once."""
    return [part for state, parts in OPEN_PARTS.items() if state in states for part in parts]


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
    if condition.field is Field.SCHEDULE:
        named = [id_ for name in condition.texts for id_ in search.schedules.get(name, ())]
        return jobs.c.schedule_id.in_(named)
    if condition.field is Field.TAG:
        # The range is repeated: PostgreSQL does not infer it, and would read all jobs that have the
        # tag.
        having = select(job_tags.c.job_id).where(
            _one_of(job_tags.c.tag, condition.texts),
            job_tags.c.job_id >= _low,
            job_tags.c.job_id < _high,
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
