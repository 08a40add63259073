"""Combines the endpoints into one ASGI application."""

from importlib.metadata import version
from typing import Any, Final, cast

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from typing_extensions import override

from horae.api import problems
from horae.api.methods import HeadRequests
from horae.api.resources import (
    bulk,
    deployments,
    document,
    events,
    groups,
    job_types,
    jobs,
    pages,
    schedules,
    session,
)
from horae.api.resources.operations import audit, health, limits, metrics, nodes, overview, queues
from horae.api.security.exposure import allowed_hosts
from horae.api.security.guards import ErrorResponses, RequestGuard
from horae.api.services import Services
from horae.api.stream.event import JobStreamEvent
from horae.api.stream.sources import ScheduleGone

TITLE: Final = "Horae"
SUMMARY: Final = "Background work: jobs, their progress, and what runs them."
METHODS: Final = ("GET", "POST", "PATCH", "DELETE")
HEADERS: Final = ("authorization", "content-type", "last-event-id")
ROUTERS: Final = (
    bulk,
    jobs,
    groups,
    schedules,
    deployments,
    events,
    queues,
    limits,
    nodes,
    overview,
    audit,
    session,
    health,
    metrics,
    document,
)
LEAST_COMPRESSED: Final = 1000
"""Bytes from which a response is compressed; smaller ones fit one packet as they are."""
COMPRESSION: Final = 4
"""Level of gzip; higher ones take several times as long and make JSON hardly smaller."""
OPEN: Final = frozenset({"health", "readiness", "log_in", "log_out"})
"""Operations without authentication."""


class HttpInterface(FastAPI):
    """The application, with an accurate OpenAPI document."""

    @property
    def services(self) -> Services:
        """The services of the endpoints."""
        services: Services = self.state.services
        return services

    def entrance(self) -> str:
        """Return the path for a browser, relative to where this is served."""
        return self.services.entrance()

    def close(self) -> None:
        """End all event streams, so that the server can stop."""
        self.services.hub.close()

    @override
    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document; invalid input gets 400 here, never 422."""
        if self.openapi_schema is None:
            self.openapi_schema = _corrected(super().openapi())
        return self.openapi_schema


def http_interface(services: Services) -> HttpInterface:
    """Make the ASGI application; job types registered later get no endpoint.

    Raises `InvalidJobType`.
    """
    app = HttpInterface(
        title=TITLE,
        summary=SUMMARY,
        version=version("horae"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        middleware=_middleware(services),
    )
    app.state.services = services
    problems.handle(app)
    app.include_router(job_types.router_of(services.registry))
    for resource in ROUTERS:
        app.include_router(resource.router)
    app.include_router(pages.router)
    return app


def _middleware(services: Services) -> list[Middleware]:
    """Return the middleware, outermost first."""
    settings, known = services.settings, services.has_authentication
    layers = [
        Middleware(
            GZipMiddleware, LEAST_COMPRESSED, COMPRESSION
        ),  # does not compress event streams
        Middleware(HeadRequests),
        Middleware(ErrorResponses),
        Middleware(
            RequestGuard,
            allowed_hosts(settings, known=known),
            settings.trusted_origins,
            settings.max_body,
        ),
    ]
    if settings.trusted_origins:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=settings.trusted_origins,
                allow_methods=METHODS,
                allow_headers=HEADERS,
                allow_credentials=True,
            )
        )
    return layers


def _operation_id(route: APIRoute) -> str:
    return route.name


def _corrected(document: dict[str, Any]) -> dict[str, Any]:
    """Remove FastAPI's 422 responses, and add the schemas and security that FastAPI cannot
    derive.
    """
    schemas = cast("dict[str, Any]", document["components"]["schemas"])
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["JobStreamEvent"] = JobStreamEvent.model_json_schema(
        ref_template="#/components/schemas/{model}", mode="serialization"
    )
    schemas["ScheduleGone"] = ScheduleGone.model_json_schema()
    schemas.update(schemas["JobStreamEvent"].pop("$defs", {}))
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    paths = cast("dict[str, dict[str, dict[str, Any]]]", document["paths"])
    for operations in paths.values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            if operation["operationId"] not in OPEN:
                operation["security"] = [{"token": []}]
    return document
