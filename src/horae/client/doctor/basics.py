"""Checks everything that Horae depends on. Each check returns its findings and changes nothing."""

import time
from collections.abc import Iterator
from typing import Final

from horae.client.doctor.finding import Finding, Level, ok, problem, warning
from horae.errors import Unavailable
from horae.storage.engine.connections import pooler
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import SQLITE
from horae.storage.migrations import runner
from horae.storage.migrations.runner import MigrationStatus
from horae.storage.operations import doctor
from horae.wakeup.channel import Hint, WakeupChannel

CLOCK_TOLERANCE: Final = 1.0
HINTS_PATIENCE: Final = 6.0
"""Seconds: a difference of clocks that nobody notices; how long hints may take to be proven."""


def check_connection(database: Database) -> Finding:
    """Check that the database answers, and how fast."""
    began = time.monotonic()
    try:
        database.check_file(now=True)
        database.autocommit(doctor.clock)
        opened = time.monotonic()
        database.autocommit(doctor.clock)
    except Exception as error:
        complaint = str(error) if isinstance(error, Unavailable) else doctor.database_error_of(error)
        if complaint is None:
            raise
        return problem(
            "connection",
            f"the database does not answer: {complaint}",
            "Check the URL, the server, the password and the network; nothing runs until this works.",
        )
    connecting, asking = opened - began, time.monotonic() - opened
    return ok("connection", f"connects in {connecting * 1000:.0f} ms, answers in {asking * 1000:.1f} ms")


def check_migrations(database: Database) -> Finding:
    """Check that the tables have the version of this program."""
    return migrations_finding(runner.status(database), owned=database.dialect == SQLITE)


def migrations_finding(status: MigrationStatus, *, owned: bool) -> Finding:
    """`owned`: the database is a file that the program migrates by itself."""
    if status.ahead:
        return problem(
            "migrations",
            f"a newer version has migrated the database (revision {status.current}; this program knows {status.head})",
            "Upgrade this program.",
        )
    if not status.pending:
        return ok("migrations", f"at revision {status.current}, the newest")
    if owned:
        return warning(
            "migrations",
            f"revision {', '.join(status.pending)} is pending",
            "Nothing must be done: the next start migrates a SQLite file. `horae migrate up` does it now.",
        )
    return problem(
        "migrations",
        f"revision {', '.join(status.pending)} is pending, so nodes refuse to start",
        "Run `horae migrate up`.",
    )


def check_clock(database: Database) -> Finding:
    """Check the difference between the clocks of this machine and the database."""
    if database.dialect == SQLITE:
        return ok("clock", "the database uses this machine's clock")
    before = time.time()
    there = database.autocommit(doctor.clock).timestamp()
    return clock_finding(there - (before + time.time()) / 2)


def clock_finding(ahead: float) -> Finding:
    """`ahead`: seconds that the database's clock is ahead of this machine's."""
    if abs(ahead) <= CLOCK_TOLERANCE:
        return ok("clock", f"this machine and the database agree within {CLOCK_TOLERANCE:g} s")
    direction = "behind" if ahead > 0 else "ahead of"
    return warning(
        "clock",
        f"this machine is {abs(ahead):.1f} s {direction} the database; jobs follow the database's clock",
        "Times given with --run-at and log lines of this machine are off by as much: synchronize its clock (NTP).",
    )


def check_pooler(database: Database) -> Finding:
    """Check how the database is reached."""
    return ok("pooler", pooler.NOTICE if database.pooled else "none: connections lead to the server itself")


def check_hints(wakeup: WakeupChannel, *, wanted: bool, pooled: bool = False) -> Finding:
    """Check that processes can wake each other."""
    if pooled:
        return ok("hints", "not listened for behind a pooler: nodes find work by polling, at most a second late")
    if not wanted:
        return ok("hints", "switched off: nodes find work by polling, at most a second late")
    end = wakeup.subscribe(_ignore)
    try:
        deadline = time.monotonic() + HINTS_PATIENCE
        while not (proven := wakeup.connected) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        end()
    if proven:
        return ok("hints", "hints of other processes arrive")
    return warning(
        "hints",
        "hints do not arrive; nodes find work by polling, at most a second late, and cancels take as long",
        "On PostgreSQL connect directly; or set HORAE_HINTS=false to stop trying.",
    )


def first_checks(database: Database) -> Iterator[Finding]:
    """Run the checks that must pass before any other check is possible."""
    connection = check_connection(database)
    yield connection
    if connection.level is Level.OK:
        yield check_migrations(database)


def _ignore(_hint: Hint) -> None:
    """Only whether hints could arrive matters."""
