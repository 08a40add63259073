"""How errors are answered: `{"error": CODE, "detail": …}`, from one table by the class of the error."""

import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from horae.api.methods import allowed
from horae.errors import (
    CronSyntaxError,
    DeploymentDoesNotExist,
    DuplicateJob,
    HoraeError,
    InvalidInterval,
    InvalidParameters,
    InvalidRequest,
    JobDoesNotExist,
    JobNotCancellable,
    JobNotDeletable,
    JobNotRetryable,
    MaxJobCountExceeded,
    NotFound,
    ScheduleAlreadyExists,
    ScheduleDoesNotExist,
    ScheduleIsDeclared,
    ScheduleIsRunning,
    Unavailable,
    UnknownJobType,
)
from horae.storage.engine.failures import is_transient
from horae.storage.schedules.row_mapping import UnreadableSchedule

BODY: Final = "ERROR_REQUEST_BODY_VALIDATION"
QUERY: Final = "ERROR_QUERY_PARAMETER_VALIDATION"
INTERNAL: Final = "ERROR_INTERNAL"
UNAVAILABLE: Final = "ERROR_UNAVAILABLE"

log = logging.getLogger("horae.api")


class Refused(HoraeError):
    """A request that is answered with this status and code."""

    status = 400
    code = "ERROR_INVALID_REQUEST"

    def __init__(self, detail: str, *, status: int | None = None, code: str | None = None) -> None:
        super().__init__(detail)
        self.status = status or self.status
        self.code = code or self.code


class NotAuthenticated(Refused):
    """Nobody that is known here."""

    status, code = 401, "ERROR_NOT_AUTHENTICATED"


class PermissionDenied(Refused):
    """Somebody who is known and may not."""

    status, code = 403, "ERROR_PERMISSION_DENIED"


ANSWERS: Final[Mapping[type[Exception], tuple[int, str]]] = {
    JobDoesNotExist: (404, "ERROR_JOB_DOES_NOT_EXIST"),
    ScheduleDoesNotExist: (404, "ERROR_SCHEDULE_DOES_NOT_EXIST"),
    DeploymentDoesNotExist: (404, "ERROR_DEPLOYMENT_DOES_NOT_EXIST"),
    NotFound: (404, "ERROR_NOT_FOUND"),
    JobNotCancellable: (400, "ERROR_JOB_NOT_CANCELLABLE"),
    JobNotRetryable: (400, "ERROR_JOB_NOT_RETRYABLE"),
    JobNotDeletable: (400, "ERROR_JOB_NOT_DELETABLE"),
    MaxJobCountExceeded: (400, "ERROR_MAX_JOB_COUNT_EXCEEDED"),
    DuplicateJob: (400, "ERROR_DUPLICATE_JOB"),
    UnknownJobType: (400, "ERROR_JOB_TYPE_DOES_NOT_EXIST"),
    ScheduleAlreadyExists: (400, "ERROR_SCHEDULE_ALREADY_EXISTS"),
    ScheduleIsDeclared: (400, "ERROR_SCHEDULE_IS_DECLARED"),
    ScheduleIsRunning: (400, "ERROR_SCHEDULE_IS_RUNNING"),
    UnreadableSchedule: (400, "ERROR_SCHEDULE_IS_UNREADABLE"),
    CronSyntaxError: (400, "ERROR_CRON_SYNTAX"),
    InvalidInterval: (400, "ERROR_INVALID_INTERVAL"),
    InvalidParameters: (400, BODY),
    InvalidRequest: (400, "ERROR_INVALID_REQUEST"),
    Unavailable: (503, UNAVAILABLE),
}
"""The nearest base of an error decides."""

NO_SUCH: Final[Mapping[str, str]] = {
    "job_id": ANSWERS[JobDoesNotExist][1],
    "schedule_id": ANSWERS[ScheduleDoesNotExist][1],
    "key": ANSWERS[DeploymentDoesNotExist][1],
}
"""The code by the name in the path."""

STATUS_CODES: Final[Mapping[int, str]] = {
    400: BODY,
    401: NotAuthenticated.code,
    403: PermissionDenied.code,
    404: "ERROR_NOT_FOUND",
    405: "ERROR_METHOD_NOT_ALLOWED",
    413: "ERROR_REQUEST_TOO_LARGE",
}


class FieldError(BaseModel):
    """One thing that is wrong with one field."""

    error: str
    code: str


