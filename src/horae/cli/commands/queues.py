"""`horae queues`: list, measure, pause, resume and limit queues."""

from typing import Annotated, Final

import typer

from horae.cli.context import opened
from horae.cli.known_names import known_queues
from horae.cli.options import AsJson, Queue
from horae.cli.printing import Columns, brief, print_json, print_list, print_table
from horae.client.operations import as_values, depth_named, depths
from horae.domain.jobs import OWN_BACKEND
from horae.domain.limits import Limit, LimitNumbers
from horae.errors import InvalidRequest
from horae.quoting import did_you_mean, quoted
from horae.runtime.node import living, look
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
queues_app = typer.Typer(
    help="List, pause, resume and limit queues, and let owners take turns.", no_args_is_help=True
)


@queues_app.command("list")
def list_queues(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List every queue that has work, is paused, has a limit or is run by a backend."""
    with opened(context) as horae:
        found = horae.queues.list()
    columns: Columns = {
        "QUEUE": "name",
        "STATE": lambda queue: "open" if queue.paused_at is None else "paused",
        "PENDING": "pending",
        "STARTED": "started",
        "LIMIT": _limit_of,
        "FAIR BY": "fair_by",
        "OLDEST DUE": lambda queue: brief(queue.oldest_due) if (queue.oldest_due or 0) > 0 else "",
        "BACKEND": lambda queue: queue.backend or OWN_BACKEND,
        "NOTE": "note",
    }
    empty = "No queue has work, and none is paused, has a limit or is run by a backend."
    print_list("queues", found, columns, empty=empty, as_json=as_json)


@queues_app.command("depth")
def show_depth(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Names of queues. Default: all.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show how much work each queue has, for an autoscaler: due jobs, and the time that they will
    take.

    The time is computed from the mean durations of the job types and the slots of the live nodes.
    Jobs that wait for a limit by key, or for other jobs, are not counted: more nodes would not
    start them sooner.
    """
    with opened(context) as horae:
        database = horae.components.database
        found = depths(database, living(look(database)))
    chosen = [depth_named(found, name) for name in names] if names else found.queues
    if as_json:
        print_json(
            {"queues": [as_values(each) for each in chosen], "total": as_values(found.total)}
        )
        return
    print_table(DEPTH_COLUMNS, [*chosen, *([] if names else [found.total])])


@queues_app.command()
def pause(
    context: typer.Context,
    name: Queue,
    *,
    note: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Reason, shown in the list.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Pause the queue: no node starts a job of it; running jobs continue."""
    with opened(context) as horae:
        known = {view.name for view in horae.queues.list()} | known_queues(horae)
        horae.queues.pause(name, note)
    if name not in known:
        meant = did_you_mean(name, known)
        typer.echo(
            f"no job, node or declaration names queue {name!r} yet; it is paused all the"
            f" same{meant}",
            err=True,
        )
    (
        print_json({"name": name, "paused": True})
        if as_json
        else typer.echo(f"queue {name!r} is paused")
    )


@queues_app.command()
def resume(context: typer.Context, name: Queue, *, as_json: AsJson = False) -> None:
    """Resume a paused queue; one that is not paused stays as it is."""
    with opened(context) as horae:
        was_paused = horae.queues.resume(name)
    if not was_paused:
        typer.echo(f"queue {name!r} was not paused", err=True)
    (
        print_json({"name": name, "paused": False})
        if as_json
        else typer.echo(f"queue {name!r} is open")
    )


@queues_app.command()
def limit(
    context: typer.Context,
    name: Queue,
    concurrency_limit: Annotated[
        str | None, typer.Argument(metavar="[N]", help="Maximum number, or `none`.")
    ] = None,
    *,
    rate: Annotated[
        str | None, typer.Option(metavar="N/PERIOD", help="Starts per period, such as 10/s.")
    ] = None,
    burst: Annotated[
        int | None, typer.Option(metavar="N", help="Starts at once after a pause.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Limit by parameter: {customer_id}.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Limit how many jobs of the queue run at a time, over all nodes, or start in a period; running
    jobs continue.

    With --rate or --key it is a limit by key, which `horae limits` lists; `--rate none` removes
    these from the queue.
    """
    if rate is not None or key is not None:
        _limit_by_key(
            context, name, _read_key_limit(concurrency_limit, rate, burst, key), as_json=as_json
        )
        return
    most = _read_limit(concurrency_limit or "")
    with opened(context) as horae:
        horae.queues.limit(name, most)
    if as_json:
        print_json({"name": name, "concurrency_limit": most})
    else:
        typer.echo(
            f"queue {name!r} has no limit"
            if most is None
            else f"queue {name!r} runs at most {most} at a time"
        )


@queues_app.command()
def fair(
    context: typer.Context,
    name: Queue,
    *,
    by: Annotated[
        str, typer.Option(metavar="WHO", help="`owner`, the name of a parameter, or `none`.")
    ],
    as_json: AsJson = False,
) -> None:
    """Let owners take turns in the queue, or the values of a parameter, within each priority."""
    chosen = None if by == "none" else by
    with opened(context) as horae:
        horae.queues.fair(name, chosen)
    if as_json:
        print_json({"name": name, "fair_by": chosen})
    else:
        typer.echo(f"queue {name!r} is {'in due order' if chosen is None else f'fair by {chosen}'}")


@queues_app.command()
def reset(context: typer.Context, name: Queue, *, as_json: AsJson = False) -> None:
    """Give the queue the limits and the turns that code declares for it, instead of those set at
    run time.
    """
    with opened(context) as horae:
        horae.queues.reset(name)
    (
        print_json({"name": name, "reset": True})
        if as_json
        else typer.echo(f"queue {name!r} is as it is declared")
    )


@queues_app.command()
def backend(
    context: typer.Context,
    name: Queue,
    system: Annotated[
        str, typer.Argument(metavar="BACKEND", help="`horae`, `celery` or `celery:QUEUE`.")
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Store what runs the jobs of the queue, as its deployments name it from now on."""
    with opened(context) as horae:
        horae.queues.set_backend(name, system)
    if as_json:
        print_json({"name": name, "backend": system})
    else:
        typer.echo(f"the jobs of queue {name!r} are run by {system}")


def _limit_by_key(context: typer.Context, name: str, limit: Limit | None, *, as_json: bool) -> None:
    with opened(context) as horae:
        made = horae.queues.limit_by_key(name, limit)
    if as_json:
        print_json({"name": name, "limit": made})
    else:
        allowed = "" if limit is None else f" {made!r}: {limit.numbers.text}"
        typer.echo(
            f"queue {name!r} has {'no limits by key' if limit is None else 'the limit'}{allowed}"
        )


def _read_key_limit(
    concurrency: str | None, rate: str | None, burst: int | None, key: str | None
) -> Limit | None:
    if rate == "none":
        return None
    most = None if concurrency is None else _read_limit(concurrency)
    return Limit(rate=rate, burst=burst, concurrency=most, key=key)


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
