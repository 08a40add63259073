"""Who changed what, and when: each changing call leaves an entry, also one that was refused."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from horae.domain.storable import storable
from horae.errors import DatabaseBusy
from horae.storage import audit
from horae.storage.audit import AuditEntry
from horae.storage.database import Database, is_disconnect

KEEP: Final = timedelta(days=365)
TIDY_EVERY: Final = 500
"""Entries after which old ones are dropped: seldom, and by whoever writes that one."""
LONGEST_TARGET: Final = 300

log = logging.getLogger("horae.audit")


@dataclass(frozen=True, slots=True)
class AuditPage:
    """One page; `next` is the cursor of the following one, None on the last."""

    entries: Sequence[AuditEntry]
    next: int | None


class Audit:
    """Writes and reads what people changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, actor: str, action: str, target: str, outcome: str, note: str | None = None) -> None:
        """Write down what was done.

        Afterwards, never before: on SQLite a body that is to be cancelled may hold the lock that this needs. What
        cannot be written is in the log, for what was done is done.
        """
        entry = {
            "actor": storable(actor),
            "action": action,
            "target": storable(target)[:LONGEST_TARGET],
            "outcome": outcome,
            "note": None if note is None else storable(note),
        }
        log.info("%(actor)s: %(action)s %(target)s: %(outcome)s", entry)
        try:
            identity = self._database.autocommit(audit.add, entry)
            if identity % TIDY_EVERY == 0:
                self._database.autocommit(audit.expire, KEEP.total_seconds())
        except Exception as error:
            if isinstance(error, DatabaseBusy) or is_disconnect(error):
                log.error("this entry could not be written, because the database does not answer: %s", entry)  # noqa: TRY400
            else:
                log.exception("this entry could not be written: %s", entry)

    def page(self, *, before: int | None = None, actor: str | None = None, limit: int = 100) -> AuditPage:
        """The newest entries first."""
        found = self._database.autocommit(audit.page, before=before, actor=actor, limit=limit + 1)
        return AuditPage(found[:limit], found[limit - 1].id if len(found) > limit else None)
