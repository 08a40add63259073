"""A node's life, as others can see it, and the lives of others, as this node can see them.

On PostgreSQL: a row with a heartbeat, and a session advisory lock on the heartbeat's own connection. On SQLite: a lock
on a file beside the database, so that a body that holds the database for a minute makes nobody look dead. Beats come
from a thread of their own: a body that blocks the loop does not stop them, and they are the last thing a node stops.
"""

import fcntl
import os
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from filelock import FileLock
from sqlalchemy import Connection

from horae.domain.job import NodeId
from horae.domain.liveness import BEAT, Signs, cause_of_death
from horae.runtime.complaints import Complaint
from horae.runtime.identity import decoded, is_gone
from horae.storage import nodes
from horae.storage.database import Database, side_car
from horae.storage.dialect import SQLITE
from horae.storage.nodes import NodeRecord, NodeView

ORPHANED_AFTER: Final = 60.0
"""Seconds after which a file that no row names is nobody's."""


class Membership(Protocol):
    """One node among others."""

    @property
    def is_anybody_missing(self) -> bool:
        """Whether it is worth a look, as far as can be told without asking the database."""
        ...

    def join(self, on_death: Callable[[], None], on_suspicion: Callable[[], None]) -> None:
        """Become visible. The callbacks come on another thread: others took this node for dead; somebody is silent."""
        ...

    def find_dead(self) -> dict[NodeId, str]:
        """The nodes that are dead by all that can be seen from here, and why."""
        ...

    def bury(self, node: NodeId) -> None:
        """Remove what else is left of a dead node, once its jobs were dealt with and its row is gone."""
        ...

    def leave(self) -> None:
        """Become invisible, after everything else."""
        ...


class DatabaseMembership:
    """Life on PostgreSQL."""

    is_anybody_missing = False
    """Beats tell of others' silence."""

    def __init__(self, database: Database, record: NodeRecord) -> None:
        self._database = database
        self._record = record
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._live, name="horae-heartbeat", daemon=True)
        self._watching_since = time.monotonic()
        self._on_death: Callable[[], None] = _nothing
        self._on_suspicion: Callable[[], None] = _nothing
        self._away = Complaint()

    def join(self, on_death: Callable[[], None], on_suspicion: Callable[[], None]) -> None:
        """Write the row, take the lock, begin to beat."""
        self._on_death, self._on_suspicion = on_death, on_suspicion
        self._database.transact(nodes.register, self._record)
        self._thread.start()

    def find_dead(self) -> dict[NodeId, str]:
        """Judge every other node by its signs."""
        watched = time.monotonic() - self._watching_since
        others = [view for view in self._database.autocommit(nodes.view) if view.id != self._record.id]
        causes = {view.id: cause_of_death(_signs(view), watched) for view in others}
        return {node: cause for node, cause in causes.items() if cause is not None}

    def bury(self, node: NodeId) -> None:
        """Nothing: its row was all."""
        del node

    def leave(self) -> None:
        """Stop beating and strike the row off."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        self._database.transact(nodes.remove, [self._record.id])

    def _live(self) -> None:
        while not self._stopped.is_set():
            try:
                self._beat_while_connected()
            except Exception as error:  # noqa: BLE001 - whatever is wrong with the connection, a new one may be right
                self._away.warn("the heartbeat lost its connection: %s", error)
                self._stopped.wait(BEAT / 2)

    def _beat_while_connected(self) -> None:
        with self._database.own_connection() as connection:
            self._lock(connection)
            self._watching_since = time.monotonic()
            while not self._stopped.is_set():
                suspects = nodes.beat(connection, self._record.id)
                self._away.settle()
                if suspects is None:
                    self._stopped.set()
                    self._on_death()
                elif suspects:
                    self._on_suspicion()
                self._stopped.wait(BEAT)

    def _lock(self, connection: Connection) -> None:
        """Hold the lock until the connection ends. It is this node's alone, so it can only be free, or still ours."""
        if self._record.lock_key is not None:
            nodes.take_lock(connection, self._record.lock_key)


class FileMembership:
    """Life on SQLite."""

    def __init__(self, database: Database, record: NodeRecord, directory: Path) -> None:
        self._database = database
        self._record = replace(record, lock_key=None)
        self._directory = directory
        self._lock = FileLock(self._file(record.id), thread_local=False)

    def join(self, on_death: Callable[[], None], on_suspicion: Callable[[], None]) -> None:
        """Take the lock, then write the row, so that no row is ever seen without a lock."""
        del on_death, on_suspicion  # no silence to suspect, and nobody dies who holds a lock
        self._directory.mkdir(parents=True, exist_ok=True)
        self._lock.acquire(timeout=5)
        self._database.transact(nodes.register, self._record)

    @property
    def is_anybody_missing(self) -> bool:
        """Whether another node's file is there and its lock is free."""
        return any(is_abandoned(file) for file in self._directory.glob("*.lock") if file.stem != self._record.id)

    def find_dead(self) -> dict[NodeId, str]:
        """Every other node whose process is gone or whose lock can be taken."""
        others = [view for view in self._database.autocommit(nodes.view) if view.id != self._record.id]
        causes = {view.id: cause_of_death(self._signs(view), 0.0) for view in others}
        self._sweep_files({view.id for view in others})
        return {node: cause for node, cause in causes.items() if cause is not None}

    def leave(self) -> None:
        """Strike the row off, then free the lock."""
        try:
            self._database.transact(nodes.remove, [self._record.id])
        finally:  # a row without a lock is a dead node's
            self._lock.release()
            self.bury(self._record.id)

    def bury(self, node: NodeId) -> None:
        """Remove the lock file of a node whose jobs were dealt with."""
        Path(self._file(node)).unlink(missing_ok=True)

    def _sweep_files(self, listed: Collection[NodeId]) -> None:
        """Remove files that nodes without a row have left, but none of a node that has just made its own."""
        for file in self._directory.glob("*.lock"):
            unlisted = file.stem != self._record.id and file.stem not in listed
            with suppress(FileNotFoundError):
                if unlisted and is_abandoned(file) and time.time() - file.stat().st_mtime > ORPHANED_AFTER:
                    file.unlink()

    def _signs(self, view: NodeView) -> Signs:
        # A child that the node forked may have inherited its lock, so the process itself is looked at as well.
        gone = is_gone(decoded(view.host, view.pid))
        return Signs(node=view.id, silence=None, lock_free=_is_free(Path(self._file(view.id))), process_gone=gone)

    def _file(self, node: NodeId) -> str:
        return str(self._directory / f"{node}.lock")


def membership_of(database: Database, record: NodeRecord) -> Membership:
    """The kind of life that this database has."""
    if database.dialect == SQLITE:
        return FileMembership(database, record, side_car(database, "nodes"))
    return DatabaseMembership(database, record)


def _signs(view: NodeView) -> Signs:
    gone = is_gone(decoded(view.host, view.pid))
    return Signs(node=view.id, silence=view.silence, lock_free=view.lock_free, process_gone=gone)


def _is_free(file: Path) -> bool:
    return is_abandoned(file) or not file.exists()


def is_abandoned(file: Path) -> bool:
    """Whether the file is there and nobody holds its lock; looking makes no file."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)  # which frees the lock again


def _nothing() -> None:
    """Not joined yet."""


if TYPE_CHECKING:
    _conform: tuple[type[Membership], type[Membership]] = (DatabaseMembership, FileMembership)
