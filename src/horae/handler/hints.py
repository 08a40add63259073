"""Hints about work that a caller's own transaction creates: they go out after it commits, or not at all."""

import threading
from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, event
from sqlalchemy.orm import Session

COMMIT_TAKES: Final = 0.02
"""Seconds: a Connection tells of a commit just before it sends it."""


def after_commit(session: Session | Connection, send: Callable[[], None]) -> None:
    """Call `send` once the transaction of `session` is committed."""
    if isinstance(session, Session):
        event.listen(session, "after_commit", lambda _session: send(), once=True)
        return
    event.listen(session, "commit", lambda _connection: _soon(send), once=True)


def _soon(send: Callable[[], None]) -> None:
    timer = threading.Timer(COMMIT_TAKES, send)
    timer.daemon = True
    timer.start()
