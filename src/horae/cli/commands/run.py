"""`horae run`: nodes and the dashboard in the foreground."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any

import typer

from horae.api.server import HttpServer
from horae.app import Horae
from horae.cli.context import Target, target_of
from horae.cli.failures import FAILED
from horae.cli.printing.output import print_json
from horae.cli.serving.descriptors import raise_limit
from horae.cli.serving.logs import LogFormat, LogLevel, configure
from horae.cli.serving.memory import settle_in
from horae.cli.serving.serving import Service
from horae.cli.serving.web import servers_of
from horae.cli.values import duration
from horae.errors import ConfigurationError
from horae.runtime.claims.slots import Slots
from horae.runtime.node.node import Node
from horae.storage.engine.database import shown

Apps = Annotated[
    list[str] | None,
    typer.Argument(metavar="APP...", help="module:attribute of each application; --app or HORAE_APP if left out."),
]
Concurrency = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Jobs at a time, of all applications together.")
]
QueueNames = Annotated[
    str | None, typer.Option(metavar="NAMES", help="Queues to serve, separated by commas; all if left out.")
]
Worker = Annotated[bool, typer.Option("--worker/--no-worker", help="Whether to run jobs.")]
Scheduler = Annotated[bool, typer.Option("--scheduler/--no-scheduler", help="Whether to fire schedules.")]
Api = Annotated[bool, typer.Option("--api/--no-api", help="Whether to serve the HTTP interface and the dashboard.")]
Host = Annotated[str | None, typer.Option(metavar="NAME", help="Where to serve them. [127.0.0.1]")]
Port = Annotated[int | None, typer.Option(min=0, max=65_535, help="The port; 0 for any that is free. [8080]")]
LocalStaff = Annotated[
    bool, typer.Option("--local-staff", help="Whoever is on this machine is staff; only for a host like 127.0.0.1.")
]
Name = Annotated[str | None, typer.Option(metavar="TEXT", help="Name in lists; the host's name if left out.")]
Grace = Annotated[
    str | None, typer.Option(metavar="TIME", help="How long jobs may go on after the signal, as in 30s. [30s]")
]
Format = Annotated[LogFormat | None, typer.Option("--log-format", help="How to log on stderr. [text]")]
Level = Annotated[LogLevel | None, typer.Option("--log-level", help="What to log. [info]")]

log = logging.getLogger("horae.cli")


def run(  # noqa: PLR0913 - one argument for each option
    context: typer.Context,
    apps: Apps = None,
    *,
    concurrency: Concurrency = None,
    queues: QueueNames = None,
    name: Name = None,
    grace: Grace = None,
    worker: Worker = True,
    scheduler: Scheduler = True,
    api: Api = True,
    host: Host = None,
    port: Port = None,
    local_staff: LocalStaff = False,
    log_format: Format = None,
    log_level: Level = None,
) -> None:
    """Run a node in the foreground: it claims jobs, runs them, looks after those of nodes that died, and shows it all.

    Prints one line when it is ready, with the address of the dashboard. Each part can be switched off; with --no-worker
    and --no-scheduler it is a web server and no node. SIGTERM or SIGINT (Ctrl-C) ends it in good order: it claims
    nothing more, lets jobs go on for the grace, tells the rest to stop, settles them and leaves. A second signal ends
    it at once, with exit code 128 and the signal's number; other nodes then rescue its jobs.

    Without tokens and without a function that says who asks, the line has a link that lets one browser in, once.

    Several applications share the process and the limit of --concurrency, the first one's if it is not given. Each has
    a node of its own, on the database that its code names, and a port of its own, the next one where they would meet.

    What is not given comes from the application's code, else from HORAE_CONCURRENCY, HORAE_QUEUES, HORAE_NODE_NAME,
    HORAE_GRACE, HORAE_LOCAL_STAFF, HORAE_HOST, HORAE_PORT, HORAE_LOG_FORMAT and HORAE_LOG_LEVEL.
    """
    given = {
        "concurrency": concurrency,
        "queues": None if queues is None else tuple(part.strip() for part in queues.split(",") if part.strip()),
        "name": name,
        "grace": None if grace is None else duration(grace),
        "worker": worker,
        "scheduler": scheduler,
    }
    if not (worker or scheduler or api):
        raise ConfigurationError("--no-worker, --no-scheduler and --no-api together leave nothing to do")
    options: dict[str, Any] = {option: value for option, value in given.items() if value is not None}
    horaes = applications(target_of(context), apps or [])
    if local_staff:
        for horae in horaes:
            horae.settings = horae.settings.model_copy(update={"local_staff": True})
    settings = horaes[0].settings
    configure(log_format or settings.log_format, log_level or settings.log_level)
    as_json = (log_format or settings.log_format) == "json"
    raise_limit()
    slots = Slots(concurrency or settings.concurrency)
    with ExitStack() as stack:
        for horae in horaes:
            stack.callback(horae.close)
        nodes = [horae.node(slots=slots, **options) for horae in horaes] if worker or scheduler else []
        servers = servers_of(horaes, host, port) if api else []
        settle_in()
        announce_it = partial(announce, horaes, nodes, servers, options, as_json=as_json)
        in_good_order = Service(nodes, servers, announce_it).run()
    if not in_good_order:
        raise typer.Exit(FAILED)


def applications(target: Target, references: Sequence[str]) -> list[Horae]:
    """The applications to run; raises `ConfigurationError` if none is named, or one twice."""
    named = list(references) or ([target.app] if target.app else [])
    if not named:
        raise ConfigurationError("say what to run, as in `horae run app:horae`")
    loaded: list[Horae] = []
    for reference in named:
        horae = target.load(reference)
        if any(horae is other for other in loaded):
            raise ConfigurationError(
                f"application {reference!r} is named twice; one node of it runs {reference} already"
            )
        loaded.append(horae)
    return loaded


def announce(
    horaes: Sequence[Horae],
    nodes: Sequence[Node],
    servers: Sequence[HttpServer],
    options: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Print that all is ready: a line of text, or of JSON where the log is JSON."""
    ready = [_described(horae, node, options) for horae, node in zip(horaes, nodes, strict=bool(nodes))]
    urls = [server.entrance for server in servers]
    if as_json:
        print_json({"event": "ready", "version": version("horae"), "nodes": ready, "urls": urls})
    else:
        typer.echo(f"horae {version('horae')} is ready: {'; '.join([*map(_in_words, ready), *urls])}")
    for node in ready:
        if not node["types"]:
            log.warning("node %s knows no job types, so it will run nothing", node["id"])


def _described(horae: Horae, node: Node, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": node.id,
        "database": shown(horae.settings.database),
        "types": sorted(horae.registry.by_name),
        "queues": options.get("queues", horae.settings.queues),
        "concurrency": options.get("concurrency", horae.settings.concurrency),
    }


def _in_words(node: dict[str, Any]) -> str:
    queues = "all queues" if node["queues"] is None else f"queues {', '.join(node['queues'])}"
    count = len(node["types"])
    return (
        f"node {node['id']}, {count} job {'type' if count == 1 else 'types'}, {queues}, "
        f"{node['concurrency']} at a time, {node['database']}"
    )
