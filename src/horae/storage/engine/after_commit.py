"""Calls made after a caller's own transaction commits, such as hints about the new work."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, event

from horae.forking import ForkSafeLock
from horae.resource_shortage import try_start

if TYPE_CHECKING:
    from sqlalchemy.orm import Session, scoped_session

Send: TypeAlias = Callable[[], None]


_waiting: Final["WeakKeyDictionary[Session | Connection, list[Send]]"] = WeakKeyDictionary()
_guard: Final = ForkSafeLock()


def after_commit(within: "Session | scoped_session[Any] | Connection", send: Send) -> None:
    """Call `send` when the transaction of a session commits; a rollback drops the call."""
    session = within() if callable(within) else within  # a scoped_session is called for its session
    with _guard:
        waiting = _waiting.get(session)
        if waiting is None:
            waiting = _waiting[session] = []
            _follow(session, waiting)
    waiting.append(send)


def _follow(session: "Session | Connection", waiting: list[Send]) -> None:
    """Listen for the lifetime of `session`: a listener cannot be removed while it is called."""
    if not isinstance(session, Connection):
        # Calls may use the session, as the body of a job that a test runs at once does. So they
        # are made when its transaction has ended: during the commit event it refuses SQL.
        committed: list[Send] = []

        def on_commit(one: "Session") -> None:
            if not one.in_nested_transaction():  # the events are fired for savepoints, too
                committed.extend(waiting)
                waiting.clear()

        def on_rollback(one: "Session") -> None:
            if not one.in_nested_transaction():
                waiting.clear()

        event.listen(session, "after_commit", on_commit)
        event.listen(session, "after_rollback", on_rollback)
        event.listen(session, "after_transaction_end", lambda _one, _ended: _call(committed))
        return

    def call_soon(_connection: Connection) -> None:
        if waiting:
            due = waiting[:]
            waiting.clear()
            # SQLAlchemy fires its event just before the commit is sent.
            timer = threading.Timer(0.02, _call, [due])
            timer.daemon = True
            try_start(timer)  # the commit must not fail for lack of a thread

    event.listen(session, "commit", call_soon)
    event.listen(session, "rollback", lambda _connection: waiting.clear())


def _call(waiting: list[Send]) -> None:
    due = waiting[:]
    waiting.clear()
    for send in due:
        send()
