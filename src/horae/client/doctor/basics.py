"""Checks everything that Horae depends on. Each check returns its findings and changes nothing."""

import time
from collections.abc import Iterator

from horae.client.doctor.finding import USUAL, Finding, Level, Limits, ok, problem, warning
from horae.errors import Unavailable
from horae.storage.engine.connections import pooler
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import SQLITE
from horae.storage.migrations import runner
from horae.storage.migrations.runner import MigrationStatus
from horae.storage.operations import doctor
from horae.wakeup.channel import Hint, WakeupChannel


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
            "Check the URL, the server, the password and the network. No job runs until this works.",
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
            "No action needed: the next start migrates a SQLite file. To migrate it now, run `horae migrate up`.",
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


def clock_finding(ahead: float, limits: Limits = USUAL) -> Finding:
    """`ahead`: seconds that the database's clock is ahead of this machine's."""
    if abs(ahead) <= limits.clock_tolerance:
        return ok("clock", f"this machine and the database agree within {limits.clock_tolerance:g} s")
    direction = "behind" if ahead > 0 else "ahead of"
    return warning(
        "clock",
        f"this machine is {abs(ahead):.1f} s {direction} the database; jobs follow the database's clock",
        "Synchronize the clock of this machine (NTP): times given with --run-at and in its log differ as much.",
    )


def check_pooler(database: Database) -> Finding:
    """Check how the database is reached."""
    return ok("pooler", pooler.NOTICE if database.pooled else "none: connections go directly to the server")


def check_hints(wakeup: WakeupChannel, *, wanted: bool, pooled: bool = False, limits: Limits = USUAL) -> Finding:
    """Check that processes can wake each other."""
    if pooled or not wanted:
        why = "not available behind a pooler" if pooled else "switched off"
        return ok("hints", f"{why}: nodes find work by polling, at most a second late")
    end = wakeup.subscribe(_ignore)
    try:
        deadline = time.monotonic() + limits.hints_timeout
        while not (proven := wakeup.connected) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        end()
    if proven:
        return ok("hints", "hints from other processes arrive")
    return warning(
        "hints",
        "hints do not arrive; nodes find work by polling, at most a second late, and cancels take as long",
        "Connect to PostgreSQL directly, or set HORAE_HINTS=false to stop trying.",
    )


def first_checks(database: Database) -> Iterator[Finding]:
    """Run the checks that must pass before any other check is possible."""
    connection = check_connection(database)
    yield connection
    if connection.level is Level.OK:
        yield check_migrations(database)


def _ignore(_hint: Hint) -> None:
    """Do nothing: the check is whether hints can arrive, not what they are."""
