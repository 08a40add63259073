"""The servers of the HTTP API and the dashboard in `horae run`."""

from collections.abc import Sequence
from contextlib import ExitStack

from horae.api.serving import Bounds, HttpServer
from horae.app import Horae
from horae.cli.serving.process import descriptor_limit
from horae.errors import ConfigurationError
from horae.guarded_log import guarded_log
from horae.settings import Settings

log = guarded_log("horae.cli")


def servers_of(horaes: Sequence[Horae]) -> list[HttpServer]:
    """Return a listening server for each application, on the next port if one is taken.

    Raises `ConfigurationError` for an address that cannot or must not be used. If the default port
    is taken by another process (likely another node), the node still runs jobs and only warns.
    """
    servers: list[HttpServer] = []
    taken: set[int] = set()
    for horae in horaes:
        number = horae.settings.port
        while number and number in taken:
            number += 1
        taken.add(number)
        try:
            servers.append(_server(horae, number))
        except ConfigurationError as error:
            if {"host", "port"} & horae.settings.model_fields_set:
                for server in servers:
                    server.close()
                raise
            log.warning("no HTTP API and no dashboard, as with --no-api: %s", error)
    return servers


def _server(horae: Horae, port: int) -> HttpServer:
    interface = horae.asgi()
    with ExitStack() as stack:
        server = HttpServer(interface, horae.settings.host, port, bounds_of(horae.settings))
        stack.callback(server.close)
        _ = interface.made  # raises the errors of the application now, not at the first request
        stack.pop_all()
    return server


def bounds_of(settings: Settings) -> Bounds:
    """Return the limits for clients; connections use at most half of the file descriptors."""
    return Bounds(
        connections=max(8, min(settings.max_connections, descriptor_limit() // 2)),
        header=settings.header_timeout.total_seconds(),
        body=settings.body_timeout.total_seconds(),
        writing=settings.write_timeout.total_seconds(),
        idle=settings.idle_timeout.total_seconds(),
    )
