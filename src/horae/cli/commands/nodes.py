"""`horae nodes`: the nodes, alive and dead."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import typer

from horae.app import Horae
from horae.cli.command import Answer, on_database
from horae.cli.printing import Columns, brief, print_table
from horae.runtime.node import REMEMBERED, SeenNode, host_name, look
from horae.storage.nodes import nodes

OUTCOMES: Final[Mapping[str, str]] = {"pending": "retried"}
"""The outcome of a dead node's job by the job's state, if the state does not name it."""

nodes_app = typer.Typer()


@nodes_app.command("list")
@on_database
def list_nodes(horae: Horae) -> Answer:
    """List the nodes, alive or dead.

    A live node removes a dead one from the list and rescues its jobs. For a day after that the
    dead node is listed separately, with the outcome of the jobs that it held.
    """
    seen = look(horae.components.database)
    died = horae.components.database.autocommit(nodes.recently_died, REMEMBERED)

    def show() -> None:
        print_table(
            COLUMNS, seen, empty="No node is running. Start one: horae run module:attribute"
        )
        if died:
            typer.echo()
            print_table(COLUMNS_OF_DEAD, died)

    removed = [{**asdict(node), "host": host_name(node.host)} for node in died]
    return Answer({"nodes": [as_values(node) for node in seen], "died": removed}, show)


def as_values(node: SeenNode) -> dict[str, Any]:
    """Return a node as `--json` prints it; the fields are documented and stable."""
    view = node.view
    stored = (
        "id",
        "name",
        "host",
        "pid",
        "version",
        "roles",
        "queues",
        "types",
        "concurrency",
        "slots_used",
        "running",
        "started_at",
        "heartbeat_at",
    )
    return {
        **{name: getattr(view, name) for name in stored},
        "host": node.host_name,
        "heartbeat_age": view.silence if view.lock_key is not None else None,
        "lock": lock_of(node),
        "alive": node.alive,
        "cause_of_death": node.cause_of_death,
    }


def lock_of(node: SeenNode) -> str | None:
    """Return `held` or `free`; None if the database has no such locks."""
    if node.view.lock_free is None:
        return None
    return "free" if node.view.lock_free else "held"


COLUMNS: Final[Columns] = {
    "ID": "view.id",
    "NAME": "view.name",
    "HOST": "host_name",
    "PID": "view.pid",
    "ROLES": lambda node: ", ".join(node.view.roles),
    "QUEUES": lambda node: "all" if node.view.queues is None else ", ".join(node.view.queues),
    "SLOTS": lambda node: f"{node.view.slots_used}/{node.view.concurrency}",
    "HEARTBEAT": lambda node: (
        "by file lock" if node.view.lock_key is None else brief(node.view.silence)
    ),
    "LOCK": lock_of,
    "STATE": lambda node: "alive" if node.alive else "dead",
    "REASON": "cause_of_death",
}
COLUMNS_OF_DEAD: Final[Columns] = {
    "ID": "id",
    "NAME": "name",
    "HOST": lambda node: host_name(node.host),
    "PID": "pid",
    "DIED": "died_at",
    "JOBS": lambda node: (
        ", ".join(
            f"{count} {OUTCOMES.get(state, state)}" for state, count in sorted(node.jobs.items())
        )
        or "none"
    ),
}
