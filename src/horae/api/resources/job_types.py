"""`/api/jobs/types/…/`: one endpoint for each public job type, with its own schema, that starts a
job.
"""

import json
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

from fastapi import APIRouter, Body
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from horae.api.dependencies import Changer, ServicesHere
from horae.api.problems import RESPONSES, PermissionDenied, Refused, document_errors
from horae.api.resources.jobs import detail_of
from horae.api.security.actor import Actor
from horae.api.services import Services
from horae.api.views.jobs import response_model_of
from horae.errors import HoraeError, UnknownJobType
from horae.quoting import quoted
from horae.sentences import SentenceCode
from horae.types import ApiError, JobType, Registry
from horae.types.documentation import description_of
from horae.types.options import StartOptions

Endpoint = Callable[..., Awaitable[Response]]


def router_of(registry: Registry) -> APIRouter:
    """Return an endpoint for each public type registered so far, and one for all other names."""
    router = APIRouter(prefix="/api/jobs/types", tags=["jobs"])
    for kind in registry:
        if not kind.public:
            continue
        statuses = {_answer(entry)[1] for entry in kind.api_exceptions_map.values()}
        router.add_api_route(
            f"/{kind.type}/",
            _endpoint(kind),
            methods=["POST"],
            status_code=202,
            name=f"start_{kind.type}",
            summary=f"Start {kind.type}",
            description=description_of(kind) or f"Start a job of type `{kind.type}`.",
            response_model=response_model_of(kind),
            responses=document_errors(*statuses),
        )
    router.add_api_route("/{job_type}/", start_unknown, methods=["POST"], include_in_schema=False)
    return router


async def start_unknown(job_type: str, services: ServicesHere, actor: Changer) -> Response:
    """Refuse to start a job of a type that has no endpoint, whether it exists or not."""
    raise not_startable(services, actor, job_type)


def not_startable(services: Services, actor: Actor, name: str) -> HoraeError:
    """Return the error for a type that cannot be started over HTTP; only staff learn that it
    exists.
    """
    registry = services.components.registry
    public = ", ".join(sorted(each.type for each in registry if each.public)) or "none"
    if actor.sees_all and name in registry.by_name:
        return PermissionDenied(
            f"job type {quoted(name)} is not public, so it cannot be started over HTTP (public:"
            f" {public}); declare it with public=True, or start it in Python or with `horae"
            f" jobs start {name}`",
            SentenceCode.REFUSED_TYPE_NOT_PUBLIC,
            type=name,
            public=public,
            code="ERROR_JOB_TYPE_NOT_PUBLIC",
        )
    return Refused(
        f"unknown job type {quoted(name)} (public: {public})",
        SentenceCode.VALUE_JOB_TYPE,
        type=name,
        code=RESPONSES[UnknownJobType][1],
    )


def _endpoint(job_type: JobType[Any]) -> Endpoint:
    model: type[BaseModel] = job_type.request.model
    optional = not any(field.is_required() for field in model.model_fields.values())

    async def start(
        request: Request, services: ServicesHere, actor: Changer, values: Any
    ) -> Response:
        # When the job is created, the body is validated again, because aliases have another meaning
        # there.
        del values
        text = await request.body()
        given: dict[str, Any] = json.loads(text) if text else {}
        async with services.record_change(actor, "job.start", job_type.type):
            with translate_errors(job_type):
                job = await services.jobs.create(job_type, given, StartOptions(owner=actor.id))
        detail = await detail_of(services, actor, job)
        return Response(detail.model_dump_json(), 202, media_type="application/json")

    start.__annotations__["values"] = model
    start.__defaults__ = (Body(default=None) if optional else Body(),)
    return start


@contextmanager
def translate_errors(job_type: JobType[Any]) -> Generator[None]:
    """Turn an exception into the response that the type's `api_exceptions_map` gives for it."""
    try:
        yield
    except tuple(job_type.api_exceptions_map) as error:
        nearest = next(base for base in type(error).__mro__ if base in job_type.api_exceptions_map)
        code, status, detail = _answer(job_type.api_exceptions_map[nearest])
        raise Refused(detail.replace("{e}", str(error)), status=status, code=code) from error


def _answer(entry: ApiError) -> tuple[str, int, str]:
    return (entry, 400, "{e}") if isinstance(entry, str) else entry
