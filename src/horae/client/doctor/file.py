"""The checks that only a SQLite file needs."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from horae.client.doctor.finding import GIGABYTE, USUAL, Finding, ok, problem, warning
from horae.domain.jobs import Job
from horae.errors import DatabaseBusy
from horae.storage.engine import DATABASE_ERRORS, Database
from horae.storage.engine.sqlite import Holder, process, write_lock_holder
from horae.storage.nodes import NodeView, nodes
from horae.storage.operations import doctor
from horae.types import JobType, OptionsJobType, Registry, has_hook


def examine_file(database: Database, registry: Registry) -> Iterator[Finding]:
    """Check the file: its journal mode, write lock, disk and write-ahead log."""
    file = Path(database.url.database or "")
    yield mode_finding(database.autocommit(doctor.journal_mode))
    yield examine_lock(database, registry)
    yield space_finding(shutil.disk_usage(file.resolve().parent).free)
    wal = Path(f"{file}-wal")
    yield wal_finding(wal.stat().st_size if wal.exists() else 0)


def mode_finding(mode: str) -> Finding:
    """Check that readers and the writer do not block each other."""
    if mode == "wal":
        return ok("journal", "in WAL mode: readers and the writer do not wait for each other")
    return problem(
        "journal",
        f"in {mode} mode, because the file system does not allow WAL: readers and the writer block"
        " each other",
        "Move the file to a local disk; network file systems cannot share a SQLite file.",
    )


def lock_finding(
    holder: Holder | None,
    views: Sequence[NodeView],
    started: list[Job],
    registry: Registry,
    timeout: float = USUAL.lock_timeout,
) -> Finding:
    """Report which process holds the write lock, and the jobs for which a node may hold it, if
    known.
    """
    held = f"has held the write lock for longer than {timeout:g} s, so no job can start or end"
    if holder is None:
        return problem(
            "write lock",
            f"a process {held}",
            "Find the program that keeps a transaction open, and end it.",
        )
    # The node whose process this is, or whose child process.
    processes = [holder] if holder.parent is None else [holder, process(holder.parent)]
    known = {(each.pid, each.born) for each in processes if each.born is not None}
    node = next((view for view in views if (view.pid, view.host.rpartition("#")[2]) in known), None)
    if node is None:
        message = f"{holder}, which is not a node, {held}"
        return problem(
            "write lock", message, "Find out what that program does, and end its transaction."
        )

    def may_hold_lock(job_type: JobType[Any] | None) -> bool:
        if isinstance(job_type, OptionsJobType):
            return job_type.has_transaction
        return job_type is None or has_hook(job_type, "transaction")

    bodies = [
        job for job in started if job.node_id == node.id and may_hold_lock(registry.find(job.type))
    ]
    names = ", ".join(f"job {job.id} ({job.type})" for job in bodies)
    message = f"{holder} of node {node.id} {held}"
    if not bodies:
        return problem(
            "write lock",
            f"{message}; it runs no job in a transaction",
            "Read the log of that node.",
        )
    return warning(
        "write lock",
        f"{message}; it runs in a transaction: {names}",
        "Wait, or run `horae jobs cancel`. Make the job write late and briefly, or use PostgreSQL.",
    )


def space_finding(free: float) -> Finding:
    """Check the free space on the disk."""
    figure = f"{free / GIGABYTE:.1f} GB are free"
    if free < USUAL.little_space:
        return problem(
            "disk", f"{figure}: writes will fail soon", "Free space on the disk of the database."
        )
    if free < USUAL.enough_space:
        return warning("disk", figure, "Free space on the disk of the database.")
    return ok("disk", figure)


def wal_finding(size: int) -> Finding:
    """Check that the write-ahead log is copied back into the file."""
    if size <= USUAL.large_wal:
        return ok("WAL", f"{size / 1024**2:.1f} MB")
    return warning(
        "WAL",
        f"{size / 1024**2:.0f} MB: a long read transaction keeps the log from being copied back"
        " into the file",
        "Find the program that keeps a read transaction open, and end it.",
    )


def examine_lock(
    database: Database, registry: Registry, timeout: float = USUAL.lock_timeout
) -> Finding:
    """Check that the file can be written, and its lock taken within `timeout` seconds."""
    with closing(Database(database.url, threads=1, busy_timeout=timeout)) as impatient:
        try:
            impatient.transact(doctor.write_nothing)
        except DatabaseBusy:
            holder = write_lock_holder(database.url.database or "")
            started = database.autocommit(doctor.find_started)
            return lock_finding(holder, database.autocommit(nodes.view), started, registry, timeout)
        except DATABASE_ERRORS as error:
            return problem(
                "write lock",
                f"this user cannot write the file: {doctor.database_error_of(error)}",
                "Let the user of the nodes write the file, its folder and the files beside it.",
            )
    return ok("write lock", f"can be taken within {timeout:g} s")
