"""Shows other nodes that this node lives, and finds out which others are dead.

On PostgreSQL: by a row with a heartbeat, and a session advisory lock on the heartbeat's own
connection. On SQLite: by a lock on a file beside the database, so that a body that holds the
database for a minute makes no node look dead.
"""

import fcntl
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection
from typing_extensions import override

from horae.domain.cluster import Death, LivenessLimits, Signs, Silences, death_of
from horae.domain.jobs import NodeId
from horae.runtime.liveness.heartbeat import Heartbeat, Watcher
from horae.runtime.liveness.identity import decode_host, is_gone
from horae.runtime.timing import Timing
from horae.storage.engine import (
    LOCK_SUFFIX,
    Database,
    is_abandoned,
    make_folder,
    mode_beside,
    side_car_path,
)
from horae.storage.engine.connections import detach
from horae.storage.migrations import runner
from horae.storage.nodes import NodeRecord, NodeView, clock, nodes


class Membership(ABC):
    """The presence of one node, and its view of the others; the default methods do nothing."""

    def __init__(self, database: Database, record: NodeRecord) -> None:
        self._database, self._record = database, record

    @property
    def may_miss_a_node(self) -> bool:
        """Whether a node may be dead, as far as that can be told without a query."""
        return False

    @abstractmethod
    def join(self, watcher: Watcher) -> None:
        """Register the node."""

    def beat_within(self, connection: Connection) -> Callable[[], None]:
        """Send a heartbeat in an open transaction if one is overdue; return what to call after the
        commit.
        """
        del connection
        return lambda: None

    @abstractmethod
    def find_dead(self) -> dict[NodeId, Death]:
        """Return the nodes that are dead as far as this node can tell, and why."""

    def remove_traces(self, node: NodeId) -> None:  # noqa: B027 - nothing to do on PostgreSQL
        """Remove the files of a dead node, after its jobs were rescued and its row was removed."""

    def stop(self) -> None:  # noqa: B027 - nothing to do on SQLite
        """Stop the heartbeat, without a query."""

    @abstractmethod
    def leave(self) -> None:
        """Unregister the node, after everything else."""

    @abstractmethod
    def abandon(self) -> None:
        """In a forked child: close everything by which the node shows that it lives."""


