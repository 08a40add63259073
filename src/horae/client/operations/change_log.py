"""The audit log: reads entries, and writes those of refused requests."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from horae.client.changes import DONE, ChangeRequest, write
from horae.errors import UnreadableRow
from horae.guarded_log import guarded_log
from horae.storage.engine import Database, is_transient
from horae.storage.operations import ChangeEntry, ChangeFilter, change_log
from horae.storage.schedules import reading as schedules

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
                    "audit entry not written, because the database cannot be used now: %s", entry
                )
            else:
                log.exception("audit entry not written: %s", entry)

    def log(self, asked: ChangeRequest, outcome: str = DONE) -> None:
        """Log the outcome without writing an entry."""
        log.info("%s", in_one_line(asked.entry(outcome)))

    def page(
        self,
        which: ChangeFilter = change_log.EVERY_CHANGE,
        *,
        before: int | None = None,
        limit: int = 100,
    ) -> ChangePage:
        """Return a page of entries, the newest first."""
        found = self._database.autocommit(change_log.page, which, before=before, limit=limit + 1)
        return ChangePage(found[:limit], found[limit - 1].id if len(found) > limit else None)


def recorded_names(
    database: Database, kind: str | None, target: str | None
) -> Collection[str] | None:
    """Return the names under which changes of an object are recorded; None: of any.

    A schedule is recorded under its id or its name, as the call that changed it named it.
    """
    if target is None:
        return None
    if kind not in (None, "schedule"):
        return [target]
    reference = int(target) if _SCHEDULE_ID.fullmatch(target) else target
    try:
        found = database.autocommit(schedules.get, reference)
    except UnreadableRow:
        return [target]
    if found is None or (kind is None and found.name != target):
        return [target]  # without a kind, a number may be that of a job
    return [str(found.id), found.name]


def shown_names(database: Database, entries: Sequence[ChangeEntry]) -> Mapping[int, str]:
    """Return the names of the schedules that entries call by their ids, by the id of the entry."""
    by_entry = {
        entry.id: int(entry.target)
        for entry in entries
        if entry.action.startswith("schedule.") and _SCHEDULE_ID.fullmatch(entry.target)
    }
    names = database.autocommit(schedules.names_of, set(by_entry.values())) if by_entry else {}
    return {entry: names[id_] for entry, id_ in by_entry.items() if id_ in names}


_SCHEDULE_ID: Final = re.compile("[1-9][0-9]{0,17}")


def in_one_line(entry: Mapping[str, Any]) -> str:
    """Return the entry as one line of the log, with control characters in names escaped."""
    text = "{actor}: {action} {target}: {outcome}".format_map(entry)
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )
