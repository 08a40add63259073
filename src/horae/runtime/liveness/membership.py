"""A node's life, as others can see it, and the lives of others, as this node can see them.

On PostgreSQL: a row with a heartbeat, and a session advisory lock on the heartbeat's own connection. On SQLite: a lock
on a file beside the database, so that a body that holds the database for a minute makes nobody look dead.
"""

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection

from horae.domain.cluster.liveness import Death, Limits, Signs, death_of
from horae.domain.jobs.job import NodeId
from horae.runtime.liveness.heartbeat import Heartbeat, Watcher
from horae.runtime.liveness.identity import decoded, is_gone
from horae.runtime.liveness.life_lock import LifeLock, is_abandoned
from horae.runtime.timing import Timing
from horae.storage.engine.connections.timeouts import detach
from horae.storage.engine.database import Database, side_car_path
from horae.storage.engine.dialect import SQLITE
from horae.storage.engine.sqlite.file_modes import make_folder
from horae.storage.operations import nodes
from horae.storage.operations.heartbeat_process import clock
from horae.storage.operations.nodes import NodeRecord, NodeView


class Membership(Protocol):
    """One node among others."""

    @property
    def is_anybody_missing(self) -> bool:
        """Whether it is worth a look, as far as can be told without asking the database."""
        ...

    def join(self, watcher: Watcher) -> None:
        """Become visible."""
        ...

    def beat_within(self, connection: Connection) -> Callable[[], None]:
        """Give a sign of life in a transaction that is under way, if one is due; what to call when it is committed."""
        ...

    def find_dead(self) -> dict[NodeId, Death]:
        """The nodes that are dead by all that can be seen from here, and why."""
        ...

    def bury(self, node: NodeId) -> None:
        """Remove what else is left of a dead node, once its jobs were dealt with and its row is gone."""
        ...

    def stop(self) -> None:
        """Give no more signs of life; asks the database nothing."""
        ...

    def leave(self) -> None:
        """Become invisible, after everything else."""
        ...

    def abandon(self) -> None:
        """In a fork of the node's process: keep nothing open that says that the node lives."""
        ...


class DatabaseMembership:
    """Life on PostgreSQL."""

    is_anybody_missing = False
    """Beats tell of others' silence."""

    def __init__(self, database: Database, record: NodeRecord, limits: Limits, timing: Timing) -> None:
        self._database, self._record = database, record
        self._limits, self._timing = limits, timing.heartbeat
        self._heartbeat: Heartbeat | None = None

    def join(self, watcher: Watcher) -> None:
        """Write the row, begin to beat."""
        if self._database.pooled:  # the session that has the lock would be somebody else's a moment later
            self._record = replace(self._record, lock_key=None)
        self._database.transact(nodes.register, self._record)
        self._heartbeat = Heartbeat(self._database, self._record, self._limits, self._timing, watcher)
        self._heartbeat.start()

    def beat_within(self, connection: Connection) -> Callable[[], None]:
        """Beat, if that is overdue."""
        return _nothing if self._heartbeat is None else self._heartbeat.beat_within(connection)

    def find_dead(self) -> dict[NodeId, Death]:
        """Judge every other node by its signs, but nobody while this node's own are late."""
        asked = clock()
        others = [view for view in self._database.autocommit(nodes.view) if view.id != self._record.id]
        # Looked at after the answer, which may have taken as long as the server was away, and all were silent.
        watched = 0.0 if clock() - asked > self._limits.lock else self._watched()
        deaths = {view.id: death_of(signs_of(view), watched, self._limits) for view in others}
        return {node: death for node, death in deaths.items() if death is not None}

    def bury(self, node: NodeId) -> None:
        """Nothing: its row was all."""
        del node

    def stop(self) -> None:
        """Stop beating."""
        if self._heartbeat is not None:
            self._heartbeat.stop()

    def leave(self) -> None:
        """Stop beating and strike the row off."""
        self.stop()
        self._database.transact(nodes.remove, [self._record.id])

    def abandon(self) -> None:
        """In a fork of the node's process: nothing of it is to be kept open."""
        if self._heartbeat is not None:
            detach(self._heartbeat.descriptors)

    def _watched(self) -> float:
        if self._heartbeat is None:
            return self._limits.silence  # not a node, only looking
        return 0.0 if self._heartbeat.is_stale else self._heartbeat.watched()


class FileMembership:
    """Life on SQLite."""

    def __init__(self, database: Database, record: NodeRecord, directory: Path, timing: Timing) -> None:
        self._database = database
        self._record = replace(record, lock_key=None)
        self._directory, self._timing = directory, timing.membership
        self._lock = LifeLock(Path(self._file(record.id)))

    def join(self, watcher: Watcher) -> None:
        """Take the lock, then write the row, so that no row is ever seen without a lock."""
        del watcher  # no silence to suspect, and nobody dies who holds a lock
        make_folder(self._directory)
        self._lock.take()
        self._database.transact(nodes.register, self._record)

    def beat_within(self, connection: Connection) -> Callable[[], None]:
        """Nothing: the lock is held."""
        del connection
        return _nothing

    @property
    def is_anybody_missing(self) -> bool:
        """Whether another node's file is there and its lock is free."""
        return any(is_abandoned(file) for file in self._directory.glob("*.lock") if file.stem != self._record.id)

    def find_dead(self) -> dict[NodeId, Death]:
        """Every other node whose process is gone or whose lock can be taken."""
        others = [view for view in self._database.autocommit(nodes.view) if view.id != self._record.id]
        deaths = {view.id: death_of(self._signs(view), 0.0, Limits()) for view in others}
        self._sweep_files({view.id for view in others})
        return {node: death for node, death in deaths.items() if death is not None}

    def stop(self) -> None:
        """Nothing: the lock is freed once the row is gone."""

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

    def abandon(self) -> None:
        """In a fork of the node's process: the lock is the parent's alone."""
        self._lock.abandon()

    def _sweep_files(self, listed: Collection[NodeId]) -> None:
        """Remove files that nodes without a row have left, but none of a node that has just made its own."""
        for file in self._directory.glob("*.lock"):
            unlisted = file.stem != self._record.id and file.stem not in listed
            with suppress(FileNotFoundError):
                if unlisted and is_abandoned(file) and time.time() - file.stat().st_mtime > self._timing.orphaned_after:
                    file.unlink()

    def _signs(self, view: NodeView) -> Signs:
        # A child that the node forked may have inherited its lock, so the process itself is looked at as well.
        gone = is_gone(decoded(view.host, view.pid))
        return Signs(node=view.id, silence=None, lock_free=_is_free(Path(self._file(view.id))), process_gone=gone)

    def _file(self, node: NodeId) -> str:
        return str(self._directory / f"{node}.lock")


def membership_of(database: Database, record: NodeRecord, limits: Limits, timing: Timing) -> Membership:
    """The kind of life that this database has."""
    if database.dialect == SQLITE:
        return FileMembership(database, record, side_car_path(database, "nodes"), timing)
    return DatabaseMembership(database, record, limits, timing)


def signs_of(view: NodeView) -> Signs:
    """What can be seen of a node whose life is a heartbeat."""
    gone = view.process_ended or is_gone(decoded(view.host, view.pid))
    return Signs(node=view.id, silence=view.silence, lock_free=view.lock_free, process_gone=gone)


def _nothing() -> None:
    """No sign of life was due."""


def _is_free(file: Path) -> bool:
    return is_abandoned(file) or not file.exists()


if TYPE_CHECKING:
    _conform: tuple[type[Membership], type[Membership]] = (DatabaseMembership, FileMembership)