class DatabaseMembership(Membership):
    """Membership on PostgreSQL, where heartbeats report silent nodes."""

    def __init__(
        self, database: Database, record: NodeRecord, limits: LivenessLimits, timing: Timing
    ) -> None:
        super().__init__(database, record)
        self._limits, self._timing = limits, timing.heartbeat
        self._heartbeat: Heartbeat | None = None
        self._silences = Silences()

    @override
    def join(self, watcher: Watcher) -> None:
        """Insert the row and start the heartbeat."""
        # Behind a pooler, the session with the lock may serve another client next.
        if self._database.pooled:
            self._record = replace(self._record, lock_key=None)
        self._database.transact(register, self._record)
        self._heartbeat = Heartbeat(
            self._database, self._record, self._limits, self._timing, watcher
        )
        self._heartbeat.start()

    @override
    def beat_within(self, connection: Connection) -> Callable[[], None]:
        if self._heartbeat is None:
            return super().beat_within(connection)
        return self._heartbeat.beat_within(connection)

    @override
    def find_dead(self) -> dict[NodeId, Death]:
        """Judge other nodes by their heartbeats, unless this node's own heartbeat is late."""
        asked = clock()
        views = self._database.autocommit(nodes.view)
        now = clock()
        if views:
            database_now = views[0].heartbeat_at + timedelta(seconds=views[0].silence)
            beats = {view.id: view.heartbeat_at for view in views}
            self._silences.observe(database_now, asked, now - asked, beats)
        # Read after the answer: if the server was unavailable until then, all nodes were silent.
        if now - asked > self._limits.lock:
            watched = 0.0
        elif self._heartbeat is None:  # the caller is a command or a web page, not a node
            watched = self._limits.silence
        else:
            watched = 0.0 if self._heartbeat.is_stale else self._heartbeat.seconds_of_contact()
        dead: dict[NodeId, Death] = {}
        for view in views:
            if view.id != self._record.id:
                silence = self._silences.of(view.id, view.heartbeat_at, view.silence, now)
                signs = replace(signs_of(view), silence=silence)
                if (death := death_of(signs, watched, self._limits)) is not None:
                    dead[view.id] = death
        return dead

    @override
    def stop(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.stop()

    @override
    def leave(self) -> None:
        """Stop the heartbeat and remove the row."""
        self.stop()
        self._database.transact(nodes.leave, self._record.id)

    @override
    def abandon(self) -> None:
        """In a forked child: close the pipes to the helper."""
        if self._heartbeat is not None:
            detach(self._heartbeat.descriptors)


class FileMembership(Membership):
    """Membership on SQLite: a node that holds its lock can be neither silent nor declared dead."""

    def __init__(
        self, database: Database, record: NodeRecord, directory: Path, timing: Timing
    ) -> None:
        super().__init__(database, replace(record, lock_key=None))
        self._directory, self._timing = directory, timing
        self._lock = LifeLock(self._file(record.id))

    @property
    @override
    def may_miss_a_node(self) -> bool:
        """Whether another node's file exists with a free lock."""
        return any(is_abandoned(self._file(node)) for node in self._others_with_files())

    @override
    def join(self, watcher: Watcher) -> None:
        """Take the lock, then insert the row, so that no row is ever seen without a lock."""
        make_folder(self._directory)
        self._lock.take()
        with ExitStack() as unless_registered:
            # A second attempt of this process would wait without end for the lock of the first.
            unless_registered.callback(self._lock.release)
            self._database.transact(register, self._record)
            unless_registered.pop_all()

    @override
    def find_dead(self) -> dict[NodeId, Death]:
        """Judge by processes and locks, and remove files of nodes that have no row."""
        views = self._database.autocommit(nodes.view)
        dead: dict[NodeId, Death] = {}
        for view in views:
            if view.id == self._record.id:
                continue
            file = self._file(view.id)
            lock_free = is_abandoned(file) or not file.exists()
            # A child that the node has forked may have inherited the lock, so the process itself
            # is checked as well.
            signs = replace(signs_of(view), silence=None, lock_free=lock_free)
            if (death := death_of(signs, 0.0, LivenessLimits())) is not None:
                dead[view.id] = death
        listed = {view.id for view in views}
        for file in [self._file(node) for node in self._others_with_files() if node not in listed]:
            with suppress(FileNotFoundError):
                # A node that starts makes its file before its row.
                age = time.time() - file.stat().st_mtime
                if is_abandoned(file) and age > self._timing.orphaned_after:
                    file.unlink()
        return dead

    @override
    def leave(self) -> None:
        """Remove the row, then release the lock."""
        try:
            self._database.transact(nodes.leave, self._record.id)
        finally:  # a row without a lock counts as a dead node
            self._lock.release()
            self.remove_traces(self._record.id)

    @override
    def remove_traces(self, node: NodeId) -> None:
        self._file(node).unlink(missing_ok=True)

    @override
    def abandon(self) -> None:
        """In a forked child: leave the lock to the parent."""
        self._lock.abandon()

    def _others_with_files(self) -> list[NodeId]:
        try:
            names = [file.name for file in self._directory.iterdir()]
        except FileNotFoundError:  # no node has started yet
            return []
        listed = [
            NodeId(name.removesuffix(LOCK_SUFFIX)) for name in names if name.endswith(LOCK_SUFFIX)
        ]
        return [node for node in listed if node != self._record.id]

    def _file(self, node: NodeId) -> Path:
        return self._directory / f"{node}{LOCK_SUFFIX}"


def membership_of(
    database: Database, record: NodeRecord, limits: LivenessLimits, timing: Timing
) -> Membership:
    """Return the membership for this kind of database."""
    if database.is_file:
        return FileMembership(database, record, side_car_path(database, "nodes"), timing)
    return DatabaseMembership(database, record, limits, timing)


def register(connection: Connection, record: NodeRecord) -> None:
    """Add the row of a node; raise `SchemaMismatch` if the tables were migrated since opened.

    A migration that running nodes could not survive lets no row be added until it ends.
    """
    nodes.register(connection, record)
    runner.check_open(connection)


def signs_of(view: NodeView) -> Signs:
    """Return the signs of life of a node with a heartbeat."""
    return Signs(
        silence=view.silence,
        lock_free=view.lock_free,
        process_gone=view.process_ended or is_gone(decode_host(view.host, view.pid)),
        may_end=view.may_end,
    )


class LifeLock:
    """The lock of this node's own file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def take(self) -> None:
        """Create the file and lock it; other processes lock it only for the moment of a check."""
        self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # Other users of the database need access to the file.
        os.fchmod(self._descriptor, mode_beside(self._file.parent))
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def release(self) -> None:
        """Release the lock, as the system does when a process ends."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def abandon(self) -> None:
        """In a forked child: close the copy of the descriptor; the parent keeps the lock."""
        if self._descriptor is not None:
            detach([self._descriptor])
