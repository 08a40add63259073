"""Who changed what, and when: each changing call leaves an entry, also one that was refused.

The entry of a change is written in the transaction of the change, so that nothing is changed that cannot be recorded.
Who asks is known to the calls within `asked_by`; a call that changes something passes its statement through `recorded`.
"""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection

from horae.domain.storable import storable
from horae.errors import DatabaseBusy
from horae.storage import audit
from horae.storage.audit import AuditEntry
from horae.storage.database import Database, is_disconnect

P = ParamSpec("P")
T = TypeVar("T")

DONE: Final = "done"
KEEP: Final = timedelta(days=365)
TIDY_EVERY: Final = 500
"""Entries after which old ones are dropped: seldom, and by whoever writes that one."""
LONGEST_TARGET: Final = 300

log = logging.getLogger("horae.audit")


@dataclass(slots=True)
class Asked:
    """What somebody asks for. `written`: the id of its entry, once the transaction that wrote it was begun."""

    actor: str
    action: str
    target: str
    note: str | None = None
    written: int | None = None

    def entry(self, outcome: str) -> Mapping[str, Any]:
        """What is written down of it."""
        return {
            "actor": storable(self.actor),
            "action": self.action,
            "target": storable(self.target)[:LONGEST_TARGET],
            "outcome": outcome,
            "note": None if self.note is None else storable(self.note),
        }


@dataclass(frozen=True, slots=True)
class AuditPage:
    """One page; `next` is the cursor of the following one, None on the last."""

    entries: Sequence[AuditEntry]
    next: int | None


_asked: ContextVar[Asked | None] = ContextVar("horae_asked", default=None)


def is_asked() -> bool:
    """Whether the running call has to be recorded."""
    return _asked.get() is not None


@contextmanager
def asked_by(asked: Asked) -> Generator[None]:
    """Record what is changed within the block, here and on the threads that it calls."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def recorded(
    statement: Callable[Concatenate[Connection, P], T], *, changed: Callable[[T], bool] = lambda _: True
) -> Callable[Concatenate[Connection, P], T]:
    """`statement`, and in the same transaction the entry of who asked for it, where it `changed` something."""

    def change(connection: Connection, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result = statement(connection, *args, **kwargs)
        if (asked := _asked.get()) is not None:  # called again after a conflict, it may find nothing left to change
            asked.written = audit.add(connection, asked.entry(DONE)) if changed(result) else None
        return result

    return change


class Audit:
    """Writes and reads what people changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def settle(self, asked: Asked, outcome: str = DONE) -> None:
        """Log what came of it, and write down what changed nothing: that is not undone if it cannot be written."""
        entry = asked.entry(outcome)
        log.info("%s", in_one_line(entry))
        try:
            if asked.written is None:
                asked.written = self._database.autocommit(audit.add, entry)
            if asked.written % TIDY_EVERY == 0:
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


def in_one_line(entry: Mapping[str, Any]) -> str:
    """The entry as the log shows it; a control character in a name, such as a newline, is shown as its escape."""
    text = "{actor}: {action} {target}: {outcome}".format_map(entry)
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
