"""Changes and their entries: what is changed by whom, through which channel, as it was before and as it is since.

An entry is written in the transaction of its change, so that nothing is changed that cannot be recorded. A call that
changes something passes its statement through `recorded`. Over HTTP `asked_by` says who asks; on the command line
`acting` does; elsewhere it is the `by` or `owner` of the call, the job whose body calls, or else this process. To start
jobs is to use the system and not to change it: only what strangers start over HTTP is recorded.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar

from sqlalchemy import Connection

from horae.domain.storable import storable
from horae.storage.operations import audit
from horae.types.logging import current_claim

P = ParamSpec("P")
T = TypeVar("T")
Values: TypeAlias = Mapping[str, Any] | None

DONE: Final = "done"
HTTP: Final = "http"
COMMAND_LINE: Final = "cli"
PYTHON: Final = "python"
KEEP: Final = timedelta(days=365)
TIDY_EVERY: Final = 500
"""Entries after which old ones are dropped: seldom, and by whoever writes that one."""
LONGEST_ACTOR: Final = 200
LONGEST_TARGET: Final = 300
LONGEST_VALUE: Final = 1_000


@dataclass(slots=True)
class Asked:
    """What somebody asks for. `written`: the id of its entry, once the transaction that wrote it was begun."""

    actor: str
    action: str
    target: str
    note: str | None = None
    channel: str = HTTP
    written: int | None = None

    def entry(self, outcome: str, before: Values = None, after: Values = None) -> Mapping[str, Any]:
        """What is written down of it."""
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
class Change:
    """A change as its call knows it: `queue.pause` of queue `mail`.

    `before` reads what may change, `after` the same again, or what the result of the call says, both in the transaction
    of the change. `actor`: who the call says it is for.
    """

    action: str
    target: str
    before: Callable[[Connection], Values] = lambda _: None
    after: Callable[[Connection, Any], Values] = lambda *_: None
    actor: str | None = None

    @classmethod
    def of(cls, action: str, target: str, look: Callable[[Connection], Values]) -> "Change":
        """A change of what `look` reads."""
        return cls(action, target, look, lambda connection, _: look(connection))


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, through which channel."""

    actor: str
    channel: str


_asked: ContextVar[Asked | None] = ContextVar("horae_asked", default=None)
_caller: ContextVar[Caller | None] = ContextVar("horae_caller", default=None)


def is_asked() -> bool:
    """Whether the running call has to be recorded whatever it does."""
    return _asked.get() is not None


@contextmanager
def asked_by(asked: Asked) -> Generator[None]:
    """Record what is changed within the block, here and on the threads that it calls."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


@contextmanager
def acting(caller: Caller) -> Generator[None]:
    """Record what is changed within the block as changed by `caller`."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


def recorded(
    statement: Callable[Concatenate[Connection, P], T],
    change: Change | None = None,
    *,
    changed: Callable[[T], bool] = lambda _: True,
) -> Callable[Concatenate[Connection, P], T]:
    """`statement`, and in the same transaction the entry of the change, where it `changed` something.

    Without a `change` it is recorded only if somebody asked for it over HTTP.
    """

    def make(connection: Connection, /, *args: P.args, **kwargs: P.kwargs) -> T:
        asked = _asked.get() or _asked_here(change)
        if asked is None:
            return statement(connection, *args, **kwargs)
        before = None if change is None else change.before(connection)
        result = statement(connection, *args, **kwargs)
        asked.written = None  # called again after a conflict, it may find nothing left to change
        if changed(result):
            after = None if change is None else change.after(connection, result)
            asked.written = write(connection, asked.entry(DONE, *difference(before, after)))
        return result

    return make


def write(connection: Connection, entry: Mapping[str, Any]) -> int:
    """Write an entry down, and drop old ones now and then; its id."""
    identity = audit.add(connection, entry)
    if identity % TIDY_EVERY == 0:
        audit.expire(connection, KEEP.total_seconds())
    return identity


def difference(before: Values, after: Values) -> tuple[Values, Values]:
    """Of two looks at one thing what they differ in; all of it where there is only one."""
    if before is None or after is None:
        return before, after
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {name: before.get(name) for name in changed}, {name: after.get(name) for name in changed}


def this_host() -> str:
    """The name of this machine."""
    return socket.gethostname()


def _asked_here(change: Change | None) -> Asked | None:
    if change is None:
        return None
    caller = _caller.get() or Caller(change.actor or _job_or_process(), PYTHON)
    return Asked(caller.actor, change.action, change.target, channel=caller.channel)


def _job_or_process() -> str:
    claim = current_claim()
    if claim is not None:
        return f"job {claim.id} ({claim.type})"
    return f"{Path(sys.argv[0]).name or 'python'}[{os.getpid()}]@{this_host()}"


def _as_text(values: Values) -> str | None:
    return None if values is None else json.dumps({name: _bounded(value) for name, value in values.items()})


def _bounded(value: Any) -> Any:
    """The value as JSON has it; what is long is cut, as a text."""
    if isinstance(value, datetime):
        return value.isoformat()
    text = storable(value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False))
    if len(text) > LONGEST_VALUE:
        return f"{text[:LONGEST_VALUE]}…"
    return text if isinstance(value, str) else value
