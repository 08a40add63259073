"""Jobs in the order in which they ended: in growing windows of time, by the index of ends.

As a search in the order of ids does, it stops after the first, short window if many jobs match, and
goes on at a later request if few do and there was not enough time to read all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, bindparam, func, or_, select

from horae.domain.jobs import ENDED, JobId
from horae.domain.storable import LARGEST_ID
from horae.domain.times import MICROSECOND
from horae.storage.jobs.reading import JobFilter, lists_of
from horae.storage.jobs.search.conditions import Search, matching_conditions, possible_states
from horae.storage.jobs.search.searching import dated_search, read_in_parts
from horae.storage.jobs.tables import jobs

WINDOWS: Final = (60, 600, 6_000, 60_000, 600_000, 6_000_000)
"""Lengths of windows in seconds: the last one is longer than ended jobs are usually kept."""
_ALL_IDS: Final = {"low": 0, "high": LARGEST_ID}
# These are two queries in one, like `searching.BOUNDS` and for the same reason.
_BOUNDS: Final = select(
    select(func.min(jobs.c.finished_at)).scalar_subquery(),
    select(func.max(jobs.c.finished_at)).scalar_subquery(),
)
_IN_WINDOW: Final = (
    jobs.c.finished_at >= bindparam("window_start"),
    jobs.c.finished_at < bindparam("window_end"),
)


@dataclass(frozen=True, slots=True)
class EndPlace:
    """A place among ended jobs: that of a job, or with id 0 that between two windows."""

    at: datetime
    id: JobId


@dataclass(frozen=True, slots=True)
class FoundByEnd:
    """Jobs in the order of their ends.

    `reached`: where the search stopped for lack of time, None if it was complete.
    """

    places: Sequence[EndPlace]
    reached: EndPlace | None = None


def find_by_end(
    connection: Connection,
    wanted: JobFilter,
    search: Search | None,
    *,
    limit: int,
    seconds: float,
    behind: EndPlace | None = None,
    first_ended_first: bool = False,
) -> FoundByEnd:
    """Return the jobs that ended last, or first, of those that meet the filter and the search.

    `behind`: the place behind which to begin. After `seconds` it stops with what it has found.
    """
    search = dated_search(connection, search)
    start, end = connection.execute(_BOUNDS).one()
    terms = () if search is None else search.query.terms
    if start is None or not possible_states(wanted, terms) & ENDED:
        return FoundByEnd([])
    end += MICROSECOND
    conditions = [*_IN_WINDOW, *matching_conditions(wanted, search)]
    place = (jobs.c.finished_at, jobs.c.id)
    order = place if first_ended_first else [column.desc() for column in place]
    if behind is not None and first_ended_first:
        start = max(start, behind.at)
        conditions.append(or_(jobs.c.finished_at > behind.at, jobs.c.id > behind.id))
    elif behind is not None:
        end = min(end, behind.at + MICROSECOND)
        conditions.append(or_(jobs.c.finished_at < behind.at, jobs.c.id < behind.id))
    statement = select(jobs.c.finished_at, jobs.c.id).where(*conditions).order_by(*order)
    given = {**lists_of(wanted), **_ALL_IDS}
    found: list[EndPlace] = []

    def read(low: datetime, high: datetime) -> bool:
        window = {**given, "window_start": low, "window_end": high}
        rows = connection.execute(statement.limit(limit - len(found)), window)
        found.extend(EndPlace(row.finished_at, JobId(row.id)) for row in rows)
        return len(found) < limit

    lengths = [timedelta(seconds=length) for length in WINDOWS]
    reached = read_in_parts(
        start, end, lengths, read, seconds, upwards=first_ended_first, paced=True
    )
    return FoundByEnd(found, None if reached is None else EndPlace(reached, JobId(0)))
