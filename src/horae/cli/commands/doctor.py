"""`horae doctor`: checks the database, nodes, queues and schedules, and gives advice."""

import os
from collections.abc import Iterator
from contextlib import closing, suppress

import typer
from rich.text import Text

from horae.adapters import Adapters, opened_database
from horae.app import Horae
from horae.cli.context import target_of
from horae.cli.escaping import indented
from horae.cli.failures import FAILED
from horae.cli.options import AsJson
from horae.cli.printing import STYLES, console, print_json
from horae.cli.program_name import as_called
from horae.client.doctor import (
    USUAL,
    Finding,
    Level,
    backend_findings,
    check_clock,
    check_hints,
    check_pooler,
    check_redis,
    check_replica,
    check_rows,
    examine_file,
    examine_server,
    first_checks,
    journal_findings,
    left_findings,
    misfit_findings,
    problem,
    refused_finding,
    system_findings,
    together,
    wait_findings,
    warning,
)
from horae.client.jobs import BodyWaits
from horae.runtime.journal import Journals
from horae.runtime.liveness.hidden_journals import hidden_journals
from horae.runtime.node import dead, living, look
from horae.runtime.timing import JournalTiming
from horae.storage.engine import DATABASE_ERRORS, Database, file_of, missing_file, shown
from horae.storage.jobs import owed_hooks
from horae.storage.operations import database_error_of
from horae.storage.operations.doctor import due_work
from horae.storage.queues import queues
from horae.types.waiting_jobs import find_misfits


def doctor(context: typer.Context, *, as_json: AsJson = False) -> None:
    """Check the database, nodes, queues and schedules.

    Prints one line for each check: ok, a warning or a problem, with advice. Exits with 1 if there
    is a problem. Changes nothing and reads no query texts. With --app, it also checks the
    application's job types.
    """
    target = target_of(context)
    database = shown(target.horae.settings.database)
    findings: list[Finding] = []
    try:
        if not as_json:
            console().print(Text(f"database: {database}"))
        for finding in examine(target.horae):
            findings.append(finding)
            if not as_json:
                print_finding(finding)
    finally:
        target.close()
    healthy = all(finding.level is not Level.PROBLEM for finding in findings)
    if as_json:
        print_json({"ok": healthy, "database": database, "findings": findings})
    if not healthy:
        raise typer.Exit(FAILED)


def examine(horae: Horae) -> Iterator[Finding]:
    """Yield the findings of all checks; a check that the database refuses is the last finding."""
    try:
        yield from _run_checks(horae)
    except DATABASE_ERRORS as error:
        is_file = file_of(horae.settings.database) is not None
        yield refused_finding(database_error_of(error), is_file=is_file)


def _run_checks(horae: Horae) -> Iterator[Finding]:
    """Yield the findings of all checks; stops early if the database cannot be used."""
    if (file := missing_file(horae.settings.database)) is not None:
        if not os.path.isdir(file.parent):  # noqa: PTH112 - raises nothing
            advice = "Make the folder, or correct the path: the first start creates only the file."
            yield problem("connection", f"there is no folder {file.parent}", advice)
            return
        yield warning(
            "connection", f"there is no file {file}", "The first start creates it; check the name."
        )
        return
    with closing(opened_database(horae.settings, threads=1)) as database:
        if not (yield from first_checks(database)):
            return
        yield check_clock(database)
        accepts_writes = True
        if database.is_file:
            yield from examine_file(database, horae.registry)
        else:
            accepts_writes = yield from examine_server(database)
            yield check_pooler(database)
        yield from _check_connections(horae, database, with_hints=accepts_writes)
        yield from _check_work(horae, database)
        yield check_rows(database)


def _check_connections(horae: Horae, database: Database, *, with_hints: bool) -> Iterator[Finding]:
    """Check what processes use to reach each other.

    A read-only server passes no hints on.
    """
    given = horae.settings
    with closing(Adapters(given, database)) as adapters:
        yield from check_replica(adapters.replica)
        yield from check_redis(adapters.redis_servers)
        if not with_hints:
            return
        by_redis = given.redis is not None or given.redis_hints is not None
        timeout = USUAL.redis_timeout if by_redis else USUAL.hints_timeout
        yield check_hints(adapters.wakeup, wanted=given.hints, timeout=timeout)
    yield from backend_findings(horae.registry, given.queue_backends, database)


def print_finding(finding: Finding) -> None:
    """Print a finding in one line, with its advice below."""
    line = Text.assemble(
        (f"{finding.level.value:<8}", STYLES[finding.level]),
        (f" {finding.check}: ", "bold"),
        indented(as_called(finding.message)),
    )
    if finding.advice is not None:
        line.append(f"\n{'':<9}→ {indented(as_called(finding.advice))}")
    console().print(line)


def _check_work(horae: Horae, database: Database) -> Iterator[Finding]:
    """Check nodes, queues, waiting bodies, journals, and jobs that are left over."""
    seen = look(database)
    alive = living(seen)
    found = system_findings(
        database,
        horae.registry,
        horae.settings.queue_backends,
        alive,
        dead(seen),
        database.autocommit(queues.view),
    )
    yield from together(list(found))
    if horae.registry.by_name:  # else there is no application, and every type is unknown
        misfits = find_misfits(database, horae.registry)
        due = {work.type for work in database.autocommit(due_work)}
        yield from misfit_findings(misfits, alive, due)
    yield from wait_findings(BodyWaits(database, horae.components.live).hindrances())
    journals = Journals(database, JournalTiming(), horae.settings.journal_dir)
    with suppress(OSError):
        journals.find_folder()
    hidden = [(each.node.id, each.node.pid, each.file) for each in hidden_journals(journals, alive)]
    yield from journal_findings(hidden, None if journals.folder is None else str(journals.folder))
    left = database.autocommit(owed_hooks.leftover_jobs, (), horae.settings.keep.total_seconds())
    yield from left_findings(left, alive)
