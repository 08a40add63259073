"""`horae queues`: list, measure, pause, resume and limit queues."""

from functools import partial
from typing import Annotated, Final

import typer

from horae.app import Horae
from horae.cli.command import Answer, on_database, table
from horae.cli.options import Burst, Note, Queue, Rate
from horae.cli.printing import Columns, brief, print_table
from horae.client.operations import as_values, depth_named, depths
from horae.domain.jobs import OWN_BACKEND
from horae.domain.limits import Limit, LimitNumbers
from horae.errors import InvalidRequest
from horae.quoting import did_you_mean, quoted
from horae.runtime.node import living, look
from horae.storage.nodes import nodes
from horae.storage.queues import QueueView

LONGEST_NUMBER: Final = 10
"""Maximum number of digits of a limit, which has to fit the column."""

DEPTH_COLUMNS: Final[Columns] = {
    "QUEUE": "name",
    "DUE": "due",
    "RUNNING": "running",
    "OLDEST DUE": lambda each: brief(each.oldest_due),
    "WORK": lambda each: brief(each.work_seconds),
    "SLOTS": "slots",
    "AHEAD": lambda each: (
        "no node serves it" if each.seconds_ahead is None else brief(each.seconds_ahead)
    ),
}
queues_app = typer.Typer()


@queues_app.command("list")
@on_database
def list_queues(horae: Horae) -> Answer:
    """List every queue that has work, is paused, has a limit or is run by a backend."""
    return table(
        "queues",
        horae.queues.list(),
        {
            "QUEUE": "name",
            "STATE": lambda queue: "open" if queue.paused_at is None else "paused",
            "PENDING": "pending",
            "STARTED": "started",
            "LIMIT": _limit_of,
            "FAIR BY": "fair_by",
            "OLDEST DUE": lambda queue: (
                brief(queue.oldest_due) if (queue.oldest_due or 0) > 0 else ""
            ),
            "BACKEND": lambda queue: queue.backend or OWN_BACKEND,
            "NOTE": "note",
        },
        empty="No queue has work, and none is paused, has a limit or is run by a backend.",
    )


@queues_app.command("depth")
@on_database
def show_depth(
    horae: Horae,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of queues. Default: all.")
    ] = None,
) -> Answer:
    """Show how much work each queue has, for an autoscaler: due jobs, and the time that they will
    take.

    The time is computed from the mean durations of the job types and the slots of the live nodes.
    Jobs that wait for a limit by key, or for other jobs, are not counted: more nodes would not
    start them sooner.
    """
    database = horae.components.database
    found = depths(database, living(look(database)))
    chosen = [depth_named(found, name) for name in names] if names else found.queues
    values = {"queues": [as_values(each) for each in chosen], "total": as_values(found.total)}
    shown = chosen if names else [*chosen, found.total]
    return Answer(values, partial(print_table, DEPTH_COLUMNS, shown))


@queues_app.command()
@on_database
def pause(horae: Horae, name: Queue, *, note: Note = None) -> Answer:
    """Pause the queue: no node starts a job of it; running jobs continue."""
    registered = horae.components.database.autocommit(nodes.view)
    known = {
        "default",
        *horae.registry.queues,
        *(kind.queue for kind in horae.registry),
        *(served for node in registered for served in node.queues or ()),
        *(view.name for view in horae.queues.list()),
    }
    horae.queues.pause(name, note)
    if name not in known:
        meant = did_you_mean(name, known)
        typer.echo(
            f"no job, node or declaration names queue {name!r} yet; it is paused all the"
            f" same{meant}",
            err=True,
        )
    return Answer({"name": name, "paused": True}, f"queue {name!r} is paused")


@queues_app.command()
@on_database
def resume(horae: Horae, name: Queue) -> Answer:
    """Resume a paused queue; one that is not paused stays as it is."""
    if not horae.queues.resume(name):
        typer.echo(f"queue {name!r} was not paused", err=True)
    return Answer({"name": name, "paused": False}, f"queue {name!r} is open")


@queues_app.command()
@on_database
def limit(
    horae: Horae,
    name: Queue,
    concurrency_limit: Annotated[
        str | None, typer.Argument(metavar="[N]", help="Maximum number, or `none`.")
    ] = None,
    *,
    rate: Rate = None,
    burst: Burst = None,
    key: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Limit by parameter: {customer_id}.")
    ] = None,
) -> Answer:
    """Limit how many jobs of the queue run at a time, over all nodes, or start in a period; running
    jobs continue.

    With --rate or --key it is a limit by key, which `horae limits` lists; `--rate none` removes
    these from the queue.
    """
    if rate == "none":
        made = horae.queues.limit_by_key(name, None)
        return Answer({"name": name, "limit": made}, f"queue {name!r} has no limits by key")
    if rate is None and key is None:
        most = _read_limit(concurrency_limit or "")
        horae.queues.limit(name, most)
        allowed = "has no limit" if most is None else f"runs at most {most} at a time"
        return Answer({"name": name, "concurrency_limit": most}, f"queue {name!r} {allowed}")
    most = None if concurrency_limit is None else _read_limit(concurrency_limit)
    by_key = Limit(rate=rate, burst=burst, concurrency=most, key=key)
    made = horae.queues.limit_by_key(name, by_key)
    return Answer(
        {"name": name, "limit": made},
        f"queue {name!r} has the limit {made!r}: {by_key.numbers.text}",
    )


@queues_app.command()
@on_database
def fair(
    horae: Horae,
    name: Queue,
    *,
    by: Annotated[
        str, typer.Option(metavar="WHO", help="`owner`, the name of a parameter, or `none`.")
    ],
) -> Answer:
    """Let owners take turns in the queue, or the values of a parameter, within each priority."""
    chosen = None if by == "none" else by
    horae.queues.fair(name, chosen)
    order = "in due order" if chosen is None else f"fair by {chosen}"
    return Answer({"name": name, "fair_by": chosen}, f"queue {name!r} is {order}")


@queues_app.command()
@on_database
def reset(horae: Horae, name: Queue) -> Answer:
    """Give the queue the limits and the turns that code declares for it, instead of those set at
    run time.
    """
    horae.queues.reset(name)
    return Answer({"name": name, "reset": True}, f"queue {name!r} is as it is declared")


@queues_app.command()
@on_database
def backend(
    horae: Horae,
    name: Queue,
    system: Annotated[
        str, typer.Argument(metavar="BACKEND", help="`horae`, `celery` or `celery:QUEUE`.")
    ],
) -> Answer:
    """Store what runs the jobs of the queue, as its deployments name it from now on."""
    horae.queues.set_backend(name, system)
    return Answer(
        {"name": name, "backend": system}, f"the jobs of queue {name!r} are run by {system}"
    )


def _read_limit(text: str) -> int | None:
    if text == "none":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER):
        raise InvalidRequest(
            f"{quoted(text)} is not a limit; expected a number of at least 1, or none"
        )
    return int(text)


def _limit_of(queue: QueueView) -> str:
    """Return the limits of a queue: its concurrency limit, and what it allows for each key."""
    limits = [] if queue.concurrency_limit is None else [str(queue.concurrency_limit)]
    for limit in (queue.limits or {}).values():
        key = f" by {limit['key']}" if limit.get("key") else ""
        limits.append(f"{LimitNumbers.from_json(limit['numbers']).text}{key}")
    return "; ".join(limits)
