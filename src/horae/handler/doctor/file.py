"""The checks that only a SQLite file needs."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from horae.domain.job import Job
from horae.errors import DatabaseBusy
from horae.handler.doctor.finding import Finding, ok, problem, warning
from horae.storage import doctor
from horae.storage.database import Database
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
    yield lock_finding(_lock_is_free(database), database.autocommit(doctor.started), registry)
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


def lock_finding(free: bool, started: list[Job], registry: Registry) -> Finding:  # noqa: FBT001 - the finding's subject
    """Who holds the one write lock, if it cannot be had."""
    if free:
        return ok("write lock", f"can be taken within {LOCK_PATIENCE:g} s")
    suspects = [job for job in started if _may_hold_lock(registry.find(job.type))]
    held = f"somebody has held the write lock for longer than {LOCK_PATIENCE:g} s: nothing starts or ends meanwhile"
    if not suspects:
        return problem("write lock", f"{held}; no job runs in a transaction", "Look for another program on the file.")
    names = ", ".join(f"job {job.id} ({job.type}, node {job.node_id})" for job in suspects)
    return warning(
        "write lock",
        f"{held}; these started jobs may run in a transaction: {names}",
        "Wait, or cancel it (`horae jobs cancel`). Let bodies write late and briefly, or use PostgreSQL.",
    )


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


def _lock_is_free(database: Database) -> bool:
    with closing(Database(database.url, threads=1, busy_timeout=LOCK_PATIENCE)) as impatient:
        try:
            impatient.transact(doctor.nothing)
        except DatabaseBusy:
            return False
        return True


def _may_hold_lock(job_type: JobType[Any] | None) -> bool:
    """A type that is not known here may."""
    if isinstance(job_type, FunctionJobType):
        return job_type.has_transaction
    return job_type is None or has_hook(job_type, "transaction")
