"""How the jobs of a search are found: in growing ranges of ids, newest first.

A search reads one range of ids after another until it has enough jobs, so that a search that
matches many jobs is over after the first, small range. Each statement is planned for its own range,
and PostgreSQL chooses the index for it without regard to the order of the ids: for the sake of that
order it would read the whole table from its end, in the hope of finding enough jobs soon.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    and_,
    false,
    func,
    literal_column,
    select,
    text,
    union_all,
)

from horae.domain.jobs import (
    ENDED,
    Attempted,
    Contains,
    Field,
    HasId,
    HasParameter,
    InTime,
    Is,
    JobId,
    JobState,
    Lasted,
    Term,
    dated,
    has_days,
)
from horae.storage.engine import PerDatabase, keeps_rows_in_order, read_clock
from horae.storage.jobs.reading import OPEN_PARTS, JobFilter, lists_of
from horae.storage.jobs.search.conditions import (
    HIGH,
    LOW,
    Search,
    matching_conditions,
    possible_states,
)
from horae.storage.jobs.tables import jobs

RANGES: Final = (10_000, 100_000, 2_000_000, 20_000_000)
"""Lengths of ranges: the first takes some milliseconds, long ones are read in parallel."""
SLOW: Final = 0.5
"""Seconds after which the next range is shorter, so that the search ends near its deadline."""
# These are two queries in one: for both values in one query SQLite would read the whole table.
BOUNDS: Final = select(
    select(func.min(jobs.c.id)).scalar_subquery(), select(func.max(jobs.c.id)).scalar_subquery()
)
_IS_ENDED: Final = jobs.c.finished_at.is_not(None)
_IN_RANGE: Final = and_(jobs.c.id >= LOW, jobs.c.id < HIGH)
_plain_id = literal_column("+horae_jobs.id", BigInteger())
_AFTER_INDEX: Final = and_(_plain_id >= LOW, _plain_id < HIGH)
"""The range in a form for small indexes; with a plain column SQLite prefers the primary key."""


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
