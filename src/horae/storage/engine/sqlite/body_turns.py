"""Takes SQLite's write lock for bodies, and lets other writers go between two bodies.

SQLite has no queue for its lock: each waiting writer tries again, in the end every tenth of a
second, and whoever tries first after a release gets the lock. Where several bodies wait, a request
that writes a row would often lose to all of them. So the bodies of a process leave the lock alone
for a moment after one of them has held it.
"""

import asyncio
import sqlite3
import time
from typing import Any, Final

from sqlalchemy import Connection, Engine, event
from sqlalchemy.util import await_only

from horae.storage.engine.failures import primary_code

BEGIN_IMMEDIATELY: Final = "BEGIN IMMEDIATE"
TURNS: Final = "horae_turns"
TAKEN_AT: Final = "horae_taken_at"
SHARE_OF_OTHERS: Final = 0.1
"""How long others may go first, as a share of the time for which the body held the lock."""
LONGEST_TURN_OF_OTHERS: Final = 0.11
"""Maximum seconds for which others may go first: slightly more than SQLite's longest pause."""


class BodyTurns:
    """The turns of the bodies of one process. Thread-safe."""

    def __init__(self, patience: float) -> None:
        """`patience`: maximum seconds to wait for the lock."""
        self._patience = patience
        self._others_until = 0.0

    def listen(self, engine: Engine) -> None:
        """Take the lock for the transactions of this engine, which is the one of bodies."""

        @event.listens_for(engine, "connect")
        def take_turns(_connection: object, record: Any) -> None:
            record.info[TURNS] = self

        @event.listens_for(engine, "checkin")
        def let_others_go(_connection: object, record: Any) -> None:
            taken_at: float | None = record.info.pop(TAKEN_AT, None)
            if taken_at is not None:
                now = time.monotonic()
                held = now - taken_at
                self._others_until = now + min(SHARE_OF_OTHERS * held, LONGEST_TURN_OF_OTHERS)

    def take(self, connection: Connection) -> None:
        """Begin a transaction that may write; raises the driver's error after `patience`."""
        cursor = connection.connection.cursor()
        deadline = time.monotonic() + self._patience
        pause = 0.001
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            while not self._try_to_take(cursor, deadline):
                seconds = max(pause, self._others_until - time.monotonic())
                if connection.dialect.is_async:  # the pause must not block the event loop
                    await_only(asyncio.sleep(seconds))
                else:
                    time.sleep(seconds)
                pause = min(2 * pause, 0.05)
        except (Exception, asyncio.CancelledError):
            # A coroutine whose loop has ended can await no more.
            self._restore(cursor)
            raise
        self._restore(cursor)
        connection.info[TAKEN_AT] = time.monotonic()

    def _restore(self, cursor: Any) -> None:
        cursor.execute(f"PRAGMA busy_timeout = {round(1000 * self._patience)}")
        cursor.close()

    def _try_to_take(self, cursor: Any, deadline: float) -> bool:
        """Take the lock, unless others have their turn or hold it; return whether it was taken."""
        now = time.monotonic()
        if now < self._others_until:
            return False
        try:
            cursor.execute(BEGIN_IMMEDIATELY)
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_BUSY or now >= deadline:
                raise
            return False
        return True
