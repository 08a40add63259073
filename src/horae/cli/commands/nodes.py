"""`horae nodes`: the nodes, alive and dead."""

from collections.abc import Mapping
from typing import Any, Final

import typer

from horae.cli.context import opened
from horae.cli.options import AsJson
from horae.cli.printing.output import brief, print_json, print_table
from horae.runtime.node.node_status import REMEMBERED, SeenNode, host_name, look
from horae.storage.operations import nodes
from horae.storage.operations.nodes import DeadNode

OUTCOMES: Final[Mapping[str, str]] = {"pending": "retried"}
"""The outcome of a dead node's job, by the job's state; other states name the outcome themselves."""

nodes_app = typer.Typer(help="List nodes.", no_args_is_help=True)


@nodes_app.command("list")
def list_nodes(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List the nodes, alive or dead.

    A live node removes a dead one from the list and rescues its jobs. For an hour after that the dead node is listed
    separately, with the outcome of the jobs that it held.
    """
    with opened(context) as horae:
        seen = look(horae.components.database)
        died = horae.components.database.autocommit(nodes.recently_died, REMEMBERED)
    if as_json:
        print_json({"nodes": [as_values(node) for node in seen], "died": [dead_values(node) for node in died]})
        return
    print_table(
        ("ID", "NAME", "HOST", "PID", "ROLES", "QUEUES", "SLOTS", "HEARTBEAT", "LOCK", "STATE", "REASON"),
        (_row(node) for node in seen),
        empty="No node is running. Start one: horae run module:attribute",
    )
    if died:
        typer.echo()
        print_table(("ID", "NAME", "HOST", "PID", "DIED", "JOBS"), (_dead_row(node) for node in died), empty="")


def dead_values(node: DeadNode) -> dict[str, Any]:
    """Return a removed node as `--json` prints it."""
    return {
        "id": node.id,
        "name": node.name,
        "host": host_name(node.host, node.pid),
        "pid": node.pid,
        "died_at": node.died_at,
        "jobs": dict(node.jobs),
    }


def as_values(node: SeenNode) -> dict[str, Any]:
    """Return a node as `--json` prints it; the fields are documented and stable."""
    view = node.view
    return {
        "id": view.id,
        "name": view.name,
        "host": node.host_name,
        "pid": view.pid,
        "version": view.version,
        "roles": view.roles,
        "queues": view.queues,
        "types": view.types,
        "concurrency": view.concurrency,
        "running": view.running,
        "started_at": view.started_at,
        "heartbeat_at": view.heartbeat_at,
        "heartbeat_age": view.silence if view.lock_key is not None else None,
        "lock": lock_of(node),
        "alive": node.alive,
        "cause_of_death": node.cause_of_death,
    }


def lock_of(node: SeenNode) -> str | None:
    """Return `held` or `free`; None where the database has no such locks."""
    if node.view.lock_free is None:
        return None
    return "free" if node.view.lock_free else "held"


def _dead_row(node: DeadNode) -> tuple[object, ...]:
    outcomes = ", ".join(f"{count} {OUTCOMES.get(state, state)}" for state, count in sorted(node.jobs.items()))
    return node.id, node.name, host_name(node.host, node.pid), node.pid, node.died_at, outcomes or "none"


def _row(node: SeenNode) -> tuple[object, ...]:
    view = node.view
    return (
        view.id,
        view.name,
        node.host_name,
        view.pid,
        ", ".join(view.roles),
        "all" if view.queues is None else ", ".join(view.queues),
        f"{view.running}/{view.concurrency}",
        brief(view.silence) if view.lock_key is not None else "by file lock",
        lock_of(node) or "",
        "alive" if node.alive else "dead",
        node.cause_of_death or "",
    )
