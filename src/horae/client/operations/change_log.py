"""The audit log: reads entries, and writes those of refused requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from horae.client.changes import DONE, ChangeRequest, write
from horae.guarded_log import guarded_log
from horae.storage.engine import Database, is_transient
from horae.storage.operations import ChangeEntry, change_log

log = guarded_log("horae.audit")


@dataclass(frozen=True, slots=True)
class ChangePage:
    """One page; `next` is the cursor of the following one, None on the last."""

    entries: Sequence[ChangeEntry]
    next: int | None


class ChangeLog:
    """Writes and reads audit entries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def settle(self, asked: ChangeRequest, outcome: str = DONE) -> None:
        """Log the outcome, and write an entry if the request wrote none; if that fails, only log
        it.
        """
        self.log(asked, outcome)
        entry = asked.entry(outcome)
        try:
            if asked.written is None:
                asked.written = self._database.transact(write, entry)
        except Exception as error:
            if is_transient(error):
                log.error(
                    "audit entry not written, because the database does not answer: %s", entry
                )
            else:
                log.exception("audit entry not written: %s", entry)

    def log(self, asked: ChangeRequest, outcome: str = DONE) -> None:
        """Log the outcome without writing an entry."""
        log.info("%s", in_one_line(asked.entry(outcome)))

    def page(
        self, *, before: int | None = None, actor: str | None = None, limit: int = 100
    ) -> ChangePage:
        """Return a page of entries, the newest first."""
        found = self._database.autocommit(
            change_log.page, before=before, actor=actor, limit=limit + 1
        )
        return ChangePage(found[:limit], found[limit - 1].id if len(found) > limit else None)


def in_one_line(entry: Mapping[str, Any]) -> str:
    """Return the entry as one line of the log, with control characters in names escaped."""
    text = "{actor}: {action} {target}: {outcome}".format_map(entry)
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )
