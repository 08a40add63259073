"""Where `horae run` serves the HTTP interface and the dashboard."""

import logging
from collections.abc import Sequence

from horae.api.connections import Bounds
from horae.api.server import HttpServer
from horae.app import Horae
from horae.cli.serving import descriptors
from horae.errors import ConfigurationError
from horae.settings import Settings

log = logging.getLogger("horae.cli")


def servers_of(horaes: Sequence[Horae], host: str | None, port: int | None) -> list[HttpServer]:
    """A server for each application, listening; the second takes the next port where the first has its own.

    Raises `ConfigurationError` where it cannot listen or may not. A default port that another process has (likely
    another node) is no reason for not running jobs: then there is only a warning.
    """
    servers: list[HttpServer] = []
    taken: set[int] = set()
    for horae in horaes:
        number = horae.settings.port if port is None else port
        while number and number in taken:
            number += 1
        taken.add(number)
        chosen = host is not None or port is not None or {"host", "port"} & horae.settings.model_fields_set
        try:
            servers.append(_server(horae, host or horae.settings.host, number))
        except ConfigurationError as error:
            if chosen:
                for server in servers:
                    server.close()
                raise
            log.warning("no dashboard from here: %s; --port 0 takes any that is free, --no-api needs none", error)
    return servers


def _server(horae: Horae, host: str, port: int) -> HttpServer:
    interface = horae.asgi()
    server = HttpServer(interface, host, port, bounds_of(horae.settings))
    try:
        _ = interface.made  # what is wrong with it is said now, not to the first who asks
    except BaseException:
        server.close()
        raise
    return server


def bounds_of(settings: Settings) -> Bounds:
    """What clients may hold; of the descriptors that this process may have, never more than half."""
    return Bounds(
        connections=max(8, min(settings.max_connections, descriptors.limit() // 2)),
        header=settings.header_timeout.total_seconds(),
        body=settings.body_timeout.total_seconds(),
        writing=settings.write_timeout.total_seconds(),
        idle=settings.idle_timeout.total_seconds(),
    )
