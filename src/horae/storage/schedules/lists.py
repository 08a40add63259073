"""Schedules by the page, and those that have changed lately: found by indexes, however many there are."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, Final

from sqlalchemy import Connection, Float, Integer, Row, Select, bindparam, func, or_, select, tuple_

from horae.storage.engine.dialect import IdList, PerDialect, member_of, seconds_from_now
from horae.storage.engine.unreadable import readable, readable_page
from horae.storage.jobs.tables import jobs
from horae.storage.schedules.repository import COLUMNS, stored
from horae.storage.schedules.rows import StoredSchedule
from horae.storage.schedules.tables import schedule_statistics, schedules


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFilter:
    """Which schedules to list; None means any. `name`: part of it; `after`: module and name of the one before."""

    module: str | None = None
    job_type: str | None = None
    name: str | None = None
    enabled: bool | None = None
    after: tuple[str, str] | None = None
    limit: int = 100


_ALL: Final = select(*COLUMNS).select_from(
    schedules.join(schedule_statistics, schedule_statistics.c.schedule_id == schedules.c.id)
)
_place: Final = tuple_(schedules.c.module, schedules.c.name)
THESE: Final = PerDialect(lambda dialect: _ALL.where(member_of(dialect, schedules.c.id, "ids", of=IdList)))
CHANGED: Final = (
    select(schedules.c.id, schedules.c.version)
    .where(schedules.c.updated_at > seconds_from_now(-bindparam("within", type_=Float())))
    .order_by(schedules.c.updated_at)
    .limit(bindparam("limit", type_=Integer()))
)


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """How many runs of a schedule go on or wait to begin, and when the last body of them began, if one did."""

    count: int
    began: datetime | None = None


OPEN_RUNS: Final = PerDialect(
    lambda dialect: (
        select(jobs.c.schedule_id, func.count(), func.max(jobs.c.started_at))
        .where(
            member_of(dialect, jobs.c.schedule_id, "ids", of=IdList),
            or_(jobs.c.finished_at.is_(None), jobs.c.node_id.is_not(None)),
        )
        .group_by(jobs.c.schedule_id)
    )
)
ONE_RUN: Final = PerDialect(
    lambda dialect: select(jobs.c.schedule_id, 1, jobs.c.started_at).where(
        member_of(dialect, jobs.c.id, "ids", of=IdList), jobs.c.schedule_id.is_not(None)
    )
)


def page(connection: Connection, wanted: ScheduleFilter) -> list[StoredSchedule]:
    """Schedules by module and name; `after` continues after the last one of the page before."""

    def fetch(after: tuple[str, str] | None) -> Sequence[Row[Any]]:
        return connection.execute(_page(replace(wanted, after=after))).all()

    return readable_page(
        schedules.name, fetch, stored, start=wanted.after, place=lambda row: (row.module, row.name), limit=wanted.limit
    )


def these(connection: Connection, ids: Collection[int]) -> list[StoredSchedule]:
    """Those of these schedules that exist, in no order."""
    return readable(schedules.name, connection.execute(THESE.on(connection), {"ids": sorted(ids)}), stored)


def changed(connection: Connection, within: float, limit: int) -> dict[int, int]:
    """Id and version of what has changed in the last seconds, the longest ago first."""
    rows = connection.execute(CHANGED, {"within": within, "limit": limit})
    return {row.id: row.version for row in rows}


def open_runs(connection: Connection, tokens: Collection[int], overlapping: Collection[int]) -> dict[int, OpenRuns]:
    """The open runs of schedules, by their id: of those with these run tokens, and of those that keep none."""
    asked = ((ONE_RUN, tokens), (OPEN_RUNS, overlapping))
    rows = (connection.execute(each.on(connection), {"ids": sorted(ids)}) for each, ids in asked if ids)
    return {schedule_id: OpenRuns(count, began) for schedule_id, count, began in chain.from_iterable(rows)}


def _page(wanted: ScheduleFilter) -> Select[Any]:
    chosen = _ALL.order_by(schedules.c.module, schedules.c.name).limit(wanted.limit)
    for column in (schedules.c.module, schedules.c.job_type, schedules.c.enabled):
        if (value := getattr(wanted, column.name)) is not None:
            chosen = chosen.where(column == value)
    if wanted.name is not None:
        chosen = chosen.where(schedules.c.name.icontains(wanted.name, autoescape=True))
    return chosen if wanted.after is None else chosen.where(_place > tuple_(*wanted.after))
