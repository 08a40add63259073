"""Writes and reads buckets."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    func,
    or_,
    select,
    true,
    update,
)

from horae.domain.history import (
    LENGTHS,
    Figures,
    HistoryBucket,
    Length,
    Named,
    StoredBucket,
    closed_by,
    floor,
    merged_buckets,
    without_overlaps,
)
from horae.domain.times import EPOCH, MICROSECOND
from horae.storage.engine import (
    LATEST,
    Instant,
    Json,
    PerDatabase,
    database_now,
    insert,
    readable,
    unreadable_rows,
)
from horae.storage.history.tables import ONLY_ROW, history, history_state
from horae.storage.jobs import IS_HELD, IS_READY, IS_SENT, IS_WAITING, jobs

MOST_REMOVED: Final = 20
"""Maximum number of old buckets of one length that are deleted at once, which happens once a minute
at most. A clock that is wrong for a moment so deletes only few.
"""
LATEST_MICROSECOND: Final = (LATEST - EPOCH) // MICROSECOND


class HistoryProgress(NamedTuple):
    """How far the history is written, and the database's clock.

    `reached`: the end of the last bucket; None: none was written yet. `behind`: since when queues
    are behind. `any_open`: whether a job waits or is held; true if that was not asked.
    """

    now: datetime
    reached: datetime | None
    behind: Mapping[str, datetime]
    any_open: bool = True


_clock = select(database_now().label("now")).subquery("clock")
# During a long transaction PostgreSQL has to read the index entries of all jobs that began since.
_any_open = or_(
    ~bindparam("asked", type_=Boolean()),
    *(select(jobs.c.id).where(each).exists() for each in (IS_READY, IS_SENT, IS_WAITING, IS_HELD)),
)
PROGRESS: Final = select(
    _clock.c.now, history_state.c.reached, history_state.c.behind, _any_open
).select_from(_clock.outerjoin(history_state, true()))
_behind: Any = cast(bindparam("behind", type_=Text()), Json())
_until: Any = bindparam("until", type_=Instant())
BEGIN: Final = (
    insert(history_state)
    .values(id=ONLY_ROW, reached=_until, behind=_behind)
    .on_conflict_do_nothing(index_elements=[history_state.c.id])
    .returning(history_state.c.id)
)
ADVANCE: Final = (
    update(history_state)
    .where(
        history_state.c.id == ONLY_ROW,
        history_state.c.reached == bindparam("before"),
    )
    .values(reached=_until, behind=_behind)
    .returning(history_state.c.id)
)
_parts: dict[str, Any] = {
    name: cast(bindparam(name, type_=Text()), Json()) for name in ("everything", "queues", "types")
}
PUT: Final = (
    insert(history)
    .values(
        seconds=bindparam("seconds"),
        start=bindparam("start"),
        **_parts,
    )
    .on_conflict_do_update(index_elements=[history.c.seconds, history.c.start], set_=_parts)
)
_of_length = history.c.seconds == bindparam("of_seconds")
_oldest = (
    select(history.c.start)
    .where(_of_length, history.c.start < bindparam("oldest"))
    .order_by(history.c.start)
    .limit(MOST_REMOVED)
)
REMOVE: Final = delete(history).where(_of_length, history.c.start.in_(_oldest))
_from = history.c.start >= bindparam("since")
_before = history.c.start < bindparam("before")
_columns = (history.c.seconds, history.c.start, history.c.everything)
BETWEEN: Final = (
    select(*_columns, history.c.queues, history.c.types)
    .where(_of_length, _from, _before)
    .order_by(history.c.start)
)
# Of shorter buckets only those that the next longer ones do not cover yet.
_recent = or_(
    *(
        and_(
            history.c.seconds == shorter.seconds,
            history.c.start >= bindparam(f"open_{shorter.seconds}"),
        )
        for shorter in LENGTHS[:-1]
    )
)


_first = select(func.min(history.c.start)).where(_of_length).scalar_subquery()
# A length that a newer version added has no buckets of the time before.
_before_the_first = and_(
    history.c.seconds == bindparam("part_seconds"),
    or_(_first.is_(None), history.c.start < _first),
)


def _reading(*columns: Any) -> Any:
    """Select buckets of a length, and the shorter ones before the first and after the last."""
    return select(*_columns, *columns).where(
        or_(
            _of_length,
            and_(history.c.seconds < bindparam("of_seconds"), _recent),
            _before_the_first,
        ),
        _from,
        _before,
    )


def _only(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Select the figures of one name from a column that has those of all.

    PostgreSQL sends no others, which would take longer to parse than to read; SQLite sends nothing.
    """
    name = cast(bindparam("only"), Text())
    names = func.jsonb_build_object(name, column["names"][name])
    chosen = func.jsonb_build_object("names", names, "other", column["other"], type_=Json())
    return PerDatabase(chosen, column).label(column.key)


