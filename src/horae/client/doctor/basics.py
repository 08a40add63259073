"""Checks everything that Horae depends on. Each check returns its findings and changes nothing."""

import time
from collections.abc import Generator, Iterator
from typing import Final

from horae.client.doctor.finding import (
    USUAL,
    Finding,
    Level,
    ok,
    problem,
    warning,
)
from horae.domain.jobs import JobState
from horae.errors import ConfigurationError, DatabaseReadOnly, DatabaseUnavailable
from horae.sentences import Sentence, SentenceCode, counted
from horae.storage.engine import DATABASE_ERRORS, Database, read_clock, unreadable_rows
from horae.storage.engine.connections import pooler
from horae.storage.jobs import JobFilter, reading
from horae.storage.migrations import MigrationStatus, runner
from horae.storage.nodes import nodes
from horae.storage.operations import change_log, doctor
from horae.storage.queues import queues
from horae.storage.schedules import deployments, ticks
from horae.storage.schedules import reading as schedule_reading
from horae.wakeup import WakeupChannel

MOST_ROWS: Final = 5_000
"""Maximum number of jobs and schedules that are checked, newest first."""
JOBS_AT_ONCE: Final = 25
"""Jobs per statement; each is read with all its columns, and may be some megabytes large."""
MOST_SHOWN: Final = 10
"""Maximum number of unreadable rows that are listed; further ones are only counted."""


def check_connection(database: Database) -> Finding:
    """Check that the database answers, and how fast."""
    began = time.monotonic()
    try:
        database.check_file(now=True)
        database.autocommit(read_clock)
        opened = time.monotonic()
        database.autocommit(read_clock)
    except DatabaseReadOnly as error:
        return problem(
            "connection",
            str(error),
            "Promote a standby, or name the primary. No job runs until this works.",
        )
    except ConfigurationError as error:
        return problem(
            "connection", str(error), "Mend what this names. No job runs until it works."
        )
    except DATABASE_ERRORS as error:
        answers = isinstance(error, DatabaseUnavailable) and error.answers
        return problem(
            "connection",
            f"the database {'cannot be used now' if answers else 'does not answer'}:"
            f" {doctor.database_error_of(error)}",
            (
                "Check the path, and who may read and write the file and its folder."
                if database.is_file
                else "Check the URL, the server, the password and the network."
            )
            + " No job runs until this works.",
        )
    connecting, asking = opened - began, time.monotonic() - opened
    return ok(
        "connection", f"connects in {connecting * 1000:.0f} ms, answers in {asking * 1000:.1f} ms"
    )


def migrations_finding(status: MigrationStatus, *, owned: bool) -> Finding:
    """Return the finding about the tables' version.

    `owned`: the database is a file that the program migrates by itself.
    """
    if status.ahead:
        fits = ", and its tables are compatible with this program" if status.usable else ""
        newer = Sentence(
            f"a newer version has migrated the database (revision {status.current}; this program"
            f" knows {status.head}){fits}",
            SentenceCode.SCHEMA_NEWER,
            current=status.current,
            known=status.head,
            compatible=status.usable,
        )
        if status.usable:
            replace = Sentence(
                "Replace this program by the newer version when convenient.",
                SentenceCode.DO_REPLACE_PROGRAM,
            )
            return warning("migrations", newer, replace, kind="schema_newer")
        upgrade = Sentence("Upgrade this program.", SentenceCode.DO_UPGRADE_PROGRAM)
        return problem("migrations", newer, upgrade, kind="schema_newer")
    if not status.pending:
        return ok("migrations", f"at revision {status.current}, the newest")
    old = Sentence(
        f"revision {', '.join(status.pending)} is pending"
        f"{'' if owned else ', so nodes refuse to start'}",
        SentenceCode.SCHEMA_OLD,
        pending=list(status.pending),
        refused=not owned,
    )
    if owned:
        wait = Sentence(
            "No action needed: the next start migrates a SQLite file. To migrate it now, run"
            " `horae migrate up`.",
            SentenceCode.DO_MIGRATE_FILE,
        )
        return warning("migrations", old, wait, kind="schema_old")
    migrate = Sentence("Run `horae migrate up`.", SentenceCode.DO_MIGRATE)
    return problem("migrations", old, migrate, kind="schema_old")


def check_schema(database: Database) -> Iterator[Finding]:
    """Check whether this role could create the tables."""
    schema = database.autocommit(doctor.schema)
    if schema.name is None:
        yield problem(
            "schema",
            f"no schema of the search_path of role {schema.role} exists ({schema.search_path}), so"
            " no table is found",
            "Set search_path for this role or database.",
        )
    elif not schema.may_create:
        yield warning(
            "schema",
            f"role {schema.role} may not create tables in schema {schema.name}, so it cannot"
            " migrate",
            f"Run `horae migrate up` as a role that may, or GRANT CREATE ON SCHEMA {schema.name} TO"
            f" {schema.role}.",
        )


