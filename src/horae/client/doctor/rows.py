"""Checks that every row can be read: an unreadable one is left out everywhere, so an operator must learn of it."""

from typing import Final

from horae.client.doctor.finding import Finding, counted, ok, warning
from horae.domain.jobs.job import JobState
from horae.storage.engine import unreadable_rows
from horae.storage.engine.database import Database
from horae.storage.jobs import reading
from horae.storage.jobs.reading import JobFilter
from horae.storage.operations import audit, nodes, queues
from horae.storage.schedules import deployments, ticks
from horae.storage.schedules import reading as schedule_reading

MOST_ROWS: Final = 5_000
"""Jobs and schedules that are checked, the newest ones."""
PAGE: Final = 250
"""Audit entries that are checked."""
JOBS_AT_ONCE: Final = 25
"""Jobs that are read at a time; each is read whole, and may be some megabytes long."""
MOST_SHOWN: Final = 10
"""Unreadable rows that are listed one by one; the others are only counted."""


def check_rows(database: Database) -> Finding:
    """Read the jobs that have not ended, the newest ones, and all rows of small tables."""
    unreadable_rows.clear()
    for states in ([JobState.PENDING, JobState.STARTED], None):
        ids = database.autocommit(reading.newest, states, MOST_ROWS)
        for first in range(0, len(ids), JOBS_AT_ONCE):
            database.autocommit(reading.page, JobFilter(ids=ids[first : first + JOBS_AT_ONCE], limit=None))
    for schedule in database.autocommit(schedule_reading.all_of)[:MOST_ROWS]:
        database.autocommit(ticks.page, schedule.id, 1)
    for small in (nodes.view, queues.view, deployments.page):
        database.autocommit(small)
    database.autocommit(audit.page, before=None, actor=None, limit=PAGE)
    found = unreadable_rows.remembered()
    if not found:
        return ok("rows", "all rows that were checked can be read")
    named = "; ".join(f"{table} {key} ({why})" for (table, key), why in list(found.items())[:MOST_SHOWN])
    more = f"; and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return warning(
        "rows",
        f"{counted(len(found), 'row')} cannot be read, so lists and nodes skip them: {named}{more}",
        "Repair or delete them with SQL. Other rows are not affected.",
    )
