"""The checks that only PostgreSQL needs."""

from collections.abc import Iterator
from typing import Final

from horae.client.doctor.finding import Finding, ok, problem, warning
from horae.storage.engine.database import Database
from horae.storage.operations import doctor
from horae.storage.operations.doctor import OpenTransaction, RowEstimate, Server

LONG: Final = 60.0
SHOWN: Final = 5
MANY_DEAD: Final = 10_000
DEAD_SHARE: Final = 0.4
CROWDED: Final = 0.8
"""Seconds; transactions to name; dead rows, and their share of the live ones (twice what autovacuum waits for); share
of the connections.
"""


def examine_server(database: Database) -> Iterator[Finding]:
    """Everything about the server that matters to Horae."""
    server = database.autocommit(doctor.server)
    yield from server_findings(server)
    found = database.autocommit(doctor.open_transactions, LONG)
    yield from transaction_findings(found, sees_all=server.sees_all)
    if (tuples := database.autocommit(doctor.row_estimate)) is not None:
        yield tuples_finding(tuples)


def server_findings(server: Server) -> Iterator[Finding]:
    """The settings that Horae depends on."""
    if server.recovering or server.read_only:
        what = "a standby that is replaying" if server.recovering else "set to read only transactions"
        yield problem(
            "server", f"PostgreSQL {server.version}, {what}: nothing can be written", "Connect to the primary."
        )
    else:
        yield ok("server", f"PostgreSQL {server.version}, writable")
    yield _isolation(server)
    yield _durability(server)
    if server.connections > CROWDED * server.max_connections:
        yield warning(
            "connections",
            f"{server.connections} of {server.max_connections} connections are taken",
            "A node that needs one more waits or fails: raise max_connections, or put a pooler in between.",
        )
    else:
        yield ok("connections", f"{server.connections} of {server.max_connections} are taken")


def transaction_findings(found: list[OpenTransaction], *, sees_all: bool) -> Iterator[Finding]:
    """Transactions that keep vacuum from its work."""
    for each in found[:SHOWN]:
        name = "a prepared transaction" if each.pid is None else f"pid {each.pid}"
        end = (
            f"ROLLBACK PREPARED or COMMIT PREPARED it ({each.state.removeprefix('prepared as ')})."
            if each.pid is None
            else f"If nobody needs it: SELECT pg_terminate_backend({each.pid})."
        )
        yield warning(
            "transactions",
            f"{name} ({each.application or 'no application name'}, {each.state}) has a transaction open for "
            f"{each.age:.0f} s: vacuum cannot remove what died since, and claims slow down",
            end,
        )
    if len(found) > SHOWN:
        yield warning("transactions", f"{len(found) - SHOWN} more are open for as long", "End the oldest ones first.")
    if not sees_all:
        yield warning(
            "transactions",
            "those of other roles cannot be seen",
            "GRANT pg_read_all_stats to this role to have them checked.",
        )
    elif not found:
        yield ok("transactions", f"none has held back vacuum for longer than {LONG:g} s")


def tuples_finding(tuples: RowEstimate) -> Finding:
    """Whether vacuum keeps up with the jobs table."""
    vacuumed = (
        "never vacuumed" if tuples.vacuumed_at is None else f"last vacuumed {tuples.vacuumed_at:%Y-%m-%d %H:%M} UTC"
    )
    figures = f"horae_jobs has about {tuples.live} live and {tuples.dead} dead rows, {vacuumed}"
    if tuples.dead > MANY_DEAD and tuples.dead > DEAD_SHARE * tuples.live:
        return warning(
            "dead rows",
            f"{figures}: vacuum does not keep up, and claims slow down",
            "End long transactions, then VACUUM horae_jobs; if it comes back, give autovacuum a lower cost delay.",
        )
    return ok("dead rows", figures)


def _isolation(server: Server) -> Finding:
    if server.isolation == "read committed":
        return ok("isolation", "transactions are read committed unless they say otherwise")
    return warning(
        "isolation",
        f"transactions are {server.isolation} by default: claims of several nodes conflict and are repeated",
        "Set default_transaction_isolation to 'read committed' for this role or database.",
    )


def _durability(server: Server) -> Finding:
    if server.fsync == "off":
        return warning(
            "durability",
            "fsync is off: a crash of the machine may destroy the database",
            "Set fsync = on in production.",
        )
    if server.synchronous_commit == "off":
        return warning(
            "durability",
            "synchronous_commit is off: jobs of the last moments before a crash of the server may be lost",
            "Set it on for this role or database if every accepted job must survive.",
        )
    return ok("durability", "a committed job survives a crash of the server")