_BESIDE: Final = {"queues": history.c.queues, "types": history.c.types}
READ: Final = {
    "everything": _reading(),
    **{name: _reading(column) for name, column in _BESIDE.items()},
}
"""By what is read beside the figures of everything."""
READ_ONLY_ONE: Final = {name: _reading(_only(column)) for name, column in _BESIDE.items()}
"""By what is read of one name."""


def progress(connection: Connection, *, asked: bool = False) -> HistoryProgress:
    """Return how far the history is written, and, if `asked`, whether any job is open.

    Raises `UnreadableRow`.
    """
    now, reached, behind, any_open = connection.execute(PROGRESS, {"asked": asked}).one()
    state = {"id": ONLY_ROW, "reached": reached}
    unreadable_rows.read(history_state.name, state, itemgetter("reached"))
    moments = {
        name: EPOCH + at * MICROSECOND
        for name, at in (behind.items() if isinstance(behind, dict) else ())
        if isinstance(at, int) and 0 <= at <= LATEST_MICROSECOND
    }
    return HistoryProgress(now, reached, moments, bool(any_open))


def write(
    connection: Connection,
    found: HistoryProgress,
    start: datetime,
    bucket: HistoryBucket,
    behind: Mapping[str, datetime],
) -> bool:
    """Write a bucket and the longer ones that it completes, and delete old ones.

    Return False, and write nothing, if another node has written since `found` was read.
    """
    shortest = LENGTHS[0]
    until = start + timedelta(seconds=shortest.seconds)
    values: dict[str, Any] = {
        "until": until,
        "behind": json.dumps({name: (at - EPOCH) // MICROSECOND for name, at in behind.items()}),
    }
    moved = (
        connection.execute(BEGIN, values)
        if found.reached is None
        else connection.execute(ADVANCE, {**values, "before": found.reached})
    )
    if moved.one_or_none() is None:
        return False
    _put(connection, shortest, start, bucket)
    closed = list(closed_by(found.reached, start))
    for of_seconds, length, begun in closed:
        end = begun + timedelta(seconds=length.seconds)
        given = {"of_seconds": of_seconds, "since": begun, "before": end}
        parts = _stored(connection.execute(BETWEEN, given))
        if parts:
            _put(connection, length, begun, merged_buckets([part.bucket for part in parts]))
    if closed:
        for length in {shortest, *(length for _, length, _ in closed)}:
            oldest = start - timedelta(seconds=length.kept)
            connection.execute(REMOVE, {"of_seconds": length.seconds, "oldest": oldest})
    return True


def read(
    connection: Connection,
    length: Length,
    since: datetime,
    before: datetime,
    reached: datetime,
    beside: str = "everything",
    only: str | None = None,
) -> list[StoredBucket]:
    """Return the buckets of a time, the earliest first: those of this length and, where they are
    not complete yet, shorter ones.

    `reached`: how far the history is written; `beside`: `queues` or `types` to read these, too, or
    `only` that of one name.
    """
    given: dict[str, Any] = {"of_seconds": length.seconds, "since": since, "before": before}
    given["part_seconds"] = 0
    for shorter, longer in pairwise(LENGTHS):
        given[f"open_{shorter.seconds}"] = floor(reached, longer.seconds)
        if longer.seconds == length.seconds:
            given["part_seconds"] = shorter.seconds
    if only is None:
        statement = READ[beside]
    else:
        statement, given["only"] = READ_ONLY_ONE[beside], only
    return without_overlaps(_stored(connection.execute(statement, given), only))


def _put(connection: Connection, length: Length, start: datetime, bucket: HistoryBucket) -> None:
    parts: dict[str, Figures | Named] = {
        "everything": bucket.everything,
        "queues": bucket.queues,
        "types": bucket.types,
    }
    values: dict[str, Any] = {name: json.dumps(part.as_json()) for name, part in parts.items()}
    connection.execute(PUT, {**values, "seconds": length.seconds, "start": start})


def _stored(rows: Any, only: str | None = None) -> Sequence[StoredBucket]:
    nothing: dict[str, Any] = {"names": {}}

    def stored(row: Mapping[Any, Any]) -> StoredBucket:
        bucket = HistoryBucket(
            Figures.from_json(row["everything"]),
            Named.from_json(row.get("queues", nothing), only),
            Named.from_json(row.get("types", nothing), only),
        )
        return StoredBucket(row["start"], row["seconds"], bucket)

    return readable(history.name, rows.mappings(), stored)
