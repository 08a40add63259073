"""The pause of everything: since when, why, and by whom."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, select

from horae.storage.engine import seconds_since
from horae.storage.jobs import EVERY_QUEUE, queues
from horae.storage.operations import change_log

PAUSE_ACTION: Final = "everything.pause"
"""The action of the audit log that says who paused everything."""
EARLIER: Final = 60.0
"""Seconds that an entry may be older than the pause, which was written in the same transaction."""
READ: Final = select(
    queues.c.paused_at, queues.c.note, seconds_since(queues.c.paused_at).label("age")
).where(queues.c.name == EVERY_QUEUE, queues.c.paused_at.is_not(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A pause of all queues and schedules. `by`: None if the audit log no longer says who."""

    since: datetime
    note: str | None
    by: str | None


def read_pause(connection: Connection) -> Pause | None:
    """Return the pause of everything; None if there is none."""
    row = connection.execute(READ).one_or_none()
    if row is None:
        return None
    entries = change_log.latest(connection, PAUSE_ACTION, row.age + EARLIER)
    by = next((entry.actor for entry in entries if entry.outcome == "done"), None)
    return Pause(since=row.paused_at, note=row.note, by=by)