def check_clock(database: Database) -> Finding:
    """Check the difference between the clocks of this machine and the database."""
    if database.is_file:
        return ok("clock", "the database uses this machine's clock")
    before = time.time()
    there = database.autocommit(read_clock).timestamp()
    return clock_finding(there - (before + time.time()) / 2)


def clock_finding(ahead: float) -> Finding:
    """Return the finding about the clocks.

    `ahead`: seconds by which the database's clock is ahead of this machine's.
    """
    if abs(ahead) <= USUAL.clock_tolerance:
        return ok(
            "clock", f"this machine and the database agree within {USUAL.clock_tolerance:g} s"
        )
    direction = "behind" if ahead > 0 else "ahead of"
    return warning(
        "clock",
        f"this machine is {abs(ahead):.1f} s {direction} the database; jobs follow the database's"
        " clock",
        "Synchronize the clock of this machine (NTP): times given with --run-at and in its log"
        " differ as much.",
    )


def check_pooler(database: Database) -> Finding:
    """Check how the database is reached, and which features do not work that way."""
    if not database.pooled:
        return ok("pooler", "none: connections go directly to the server")
    if database.prepared_statements and not pooler.keeps_prepared_statements(
        database.driver_arguments()
    ):
        return warning(
            "pooler",
            "the settings demand prepared statements, but the pooler does not keep track of them:"
            " unless it is in session mode, statements fail at random",
            "Set max_prepared_statements in PgBouncer 1.22 or newer, or unset"
            " HORAE_PREPARED_STATEMENTS.",
        )
    return ok(
        "pooler",
        f"connections go through a pooler: {database.without_sessions}; a silent node counts as"
        " dead late",
    )


def check_hints(
    wakeup: WakeupChannel, *, wanted: bool, timeout: float = USUAL.hints_timeout
) -> Finding:
    """Check that processes can wake each other. `timeout`: seconds for a first hint to arrive."""
    if not wanted:
        return ok("hints", "switched off: nodes find work by polling, at most a second late")
    if not wakeup.listens:
        return ok(
            "hints",
            "not available behind a pooler: nodes find work by polling, at most a second late",
            "To have them, set HORAE_HINTS_DATABASE to a URL that leads to the server directly, or"
            " HORAE_REDIS.",
        )
    end = wakeup.subscribe(lambda _: None)
    try:
        deadline = time.monotonic() + timeout
        while not (proven := wakeup.connected) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        end()
    if proven:
        return ok("hints", "hints from other processes arrive")
    return warning(
        "hints",
        "hints do not arrive; nodes find work by polling, at most a second late, and cancels take"
        " as long",
        "Connect to PostgreSQL or Redis directly, by HORAE_HINTS_DATABASE to the same database, or"
        " set HORAE_HINTS=false to stop trying.",
    )


def first_checks(database: Database) -> Generator[Finding, None, bool]:
    """Check what other checks need; return whether this program can use the tables."""
    connection = check_connection(database)
    yield connection
    if connection.level is Level.PROBLEM:
        return False
    status = runner.status(database)
    yield migrations_finding(status, owned=database.is_file)
    if not status.usable and not database.is_file:
        yield from check_schema(database)
    return status.usable


def refused_finding(complaint: str, *, is_file: bool) -> Finding:
    """Return the finding about a check whose statement the database refused (`complaint`)."""
    return problem(
        "tables",
        f"cannot be read: {complaint}",
        "Look at the space on the disk, at who may write the file and its folder, and at what"
        " `PRAGMA integrity_check` of SQLite says."
        if is_file
        else "If this role has no privileges, run what `horae grants` prints, as the owner of the"
        " tables.",
    )


def check_rows(database: Database) -> Finding:
    """Read the newest jobs that have not ended, and all rows of small tables."""
    unreadable_rows.clear()
    for states in ([JobState.PENDING, JobState.STARTED], None):
        ids = database.autocommit(reading.newest, states, MOST_ROWS)
        for first in range(0, len(ids), JOBS_AT_ONCE):
            database.autocommit(
                reading.page, JobFilter(ids=ids[first : first + JOBS_AT_ONCE], limit=None)
            )
    for schedule in database.autocommit(schedule_reading.all_of)[:MOST_ROWS]:
        database.autocommit(ticks.page, schedule.id, 1)
    for small in (nodes.view, queues.view, deployments.page):
        database.autocommit(small)
    database.autocommit(change_log.page, change_log.EVERY_CHANGE, before=None, limit=250)
    found = unreadable_rows.list_all()
    if not found:
        return ok("rows", "all rows that were checked can be read")
    named = "; ".join(
        f"{table} {key} ({why})" for (table, key), why in list(found.items())[:MOST_SHOWN]
    )
    more = f"; and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return warning(
        "rows",
        f"{counted(len(found), 'row')} cannot be read, so lists and nodes skip them: {named}{more}",
        "Repair or delete them with SQL. Other rows are not affected.",
    )
