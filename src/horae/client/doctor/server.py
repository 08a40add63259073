"""The checks that only PostgreSQL needs."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Final

from horae.client.doctor.finding import USUAL, Finding, ok, problem, warning
from horae.storage.engine import Database
from horae.storage.migrations import ENCODING, LACKED_BY_READERS, lacking_privileges
from horae.storage.operations import OpenTransaction, RowEstimate, Server, doctor

SHOWN: Final = 5
"""Maximum number of open transactions, or tables, that are listed; further ones are only counted.
"""
SHORTEST: Final[Mapping[str, tuple[float, str]]] = {
    "statement_timeout": (
        5.0,
        "statements that take longer are cancelled, such as claims on a busy server",
    ),
    "lock_timeout": (
        1.0,
        "statements that wait longer for a lock are cancelled and must be repeated",
    ),
    "idle_in_transaction_session_timeout": (
        10.0,
        "bodies with a transaction fail if they run longer without a statement",
    ),
    "transaction_timeout": (10.0, "bodies whose transaction takes longer fail"),
    "idle_session_timeout": (20.0, "heartbeats and hints lose their connections all the time"),
}
"""Each time limit of the server, the seconds below which it disturbs nodes, and how it does so."""


def examine_server(
    database: Database, long: float = USUAL.long_transaction
) -> Generator[Finding, None, bool]:
    """Check the server: its settings, connections, open transactions and dead rows.

    `long`: seconds for which a transaction may be open. Returns whether it accepts writes.
    """
    server = database.autocommit(doctor.server)
    yield from server_findings(server)
    yield privileges_finding(database.autocommit(lacking_privileges))
    found = database.autocommit(doctor.open_transactions, long)
    yield from transaction_findings(found, sees_all=server.sees_all, long=long)
    if (tuples := database.autocommit(doctor.row_estimate)) is not None:
        yield tuples_finding(tuples)
    return not (server.recovering or server.read_only)


def privileges_finding(lacking: Mapping[str, Sequence[str]]) -> Finding:
    """Return the finding about the privileges that this role lacks, by table, to run a node."""
    if not lacking:
        return ok("privileges", "this role has all that a node needs")
    if lacking == LACKED_BY_READERS:
        return ok("privileges", "this role may only read, and run no node")
    named = [f"{' and '.join(lacks)} on {table}" for table, lacks in lacking.items()]
    more = f", and on {len(named) - SHOWN} more tables" if len(named) > SHOWN else ""
    return problem(
        "privileges",
        f"this role lacks {', '.join(named[:SHOWN])}{more}: calls and nodes that need it fail",
        "Run what `horae grants` prints for this role, as the owner of the tables.",
    )


def server_findings(server: Server) -> Iterator[Finding]:
    """Check the settings that Horae depends on."""
    if server.recovering or server.read_only:
        what = "a standby server" if server.recovering else "set to read-only transactions"
        advice = "Connect to the primary."
        if not server.recovering:
            advice = (
                "Connect to the primary, or set default_transaction_read_only to off for this role"
                " and database."
            )
        yield problem(
            "server", f"PostgreSQL {server.version} is {what}: it accepts no writes", advice
        )
    else:
        yield ok("server", f"PostgreSQL {server.version}, writable")
    yield encoding_finding(server.encoding)
    if server.isolation == "read committed":
        yield ok("isolation", "transactions are read committed by default")
    else:
        yield warning(
            "isolation",
            f"transactions are {server.isolation} by default: claims of several nodes conflict and"
            " have to be repeated",
            "Set default_transaction_isolation to 'read committed' for this role or database.",
        )
    if server.fsync == "off":
        yield warning(
            "durability",
            "fsync is off: a crash of the machine may destroy the database",
            "Set fsync = on in production.",
        )
    elif server.synchronous_commit == "off":
        yield warning(
            "durability",
            "synchronous_commit is off: jobs of the last moments before a crash of the server may"
            " be lost",
            "Set it on for this role or database if every accepted job must survive.",
        )
    else:
        yield ok("durability", "a committed job survives a crash of the server")
    short = {
        name: limit
        for name, limit in server.time_limits.items()
        if limit < SHORTEST.get(name, (0.0,))[0]
    }
    for name, limit in short.items():
        yield warning(
            "time limits",
            f"{name} is {limit:g} s for this role: {SHORTEST[name][1]}",
            f"Set {name} to 0 or at least {SHORTEST[name][0]:g} s for this role or database.",
        )
    if not short:
        yield ok("time limits", "none of this role's is so short that it disturbs nodes")
    used = f"{server.connections} of {server.max_connections} are in use"
    if server.connections > USUAL.share_of_connections * server.max_connections:
        yield warning(
            "connections",
            used,
            "Raise max_connections, or use a pooler: without a free one a node fails.",
        )
    else:
        yield ok("connections", used)


def encoding_finding(encoding: str) -> Finding:
    """Return the finding about the encoding of the database."""
    if encoding == ENCODING:
        return ok("encoding", f"the database stores texts as {ENCODING}")
    return problem(
        "encoding",
        f"the database stores texts as {encoding}, which has not every character: jobs fail, or do"
        " not end, if their results, errors or log lines have another one",
        f"Move to a database with ENCODING '{ENCODING}' TEMPLATE template0.",
    )


def transaction_findings(
    found: list[OpenTransaction], *, sees_all: bool, long: float = USUAL.long_transaction
) -> Iterator[Finding]:
    """Report transactions that keep vacuum from removing dead rows."""
    for each in found[:SHOWN]:
        name = "a prepared transaction" if each.pid is None else f"pid {each.pid}"
        end = (
            f"ROLLBACK PREPARED or COMMIT PREPARED it ({each.state.removeprefix('prepared as ')})."
            if each.pid is None
            else f"If it is not needed, end it: SELECT pg_terminate_backend({each.pid})."
        )
        yield warning(
            "transactions",
            f"{name} ({each.application or 'no application name'}, {each.state}) has a transaction"
            f" open for {each.age:.0f} s: vacuum cannot remove rows that died since, and claims"
            " become slower",
            end,
        )
    if len(found) > SHOWN:
        yield warning(
            "transactions",
            f"{len(found) - SHOWN} more have been open for long",
            "End the oldest ones first.",
        )
    if not sees_all:
        advice = "GRANT pg_read_all_stats to this role to have them checked."
        yield warning("transactions", "those of other roles are not visible", advice)
    elif not found:
        yield ok(
            "transactions",
            f"none has held back vacuum for longer than {long:g} s",
        )


def tuples_finding(tuples: RowEstimate) -> Finding:
    """Check that vacuum keeps up with the jobs table."""
    vacuumed = (
        "never vacuumed"
        if tuples.vacuumed_at is None
        else f"last vacuumed {tuples.vacuumed_at:%Y-%m-%d %H:%M} UTC"
    )
    figures = f"horae_jobs has about {tuples.live} live and {tuples.dead} dead rows, {vacuumed}"
    if tuples.dead > max(USUAL.many_dead_rows, USUAL.share_of_dead_rows * tuples.live):
        return warning(
            "dead rows",
            f"{figures}: vacuum does not keep up, and claims become slower",
            "End long transactions, then VACUUM horae_jobs; if it happens again, lower autovacuum's"
            " cost delay.",
        )
    return ok("dead rows", figures)
