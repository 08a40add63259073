"""Checks that every row can be read: an unreadable one is left out everywhere, so an operator must learn of it."""

from typing import Final

from horae.client.doctor.finding import Finding, ok, warning
from horae.domain.jobs.job import JobState
from horae.storage.engine import unreadable_rows
from horae.storage.engine.database import Database
from horae.storage.jobs import reading
from horae.storage.jobs.reading import JobFilter
from horae.storage.operations import audit, nodes, queues
from horae.storage.schedules import deployments, ticks
from horae.storage.schedules import reading as schedule_reading

MOST_ROWS: Final = 5_000
PAGE: Final = 250
JOBS_AT_ONCE: Final = 25
"""Each is read whole, and may be some megabytes long."""
MOST_SHOWN: Final = 10


def check_rows(database: Database) -> Finding:
    """Read what has not ended, what is new, and all that is small."""
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
        return ok("rows", "all that were looked at can be read")
    named = "; ".join(f"{table} {key} ({why})" for (table, key), why in list(found.items())[:MOST_SHOWN])
    more = f"; and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return warning(
        "rows",
        f"{len(found)} cannot be read, and are left out of everything: {named}{more}",
        "Mend or delete them with SQL; nothing else waits for them.",
    )
