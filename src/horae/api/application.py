"""Combines the endpoints into one ASGI application."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Final, cast

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute
from typing_extensions import override

from horae.api import problems
from horae.api.methods import DECLARED, HeadRequests
from horae.api.resources import RESOURCE_ROUTERS, job_types_router
from horae.api.security.exposure import allowed_hosts
from horae.api.security.guards import ErrorResponses, RequestGuard
from horae.api.services import Services
from horae.api.stream import JobStreamEvent, ScheduleGone

PROBES: Final = frozenset({"health", "readiness"})
"""Operations for supervisors of this process."""
OPEN: Final = PROBES | {"log_in", "log_out"}
"""Operations without authentication."""


class HttpInterface(FastAPI):
    """The application, with an accurate OpenAPI document."""

    @property
    def services(self) -> Services:
        """Return the services of the endpoints."""
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
        if self.openapi_schema is not None:
            return self.openapi_schema
        made = super().openapi()
        # FastAPI cannot derive the schemas of events, nor the security and the errors of each
        # operation.
        schemas = cast("dict[str, Any]", made["components"]["schemas"])
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schemas["JobStreamEvent"] = JobStreamEvent.model_json_schema(
            ref_template="#/components/schemas/{model}", mode="serialization"
        )
        schemas["ScheduleGone"] = ScheduleGone.model_json_schema()
        schemas.update(schemas["JobStreamEvent"].pop("$defs", {}))
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        paths = cast("dict[str, dict[str, dict[str, Any]]]", made["paths"])
        for operations in paths.values():
            for operation in operations.values():
                operation["responses"].pop("422", None)
                for status in _errors(operation):
                    error = problems.error_response(status)
                    operation["responses"].setdefault(str(status), error)
                if operation["operationId"] not in OPEN:
                    operation["security"] = [{"token": []}]
        self.openapi_schema = made
        return made


def http_interface(services: Services) -> HttpInterface:
    """Make the ASGI application; job types registered later get no endpoint.

    Raises `InvalidJobType`.
    """
    settings, known = services.settings, services.has_authentication
    hosts = allowed_hosts(settings, known=known)
    middleware = [  # outermost first
        # It does not compress event streams. Smaller responses fit one packet as they are, and
        # higher levels hardly compress JSON better.
        Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4),
        Middleware(HeadRequests),
        Middleware(ErrorResponses),
        Middleware(RequestGuard, hosts, settings.trusted_origins, settings.max_body),
    ]
    if settings.trusted_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=settings.trusted_origins,
                allow_methods=DECLARED,
                allow_headers=("authorization", "content-type", "last-event-id"),
                allow_credentials=True,
            )
        )
    app = HttpInterface(
        title="Horae",
        summary="Background work: jobs, their progress, and what runs them.",
        version=version("horae"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_name_of,
        middleware=middleware,
        exception_handlers=problems.HANDLERS,
    )
    app.state.services = services
    app.include_router(job_types_router(services.registry))
    app.routes.extend(_resource_routes())
    return app


@cache
def _resource_routes() -> list[BaseRoute]:
    """Return the routes that all applications have, each prepared at its first request: once in a
    process, because that takes a third of a second.
    """
    prepared = FastAPI(openapi_url=None, generate_unique_id_function=_name_of)
    for router in RESOURCE_ROUTERS:
        prepared.include_router(router)
    return prepared.routes


def _errors(operation: Mapping[str, Any]) -> set[int]:
    """Return the statuses of errors that an operation has by what it takes."""
    if operation["operationId"] in PROBES:
        return set()
    takes = {*operation, *(each["in"] for each in operation.get("parameters", ()))}
    found = {401, 403, 503}
    if "requestBody" in takes:
        found |= {400, 413}
    if "path" in takes:
        found |= {400, 404}
    if "query" in takes:
        found.add(400)
    return found


def _name_of(route: APIRoute) -> str:
    return route.name