class Problem(BaseModel):
    """How every error is answered."""

    error: str = Field(description="What went wrong, for programs.", examples=["ERROR_JOB_DOES_NOT_EXIST"])
    detail: str | dict[str, list[FieldError]] = Field(
        description="What went wrong, for people; for a field that is wrong, by the field."
    )


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of an endpoint for the OpenAPI document; 401, 403 and 503 may come from any."""
    reasons = {
        400: "The request is wrong, or the state does not allow it.",
        401: "Nobody that is known here.",
        403: "Not allowed, or a request from another site.",
        404: "It does not exist, or belongs to somebody else.",
        413: "The body is too large.",
        429: "Too many at a time, or too fast.",
        503: "The database cannot serve this now.",
    }
    return {
        status: {"model": Problem, "description": reasons.get(status, "An error.")}
        for status in sorted({401, 403, 503, *statuses})
    }


def problem(status: int, code: str, detail: Any, headers: Mapping[str, str] | None = None) -> Response:
    """An error as a response."""
    content = json.dumps({"error": code, "detail": detail})  # escaped, for half of a surrogate pair has no bytes
    return Response(content, status, headers, "application/json")


def answer_to(error: Exception) -> tuple[int, str]:
    """Status and code for any error."""
    if isinstance(error, Refused):
        return error.status, error.code
    for base in type(error).__mro__:
        if base in ANSWERS:
            return ANSWERS[base]
    return (503, UNAVAILABLE) if is_transient(error) else (500, INTERNAL)


def code_of(error: Exception) -> str:
    """The code that an error is answered with."""
    return answer_to(error)[1]


def response_to(error: Exception) -> Response:
    """The answer to any error; what nobody foresaw is logged, and says nothing of itself."""
    status, code = answer_to(error)
    if isinstance(error, NotAuthenticated):
        return problem(status, code, str(error), {"WWW-Authenticate": "Bearer"})
    if isinstance(error, InvalidParameters):
        return problem(status, code, complaints((where, what, "invalid") for where, what in error.problems))
    headers = {"Retry-After": "1"} if code == UNAVAILABLE else None
    if isinstance(error, HoraeError) and code != INTERNAL:
        return problem(status, code, str(error), headers)
    if code == UNAVAILABLE:
        log.warning("the database does not answer: %s", error)
        return problem(status, code, "the database does not answer", headers)
    log.error("a request failed", exc_info=error)
    return problem(status, code, "something went wrong; the log of the server says what")


def complaints(found: Iterable[tuple[str, str, str]]) -> dict[str, list[dict[str, str]]]:
    """Field, error and code of each as the detail of a response."""
    detail: dict[str, list[dict[str, str]]] = {}
    for field, error, code in found:
        detail.setdefault(field or "body", []).append({"error": error, "code": code})
    return detail


def handle(app: FastAPI) -> None:
    """Answer every error in the one form."""
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(HoraeError, _on_error)


async def _on_error(_request: Request, error: Exception) -> Response:
    return response_to(error)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as it was registered
    if error.status_code == 405:  # noqa: PLR2004
        return _method_not_allowed(request, str(error.detail))
    code = STATUS_CODES.get(error.status_code, INTERNAL)
    return problem(error.status_code, code, error.detail, error.headers)


def _method_not_allowed(request: Request, detail: str) -> Response:
    """The routes know only their own methods; a path may have several routes."""
    headers = {"Allow": allowed(request)}
    return (
        Response(status_code=204, headers=headers)
        if request.method == "OPTIONS"
        else problem(405, STATUS_CODES[405], detail, headers)
    )


async def _on_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as it was registered
    wrong = error.errors()
    place = wrong[0]["loc"][0]
    if place == "path":  # what cannot be the id of anything is the id of nothing
        return problem(404, NO_SUCH.get(str(wrong[0]["loc"][-1]), "ERROR_NOT_FOUND"), "there is no such id")
    if place == "body" and "json" not in request.headers.get("content-type", ""):
        return problem(400, BODY, "the body is read as JSON only with the header Content-Type: application/json")
    found = ((".".join(map(str, item["loc"][1:])), _text(item), str(item["type"])) for item in wrong)
    return problem(400, QUERY if place == "query" else BODY, complaints(found))


def _text(item: Mapping[str, Any]) -> str:
    return str(item["msg"]).removeprefix("Value error, ")
