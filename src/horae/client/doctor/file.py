"""The checks that only a SQLite file needs."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from horae.client.doctor.finding import Finding, ok, problem, warning
from horae.domain.jobs.job import Job
from horae.errors import DatabaseBusy
from horae.storage.engine.database import Database
from horae.storage.engine.sqlite.lock_holder import Holder, process, write_lock_holder
from horae.storage.operations import doctor, nodes
from horae.storage.operations.nodes import NodeView
from horae.types.function import FunctionJobType
from horae.types.job_type import JobType, has_hook
from horae.types.registry import Registry

LOCK_PATIENCE: Final = 1.0
GIGABYTE: Final = 1024**3
LITTLE_SPACE: Final = 0.1 * GIGABYTE
ENOUGH_SPACE: Final = GIGABYTE
LARGE_WAL: Final = GIGABYTE // 4
"""Seconds that a well-behaved writer may hold the lock; bytes."""


def examine_file(database: Database, registry: Registry) -> Iterator[Finding]:
    """Everything about the file that matters to Horae."""
    file = Path(database.url.database or "")
    yield mode_finding(database.autocommit(doctor.journal_mode))
    yield examine_lock(database, registry)
    yield space_finding(shutil.disk_usage(file.resolve().parent).free)
    wal = Path(f"{file}-wal")
    yield wal_finding(wal.stat().st_size if wal.exists() else 0)


def mode_finding(mode: str) -> Finding:
    """Whether readers and the writer are out of each other's way."""
    if mode == "wal":
        return ok("journal", "in WAL mode: readers and the writer do not wait for each other")
    return problem(
        "journal",
        f"in {mode} mode, because the file system does not allow WAL: readers and the writer block each other",
        "Move the file to a local disk; network file systems cannot share a SQLite file.",
    )


def lock_finding(holder: Holder | None, views: Sequence[NodeView], started: list[Job], registry: Registry) -> Finding:
    """Who holds the one write lock, which cannot be had; only what is known is said of anybody."""
    held = f"has held the write lock for longer than {LOCK_PATIENCE:g} s: nothing starts or ends meanwhile"
    if holder is None:
        return problem("write lock", f"somebody {held}", "Look for a program that keeps a transaction open.")
    node = _node_of(holder, views)
    if node is None:
        message = f"{holder}, which is no node, {held}"
        return problem("write lock", message, "Look at what that program does; end its transaction.")
    bodies = [job for job in started if job.node_id == node.id and _may_hold_lock(registry.find(job.type))]
    names = ", ".join(f"job {job.id} ({job.type})" for job in bodies)
    message = f"{holder} of node {node.id} {held}"
    if not bodies:
        return problem("write lock", f"{message}; it runs no job in a transaction", "Look at what that node logs.")
    return warning(
        "write lock",
        f"{message}; what it runs in a transaction: {names}",
        "Wait, or cancel it (`horae jobs cancel`). Let bodies write late and briefly, or use PostgreSQL.",
    )


def _node_of(holder: Holder, views: Sequence[NodeView]) -> NodeView | None:
    """The node whose process this is, or whose child process."""
    processes = [holder] if holder.parent is None else [holder, process(holder.parent)]
    known = {(each.pid, each.born) for each in processes if each.born is not None}
    return next((view for view in views if (view.pid, view.host.rpartition("#")[2]) in known), None)


def space_finding(free: float) -> Finding:
    """How much the disk can still take."""
    figure = f"{free / GIGABYTE:.1f} GB are free"
    if free < LITTLE_SPACE:
        return problem("disk", f"{figure}: writes will fail soon", "Make room on the disk of the database.")
    if free < ENOUGH_SPACE:
        return warning("disk", figure, "Make room on the disk of the database.")
    return ok("disk", figure)


def wal_finding(size: int) -> Finding:
    """Whether the write-ahead log can be folded back into the file."""
    if size <= LARGE_WAL:
        return ok("WAL", f"{size / 1024**2:.1f} MB")
    return warning(
        "WAL",
        f"{size / 1024**2:.0f} MB: a reader has kept the log from being folded back into the file",
        "Look for a program that keeps a read transaction open.",
    )


def examine_lock(database: Database, registry: Registry) -> Finding:
    """Whether the write lock can be taken, and who has it if not."""
    with closing(Database(database.url, threads=1, busy_timeout=LOCK_PATIENCE)) as impatient:
        try:
            impatient.transact(doctor.do_nothing)
        except DatabaseBusy:
            holder = write_lock_holder(database.url.database or "")
            started = database.autocommit(doctor.started)
            return lock_finding(holder, database.autocommit(nodes.view), started, registry)
    return ok("write lock", f"can be taken within {LOCK_PATIENCE:g} s")


def _may_hold_lock(job_type: JobType[Any] | None) -> bool:
    """A type that is not known here may."""
    if isinstance(job_type, FunctionJobType):
        return job_type.has_transaction
    return job_type is None or has_hook(job_type, "transaction")
