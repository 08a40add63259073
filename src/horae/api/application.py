"""Puts the endpoints together into one ASGI application."""

from importlib.metadata import version
from typing import Any, Final, cast

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from typing_extensions import override

from horae.api import problems
from horae.api.methods import Heads
from horae.api.resources import (
    audit,
    deployments,
    document,
    events,
    health,
    job_types,
    jobs,
    metrics,
    nodes,
    overview,
    pages,
    queues,
    schedules,
    session,
)
from horae.api.security.exposure import allowed_hosts
from horae.api.security.guards import ErrorResponses, RequestGuard
from horae.api.services import Services
from horae.api.stream.event import JobStreamEvent
from horae.api.stream.sources import ScheduleGone
from horae.settings import Settings

TITLE: Final = "Horae"
SUMMARY: Final = "Background work: jobs, their progress, and what runs them."
METHODS: Final = ("GET", "POST", "PATCH", "DELETE")
HEADERS: Final = ("authorization", "content-type", "last-event-id")
ROUTERS: Final = (
    jobs, schedules, deployments, events, queues, nodes, overview, audit, session, health, metrics, document,
)  # fmt: skip
LEAST_COMPRESSED: Final = 1000
"""Bytes below which an answer fits one packet as it is."""
COMPRESSION: Final = 4
"""Of gzip's levels: higher ones take several times as long, and make JSON hardly smaller."""
OPEN: Final = frozenset({"health", "readiness", "log_in", "log_out"})
"""Operations that ask for no name."""


class HttpInterface(FastAPI):
    """The application, with a document that says only what is true of it."""

    @property
    def services(self) -> Services:
        """What it works with."""
        services: Services = self.state.services
        return services

    def entrance(self) -> str:
        """Where a browser gets in, relative to where this is served."""
        return self.services.entrance()

    def close(self) -> None:
        """End all streams of events, so that a server can stop."""
        self.services.hub.close()

    @override
    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document; wrong input is answered with 400 here, never with 422."""
        if self.openapi_schema is None:
            self.openapi_schema = _corrected(super().openapi())
        return self.openapi_schema


def http_interface(services: Services) -> HttpInterface:
    """The ASGI application; job types that are registered later get no endpoint. Raises `InvalidJobType`."""
    app = HttpInterface(
        title=TITLE,
        summary=SUMMARY,
        version=version("horae"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
        middleware=_middleware(services.settings, known=services.people_are_known),
    )
    app.state.services = services
    problems.handle(app)
    app.include_router(job_types.router_of(services.registry))
    for resource in ROUTERS:
        app.include_router(resource.router)
    app.include_router(pages.router)
    return app


def _middleware(settings: Settings, *, known: bool) -> list[Middleware]:
    """The outermost first."""
    layers = [
        Middleware(GZipMiddleware, LEAST_COMPRESSED, COMPRESSION),  # streams of events are left as they are
        Middleware(Heads),
        Middleware(ErrorResponses),
        Middleware(RequestGuard, allowed_hosts(settings, known=known), settings.trusted_origins, settings.max_body),
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
    """Without what FastAPI says of 422, and with what it does not know."""
    schemas = cast("dict[str, Any]", document["components"]["schemas"])
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["JobStreamEvent"] = JobStreamEvent.model_json_schema(ref_template="#/components/schemas/{model}")
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
