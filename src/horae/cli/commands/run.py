"""`horae run`: runs nodes, the HTTP API and the dashboard in the foreground."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from horae.api.lazy import web_packages_required
from horae.app import Horae
from horae.cli.context import Target, target_of
from horae.cli.failures import FAILED
from horae.cli.serving import (
    LogFormat,
    LogLevel,
    Reloading,
    Service,
    command_without_reload,
    configure,
    ending_in_order,
    raise_descriptor_limit,
    share_one_malloc_arena,
    tune_garbage_collector,
)
from horae.cli.values import comma_separated, duration
from horae.domain.cluster import NodeRole, parse_roles
from horae.domain.colours import check_colour
from horae.domain.sizes import parse_size
from horae.errors import ConfigurationError
from horae.guarded_log import guarded_log
from horae.runtime.claims import Slots
from horae.runtime.node import Node
from horae.sentences import counted
from horae.storage.engine import shown

if TYPE_CHECKING:
    from horae.api.serving import HttpServer  # needs the extra `web`

Port = Annotated[
    int | None,
    typer.Option(min=0, max=65_535, help="Port to listen on; 0 picks a free one. [8080]"),
]
Name = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Name of the node in lists. Default: the host name."),
]
Format = Annotated[
    LogFormat | None,
    typer.Option(
        "--log-format",
        metavar="FORMAT",
        help="Format of the log on stderr: text or json. Default: text.",
    ),
]

log = guarded_log("horae.cli")


def run(
    context: typer.Context,
    apps: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="APP...",
            help=(
                "Applications to run, as module:attribute. Default: --app, HORAE_APP or `app` in"
                " horae.toml."
            ),
        ),
    ] = None,
    *,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of jobs that run at a time, over all applications.",
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of jobs in child processes at a time, in addition to the others.",
        ),
    ] = None,
    max_jobs_per_child: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Replace a child process after so many jobs."),
    ] = None,
    max_child_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Replace a child process that uses more memory after a job, such as 500MB.",
        ),
    ] = None,
    queues: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Queues to serve, separated by commas. Default: all."),
    ] = None,
    name: Name = None,
    colour: Annotated[
        str | None,
        typer.Option(
            metavar="COLOUR",
            help="Show a band with --name on top of the dashboard, such as orange or #ff8800.",
        ),
    ] = None,
    grace: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long running jobs may continue after a signal, such as 30s. [30s]",
        ),
    ] = None,
    roles: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="What the process does: worker, scheduler, web, with commas. Default: all.",
        ),
    ] = None,
    worker: Annotated[bool | None, typer.Option("--worker/--no-worker", help="Run jobs.")] = None,
    scheduler: Annotated[
        bool | None, typer.Option("--scheduler/--no-scheduler", help="Fire schedules.")
    ] = None,
    api: Annotated[
        bool | None, typer.Option("--api/--no-api", help="Serve the HTTP API and the dashboard.")
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="NAME", help="Address to listen on. [127.0.0.1]")
    ] = None,
    port: Port = None,
    local_staff: Annotated[
        bool,
        typer.Option(
            "--local-staff",
            help=(
                "Give every user of this machine the staff role; only with a"
                " host such as 127.0.0.1."
            ),
        ),
    ] = False,
    reload: Annotated[
        bool,
        typer.Option(
            "--reload",
            help=(
                "Restart when Python files below the current directory change; for development."
                " Needs horae[reload]."
            ),
        ),
    ] = False,
    log_format: Format = None,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(
            "--log-level",
            metavar="LEVEL",
            help="Lowest level to log: debug, info, warning or error. Default: info.",
        ),
    ] = None,
) -> None:
    """Run a node in the foreground, with the HTTP API and the dashboard.

    The node runs jobs, fires schedules and takes over the jobs of nodes that died. When it is ready
    it prints one line with the address of the dashboard. --roles limits it to some of this:
    `--roles worker` only runs jobs, `--roles web` is a web server and no node. --no-worker,
    --no-scheduler and --no-api take away one role each. The HTTP API needs the packages of the
    extra `web`; without them leave out the role web.

    SIGTERM, SIGINT (Ctrl-C) or SIGHUP shuts it down in order: it claims no more jobs, lets running
    ones continue for the grace period, cancels the rest, records their outcome and exits. A second
    signal exits at once, with 128 plus the number of the signal; other nodes then rescue its jobs.

    Without tokens and without an authenticate function, the line has a login link that works once,
    for one browser.

    Several applications share the process and --concurrency (by default that of the first
    application). Each has its own node, on the database that its code names, and its own port: the
    next one up if the first is taken.

    Options that are not given default to the application's code, then to HORAE_CONCURRENCY,
    HORAE_PROCESSES, HORAE_MAX_JOBS_PER_CHILD, HORAE_MAX_CHILD_MEMORY, HORAE_ROLES, HORAE_QUEUES,
    HORAE_NODE_NAME, HORAE_COLOUR, HORAE_GRACE, HORAE_LOCAL_STAFF, HORAE_HOST, HORAE_PORT,
    HORAE_LOG_FORMAT and HORAE_LOG_LEVEL, then to horae.toml or [tool.horae] in pyproject.toml.
    """
    if reload:
        configure(log_format or "text", log_level or "info")
        command = command_without_reload(sys.orig_argv)
        raise typer.Exit(Reloading(command, Path.cwd()).run())
    context.with_resource(ending_in_order())
    given: dict[str, Any] = {
        "concurrency": concurrency,
        "processes": processes,
        "max_jobs_per_child": max_jobs_per_child,
        "max_child_memory": None
        if max_child_memory is None
        else parse_size("max_child_memory", max_child_memory),
        "queues": None if queues is None else comma_separated(queues),
        "node_name": name,
        "colour": None if colour is None else check_colour(colour),
        "grace": None if grace is None else duration(grace),
        "host": host,
        "port": port,
        "local_staff": local_staff or None,
        "log_format": log_format,
        "log_level": log_level,
    }
    options = {option: value for option, value in given.items() if value is not None}
    switches = {NodeRole.WORKER: worker, NodeRole.SCHEDULER: scheduler, NodeRole.WEB: api}
    horaes = applications(target_of(context), apps or [])
    with ExitStack() as stack:
        for horae in horaes:
            stack.callback(setattr, horae, "settings", horae.settings)
            stack.callback(horae.close)
            horae.settings = horae.settings.model_copy(update=options)
        settings = horaes[0].settings
        chosen = chosen_roles(settings.roles, roles, switches)
        configure(settings.log_format, settings.log_level)
        raise_descriptor_limit()
        share_one_malloc_arena()
        slots = Slots(settings.concurrency)
        servers = serve(horaes) if NodeRole.WEB in chosen else []
        for server in servers:
            stack.callback(server.close)
        kept = [role for role in chosen if role is not NodeRole.WEB or servers]
        is_node = not {NodeRole.WORKER, NodeRole.SCHEDULER}.isdisjoint(chosen)
        nodes = [horae.node(slots=slots, roles=kept) for horae in horaes] if is_node else []
        tune_garbage_collector()
        on_ready = partial(announce, horaes, nodes, servers, kept)
        if not Service(nodes, servers, on_ready).run():
            raise typer.Exit(FAILED)


def chosen_roles(
    settings: Sequence[NodeRole], named: str | None, switches: Mapping[NodeRole, bool | None]
) -> tuple[NodeRole, ...]:
    """Return the roles of this process.

    Raises `InvalidRequest` for unknown names, `ConfigurationError` for no role.
    """
    given = [role for role, wanted in switches.items() if wanted is not None]
    if named is not None and given:
        raise ConfigurationError(
            "--roles names all roles; do not combine it with --no-worker, --no-scheduler or"
            " --no-api"
        )
    roles = parse_roles(settings if named is None else named)
    found = tuple(
        role for role in NodeRole if (role in roles if switches[role] is None else switches[role])
    )
    if not found:
        raise ConfigurationError(
            "--no-worker, --no-scheduler and --no-api together leave nothing to run"
        )
    return found


def applications(target: Target, references: Sequence[str]) -> list[Horae]:
    """Load the applications to run; raises `ConfigurationError` for none or a repeated one."""
    if not references and target.given is not None:
        return [target.horae]
    named = references or target.apps
    if not named:
        raise ConfigurationError(
            'name the application to run, such as `horae run app:horae`, or write app = "app:horae"'
            " in horae.toml"
        )
    loaded: list[Horae] = []
    for reference in named:
        horae = target.load(reference)
        if any(horae is other for other in loaded):
            raise ConfigurationError(
                f"application {reference!r} is named twice; one node per application is enough"
            )
        loaded.append(horae)
    return loaded


def serve(horaes: Sequence[Horae]) -> "list[HttpServer]":
    """Return a listening server for each application; raises `ConfigurationError`, also without
    `horae[web]`.
    """
    with web_packages_required():
        # Only the HTTP API needs this extra; `--no-api` runs without it.
        from horae.cli.serving.web import servers_of
    return servers_of(horaes)


def announce(
    horaes: Sequence[Horae],
    nodes: Sequence[Node],
    servers: "Sequence[HttpServer]",
    roles: Sequence[NodeRole],
) -> None:
    """Print that everything is ready: a line of text, or of JSON if the log is JSON."""
    ready: list[dict[str, Any]] = [
        {
            "id": node.id,
            "roles": roles,
            "database": shown(horae.settings.database),
            "types": sorted(horae.registry.by_name),
            "queues": horae.settings.queues,
            "concurrency": horae.settings.concurrency,
            "processes": horae.settings.processes,
        }
        for horae, node in zip(horaes, nodes, strict=bool(nodes))
    ]
    urls = [server.entrance for server in servers]
    if horaes[0].settings.log_format == "json":
        from horae.cli.printing import print_json

        print_json({"event": "ready", "version": version("horae"), "nodes": ready, "urls": urls})
    else:
        typer.echo(
            f"horae {version('horae')} is ready: {'; '.join([*map(_in_words, ready), *urls])}"
        )
    if NodeRole.WORKER in roles:
        for node in ready:
            if not node["types"]:
                log.warning("node %s has no job types, so it will run no jobs", node["id"])


def _in_words(node: dict[str, Any]) -> str:
    if NodeRole.WORKER not in node["roles"]:
        return f"node {node['id']}, which fires schedules and runs no jobs, {node['database']}"
    queues = "all queues" if node["queues"] is None else f"queues {', '.join(node['queues'])}"
    children = "" if node["processes"] is None else f" and {node['processes']} in child processes"
    return (
        f"node {node['id']}, {counted(len(node['types']), 'job type')}, {queues}, "
        f"{node['concurrency']} at a time{children}, {node['database']}"
    )
