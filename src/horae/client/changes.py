"""The audit log: records who changed what, through which channel, with the values before and after.

An entry is written in the transaction of its change, so nothing can change without a record. A call
that changes something passes its statement through `with_entry`. The actor of an entry is, over
HTTP, that of `on_request`; on the command line, that of `attributed_to`; elsewhere the `by` or
`owner` of the call, the job whose body calls, or this process. Starting a job uses the system and
does not change it, so only jobs started over HTTP are recorded.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from sqlalchemy import Connection

from horae.domain.storable import storable
from horae.quoting import cut
from horae.storage.engine import Statement
from horae.storage.operations import change_log
from horae.types.logs import current_claim

P = ParamSpec("P")
T = TypeVar("T")
Values: TypeAlias = Mapping[str, Any] | None

DONE: Final = "done"
HTTP: Final = "http"
DASHBOARD: Final = "dashboard"
COMMAND_LINE: Final = "cli"
PYTHON: Final = "python"
KEEP: Final = timedelta(days=365)
"""How long entries are kept."""
TIDY_EVERY: Final = 500
"""Number of entries after which a call also deletes old ones: rare enough to cost nothing."""
LONGEST_ACTOR: Final = 200
"""Maximum number of characters of an actor: the length of the column."""
LONGEST_TARGET: Final = 300
"""Maximum number of characters of a target: the length of the column."""
LONGEST_VALUE: Final = 1_000
"""Maximum number of characters of one value; the log is for reading, not a backup."""


@dataclass(slots=True)
class ChangeRequest:
    """A requested change.

    `written`: the id of its entry, once the transaction that writes it has begun.
    """

    actor: str
    action: str
    target: str
    note: str | None = None
    channel: str = HTTP
    written: int | None = None

    def entry(self, outcome: str, before: Values = None, after: Values = None) -> Mapping[str, Any]:
        """Return the entry of this change, with texts cut to the length of their columns."""
        return {
            "actor": storable(self.actor)[:LONGEST_ACTOR],
            "action": self.action,
            "target": storable(self.target)[:LONGEST_TARGET],
            "outcome": outcome,
            "note": None if self.note is None else storable(self.note),
            "channel": self.channel,
            "before": _as_text(before),
            "after": _as_text(after),
        }


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A change as described by the call that makes it, such as `queue.pause` of queue `mail`.

    `before` reads the values that may change; `after` reads them again, or takes them from the
    result of the call. Both run in the transaction of the change. `actor`: the `by` or `owner` of
    the call.
    """

    action: str
    target: str
    before: Callable[[Connection], Values] = lambda _: None
    after: Callable[[Connection, Any], Values] = lambda *_: None
    actor: str | None = None

    @classmethod
    def of(cls, action: str, target: str, read: Callable[[Connection], Values]) -> "LoggedChange":
        """Return a change of the values that `read` returns."""
        return cls(action, target, read, lambda connection, _: read(connection))


@dataclass(frozen=True, slots=True)
class Caller:
    """The actor of a call and the channel it came through."""

    actor: str
    channel: str


_asked: ContextVar[ChangeRequest | None] = ContextVar("horae_asked", default=None)
_noted: ContextVar[Callable[[Connection], None] | None] = ContextVar("horae_noted", default=None)
_caller: ContextVar[Caller | None] = ContextVar("horae_caller", default=None)


def is_requested() -> bool:
    """Return whether the running call came over HTTP, so that even a call without effect is
    recorded.
    """
    return _asked.get() is not None


def noted_by(note: Callable[[Connection], None]) -> AbstractContextManager[None]:
    """Call `note` in the transaction of each change that is made within the block."""
    return _set(_noted, note)


def on_request(asked: ChangeRequest) -> AbstractContextManager[None]:
    """Record the changes made within the block, in this thread and those it calls, under this
    request.
    """
    return _set(_asked, asked)


def attributed_to(caller: Caller) -> AbstractContextManager[None]:
    """Record the changes made within the block as those of `caller`."""
    return _set(_caller, caller)


@contextmanager
def _set(variable: ContextVar[Any], value: object) -> Generator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def with_entry(
    statement: Statement[P, T],
    change: LoggedChange | None = None,
    *,
    changed: Callable[[T], bool] = lambda _: True,
) -> Statement[P, T]:
    """Wrap a statement so that its audit entry is written in the same transaction.

    Nothing is written unless the statement `changed` something. Without a `change` an entry is
    written only for a call over HTTP.
    """

    def make(connection: Connection, /, *args: P.args, **kwargs: P.kwargs) -> T:
        asked = _asked.get()
        if asked is None:
            if change is None:
                return statement(connection, *args, **kwargs)
            caller = _caller.get() or Caller(change.actor or _this_program(), PYTHON)
            asked = ChangeRequest(
                caller.actor, change.action, change.target, channel=caller.channel
            )
        before = None if change is None else change.before(connection)
        result = statement(connection, *args, **kwargs)
        asked.written = None  # when it is repeated after a conflict, nothing may be left to change
        if changed(result):
            if (note := _noted.get()) is not None:
                note(connection)
            after = None if change is None else change.after(connection, result)
            asked.written = write(connection, asked.entry(DONE, *difference(before, after)))
        return result

    return make


def write(connection: Connection, entry: Mapping[str, Any]) -> int:
    """Insert an entry, delete old ones from time to time, and return the id of the entry."""
    identity = change_log.add(connection, entry)
    if identity % TIDY_EVERY == 0:
        # Few at once, so that a clock that is wrong for a moment does not delete all.
        change_log.expire(connection, KEEP.total_seconds(), 2 * TIDY_EVERY)
    return identity


def difference(before: Values, after: Values) -> tuple[Values, Values]:
    """Return the values that differ between the two, or all of them if one side is missing."""
    if before is None or after is None:
        return before, after
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: before.get(name) for name in changed}, {name: after.get(name) for name in changed}


def this_host() -> str:
    """Return the host name of this machine."""
    return socket.gethostname()


def _this_program() -> str:
    claim = current_claim()
    if claim is not None:
        return f"job {claim.id} ({claim.type})"
    return f"{Path(sys.argv[0]).name or 'python'}[{os.getpid()}]@{this_host()}"


def _as_text(values: Values) -> str | None:
    if values is None:
        return None

    def shorten(value: Any) -> Any:
        """Return a value that JSON can hold; a long one becomes a truncated text."""
        if isinstance(value, datetime):
            return value.isoformat()
        text = value
        if not isinstance(value, str):
            text = json.dumps(value, default=str, ensure_ascii=False)
        text = storable(text)
        if len(text) > LONGEST_VALUE or isinstance(value, str):
            return cut(text, LONGEST_VALUE)
        return value

    return json.dumps({name: shorten(value) for name, value in values.items()})
