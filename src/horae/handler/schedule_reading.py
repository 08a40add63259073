"""Stored schedules as callers see them: with the runs that go on, and without those that cannot be read here."""

import logging
from collections.abc import Collection, Iterable, Mapping
from functools import partial

from horae.domain.schedule import Overlap
from horae.handler.schedule_views import ScheduleView, view_of
from horae.storage import schedule_lists
from horae.storage.database import Database
from horae.storage.schedule_rows import StoredSchedule
from horae.storage.standing import UnreadableSchedule, rules_of

log = logging.getLogger("horae.schedules")


def viewed(database: Database, row: StoredSchedule) -> ScheduleView:
    """The view. Raises `UnreadableSchedule`."""
    return view_of(row, _overlapping(database, [row]).get(row.id, 0))


def views_of(database: Database, rows: Collection[StoredSchedule]) -> list[ScheduleView]:
    """The views of those that can be read here; another one is only logged, for it must not hide the others."""
    known = [row for row in rows if _is_readable(row)]
    runs = _overlapping(database, known)
    return [view_of(row, runs.get(row.id, 0)) for row in known]


def _overlapping(database: Database, rows: Iterable[StoredSchedule]) -> Mapping[int, int]:
    """How many runs go on of schedules that let them overlap; each counts as a crash until its end."""
    ids = [row.id for row in rows if row.consecutive_crashes and rules_of(row).overlap is Overlap.ALLOW_ALL]
    return database.autocommit(partial(schedule_lists.open_runs, ids=ids)) if ids else {}


def _is_readable(row: StoredSchedule) -> bool:
    try:
        rules_of(row)
    except UnreadableSchedule as error:
        log.warning("%s", error)
        return False
    return True
