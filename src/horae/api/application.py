"""Puts the endpoints together into one ASGI application."""

from importlib.metadata import version
from typing import Any, Final, cast

from fastapi import FastAPI
from fastapi.routing import APIRoute
from typing_extensions import override

from horae.api import problems
from horae.api.resources import job_types, jobs
from horae.api.services import Services

TITLE: Final = "Horae"
SUMMARY: Final = "Background work: jobs, their progress, and what runs them."


class HttpInterface(FastAPI):
    """The application, with a document that says only what is true of it."""

    @override
    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document; wrong input is answered with 400 here, never with 422."""
        if self.openapi_schema is None:
            document = super().openapi()
            _without_422(document)
            self.openapi_schema = document
        return self.openapi_schema


def http_interface(services: Services) -> HttpInterface:
    """The ASGI application; job types that are registered later get no endpoint."""
    app = HttpInterface(
        title=TITLE,
        summary=SUMMARY,
        version=version("horae"),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.services = services
    problems.handle(app)
    app.include_router(job_types.router_of(services.registry))
    app.include_router(jobs.router)
    return app


def _operation_id(route: APIRoute) -> str:
    return route.name


def _without_422(document: dict[str, Any]) -> None:
    paths = cast("dict[str, dict[str, dict[str, dict[str, Any]]]]", document.get("paths", {}))
    for operations in paths.values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
    schemas = cast("dict[str, Any]", document.get("components", {}).get("schemas", {}))
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
