"""Turns stored schedules into views: with their open runs; a row that cannot be read is logged and left out."""

import logging
from collections.abc import Collection, Mapping

from horae.client.schedules.views import ScheduleView, view_of
from horae.domain.schedules.schedule import Overlap
from horae.storage.engine.database import Database
from horae.storage.schedules import reading
from horae.storage.schedules.reading import OpenRuns
from horae.storage.schedules.row_mapping import UnreadableSchedule, rules_of
from horae.storage.schedules.rows import StoredSchedule

log = logging.getLogger("horae.schedules")


def viewed(database: Database, row: StoredSchedule) -> ScheduleView:
    """Return the view of a stored schedule. Raises `UnreadableSchedule`."""
    return view_of(row, _open_runs(database, [row]).get(row.id))


def views_of(database: Database, rows: Collection[StoredSchedule]) -> list[ScheduleView]:
    """Return the views of the readable schedules; an unreadable one is logged, as it must not hide the others."""
    known = [row for row in rows if _is_readable(row)]
    runs = _open_runs(database, known)
    return [view_of(row, runs.get(row.id)) for row in known]


def _open_runs(database: Database, rows: Collection[StoredSchedule]) -> Mapping[int, OpenRuns]:
    """Return the open runs of schedules; with `allow_all` each open run is stored as a crash until its end."""
    tokens = [row.run_token for row in rows if row.run_token is not None]
    overlapping = [row.id for row in rows if row.consecutive_crashes and rules_of(row).overlap is Overlap.ALLOW_ALL]
    if not tokens and not overlapping:
        return {}
    return database.autocommit(reading.open_runs, tokens, overlapping)


def _is_readable(row: StoredSchedule) -> bool:
    try:
        rules_of(row)
    except UnreadableSchedule as error:
        log.warning("%s", error)
        return False
    return True
