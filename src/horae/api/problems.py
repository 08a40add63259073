"""Turns errors into responses, `{"error": CODE, "detail": …}`, by one table of error classes."""

import json
from collections.abc import Callable, Coroutine, Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from horae.api.methods import allowed_methods
from horae.api.models import SentenceItem, sentence_item
from horae.errors import (
    CronSyntaxError,
    DatabaseAccessDenied,
    DatabaseUnavailable,
    DeploymentDoesNotExist,
    DuplicateJob,
    GroupDoesNotExist,
    GroupNotCancellable,
    GroupNotOpen,
    HoraeError,
    InvalidInterval,
    InvalidParameters,
    InvalidQuery,
    InvalidRequest,
    JobDoesNotExist,
    JobNotCancellable,
    JobNotDeletable,
    JobNotReschedulable,
    JobNotRetryable,
    MaxJobCountExceeded,
    NotFound,
    ScheduleAlreadyExists,
    ScheduleDoesNotExist,
    ScheduleIsDeclared,
    ScheduleIsRunning,
    ScheduleWasChanged,
    Unavailable,
    UnknownJobType,
)
from horae.guarded_log import guarded_log
from horae.sentences import Sentence, SentenceCode, Value, invalid_value, sentence_of
from horae.storage.engine import is_of_server, is_transient
from horae.storage.schedules import UnreadableSchedule

BODY: Final = "ERROR_REQUEST_BODY_VALIDATION"
QUERY: Final = "ERROR_QUERY_PARAMETER_VALIDATION"
INTERNAL: Final = "ERROR_INTERNAL"
UNAVAILABLE: Final = "ERROR_UNAVAILABLE"

log = guarded_log("horae.api")


class Refused(HoraeError):
    """A refused request, with the status and code of its response."""

    status = 400
    code = "ERROR_INVALID_REQUEST"

    def __init__(
        self,
        detail: str,
        sentence: SentenceCode | None = None,
        /,
        *,
        status: int | None = None,
        code: str | None = None,
        **values: Value,
    ) -> None:
        super().__init__(detail, sentence, **values)
        self.status = status or self.status
        self.code = code or self.code


class NotAuthenticated(Refused):
    """The request has no valid credentials."""

    status, code = 401, "ERROR_NOT_AUTHENTICATED"


class Misconfigured(Refused):
    """The application that serves the request is set up wrongly; the text is for its log."""

    status, code = 500, INTERNAL


class PermissionDenied(Refused):
    """The actor lacks the needed role."""

    status, code = 403, "ERROR_PERMISSION_DENIED"


RESPONSES: Final[Mapping[type[Exception], tuple[int, str]]] = {
    JobDoesNotExist: (404, "ERROR_JOB_DOES_NOT_EXIST"),
    GroupDoesNotExist: (404, "ERROR_GROUP_DOES_NOT_EXIST"),
    ScheduleDoesNotExist: (404, "ERROR_SCHEDULE_DOES_NOT_EXIST"),
    DeploymentDoesNotExist: (404, "ERROR_DEPLOYMENT_DOES_NOT_EXIST"),
    NotFound: (404, "ERROR_NOT_FOUND"),
    JobNotCancellable: (400, "ERROR_JOB_NOT_CANCELLABLE"),
    GroupNotCancellable: (400, "ERROR_GROUP_NOT_CANCELLABLE"),
    GroupNotOpen: (400, "ERROR_GROUP_NOT_OPEN"),
    JobNotRetryable: (400, "ERROR_JOB_NOT_RETRYABLE"),
    JobNotDeletable: (400, "ERROR_JOB_NOT_DELETABLE"),
    JobNotReschedulable: (400, "ERROR_JOB_NOT_RESCHEDULABLE"),
    MaxJobCountExceeded: (400, "ERROR_MAX_JOB_COUNT_EXCEEDED"),
    DuplicateJob: (400, "ERROR_DUPLICATE_JOB"),
    UnknownJobType: (400, "ERROR_JOB_TYPE_DOES_NOT_EXIST"),
    ScheduleAlreadyExists: (400, "ERROR_SCHEDULE_ALREADY_EXISTS"),
    ScheduleIsDeclared: (400, "ERROR_SCHEDULE_IS_DECLARED"),
    ScheduleIsRunning: (400, "ERROR_SCHEDULE_IS_RUNNING"),
    ScheduleWasChanged: (400, "ERROR_SCHEDULE_WAS_CHANGED"),
    UnreadableSchedule: (400, "ERROR_SCHEDULE_IS_UNREADABLE"),
    CronSyntaxError: (400, "ERROR_CRON_SYNTAX"),
    InvalidInterval: (400, "ERROR_INVALID_INTERVAL"),
    InvalidParameters: (400, BODY),
    InvalidQuery: (400, "ERROR_JOB_QUERY"),
    InvalidRequest: (400, "ERROR_INVALID_REQUEST"),
    Unavailable: (503, UNAVAILABLE),
}
"""Status and code of each class of errors; the nearest base class of an error decides."""

_LENGTHS: Final = {"too_long": ("at most", "max_length"), "too_short": ("at least", "min_length")}
NO_SUCH: Final[Mapping[str, str]] = {
    "job_id": RESPONSES[JobDoesNotExist][1],
    "group_id": RESPONSES[GroupDoesNotExist][1],
    "schedule_id": RESPONSES[ScheduleDoesNotExist][1],
    "key": RESPONSES[DeploymentDoesNotExist][1],
}
"""The error code of an invalid ID, by the name of the path parameter."""

STATUS_CODES: Final[Mapping[int, str]] = {
    400: BODY,
    401: NotAuthenticated.code,
    403: PermissionDenied.code,
    404: "ERROR_NOT_FOUND",
    405: "ERROR_METHOD_NOT_ALLOWED",
    413: "ERROR_REQUEST_TOO_LARGE",
}


class FieldError(BaseModel):
    """One error in one field."""

    error: str
    code: str
    sentence: SentenceItem | None = Field(
        None, description="The error as a code and values, for a page in another language."
    )


class Problem(BaseModel):
    """The body of every error response."""

    error: str = Field(
        description="Error code for programs.", examples=["ERROR_JOB_DOES_NOT_EXIST"]
    )
    detail: str | dict[str, list[FieldError]] = Field(
        description="Message for people; for invalid fields, the errors by field."
    )
    sentence: SentenceItem | None = Field(
        None, description="The message as a code and values, for a page in another language."
    )
    instead: str | None = Field(
        None,
        description=(
            "With `ERROR_CRON_SYNTAX`, the whole expression to write, where one means the same."
        ),
    )
    position: int | None = Field(
        None,
        description=(
            "With `ERROR_JOB_QUERY`, the first character of the term that is wrong, from 1."
        ),
    )
    length: int | None = Field(
        None, description="With `ERROR_JOB_QUERY`, the number of characters of that term."
    )


REASONS: Final[Mapping[int, str]] = {
    400: "The request is invalid, or the state does not allow it.",
    401: "Authentication required.",
    403: "Not permitted, or a request from another site.",
    404: "Not found, or owned by another user.",
    413: "The body is too large.",
    429: "Too many requests, or too many at a time.",
    503: "The database is unavailable.",
}
"""What error responses mean, for OpenAPI."""


def document_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of an endpoint that do not follow from what it takes."""
    return {
        status: {"model": Problem, "description": REASONS.get(status, "An error.")}
        for status in statuses
    }


def error_response(status: int) -> dict[str, Any]:
    """Return an error response as the OpenAPI document has it."""
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    return {"description": REASONS[status], "content": {"application/json": {"schema": schema}}}


def problem(
    status: int,
    code: str,
    detail: Any,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    """Return an error response; `more`: what its code adds."""
    sentence = sentence_item(detail)
    told = {} if sentence is None else {"sentence": sentence.model_dump(mode="json")}
    body = {"error": code, "detail": detail, **told, **more}
    # Escaped, because an unpaired surrogate cannot be encoded.
    content = json.dumps(body)
    return Response(content, status, headers, "application/json")


def status_of(error: Exception) -> tuple[int, str]:
    """Return the status and code of an error."""
    if isinstance(error, Refused):
        return error.status, error.code
    for base in type(error).__mro__:
        if base in RESPONSES:
            return RESPONSES[base]
    return (503, UNAVAILABLE) if is_transient(error) else (500, INTERNAL)


def response_to(error: Exception) -> Response:
    """Return the response to an error; the text of an unexpected one is logged, but not exposed."""
    status, code = status_of(error)
    if isinstance(error, NotAuthenticated):
        return problem(status, code, sentence_of(error), {"WWW-Authenticate": "Bearer"})
    if isinstance(error, InvalidParameters):
        return problem(
            status,
            code,
            errors_by_field((where, what, "invalid") for where, what in error.problems),
        )
    headers = {"Retry-After": "1"} if code == UNAVAILABLE else None
    if (
        isinstance(error, HoraeError)
        and code != INTERNAL
        and not isinstance(error, DatabaseAccessDenied | DatabaseUnavailable)
    ):
        more: dict[str, str | int] = {}
        match error:
            case CronSyntaxError(instead=str(instead)):
                more = {"instead": instead}
            case InvalidQuery(position=position, length=length):
                more = {"position": position, "length": length}
            case _:
                pass
        return problem(status, code, sentence_of(error), headers, **more)
    if code == UNAVAILABLE:
        return problem(status, code, _outage(error), headers)
    log.error("a request failed", exc_info=error)
    what = (
        "the server is configured wrongly" if isinstance(error, Misconfigured) else "internal error"
    )
    detail = Sentence(f"{what}; see the log of the server", SentenceCode.REFUSED_INTERNAL)
    return problem(status, code, detail)


def _outage(error: Exception) -> Sentence:
    """Log why the database is unavailable; return a text without server or file names."""
    if isinstance(error, DatabaseUnavailable) and error.answers:
        log.warning("the database cannot serve a request: %s", error)
        return Sentence(
            "the database cannot be used now; see the log of the server",
            SentenceCode.REFUSED_DATABASE_UNUSABLE,
        )
    if isinstance(error, DatabaseUnavailable) or is_of_server(error):
        log.warning("the database does not answer: %s", error)
        return Sentence("the database does not answer", SentenceCode.REFUSED_DATABASE_DOWN)
    if isinstance(error, DatabaseAccessDenied):
        log.warning("the database refuses a request: %s", error)
    else:
        log.warning("the database refuses a request, which `horae doctor` may explain: %s", error)
    return Sentence(
        "the database refuses this; see the log of the server",
        SentenceCode.REFUSED_DATABASE_REFUSES,
    )


def errors_by_field(found: Iterable[tuple[str, str, str]]) -> dict[str, list[dict[str, Any]]]:
    """Group errors by field, as the detail of a response."""
    detail: dict[str, list[dict[str, Any]]] = {}
    for field, error, code in found:
        shown = FieldError(error=error, code=code, sentence=sentence_item(error))
        detail.setdefault(field or "body", []).append(shown.model_dump(exclude_none=True))
    return detail


async def on_error(_request: Request, error: Exception) -> Response:
    """Answer a request that has raised an error of Horae's."""
    return response_to(error)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer a request that no endpoint accepts."""
    assert isinstance(error, HTTPException)
    if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        code, path = STATUS_CODES.get(error.status_code, INTERNAL), request.url.path
        detail = error.detail
        if error.status_code == HTTPStatus.NOT_FOUND and "/api/" in path and path[-1] != "/":
            detail += "; the paths of the API end with a slash"
        return problem(error.status_code, code, detail, error.headers)
    # The error names the methods of one route, but the path may have several.
    headers = {"Allow": allowed_methods(request)}
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=headers)
    return problem(405, STATUS_CODES[405], error.detail, headers)


async def on_invalid_values(request: Request, error: Exception) -> Response:
    """Answer a request whose path, query or body is invalid."""
    assert isinstance(error, RequestValidationError)
    wrong = error.errors()
    place = wrong[0]["loc"][0]
    if place == "path":  # an invalid ID cannot exist, so the answer is 404
        return problem(404, NO_SUCH.get(str(wrong[0]["loc"][-1]), "ERROR_NOT_FOUND"), "not found")
    if place == "body" and "json" not in request.headers.get("content-type", ""):
        return problem(400, BODY, "a JSON body needs the header Content-Type: application/json")
    found = (
        (".".join(map(str, item["loc"][1:])), _text(item), str(item["type"])) for item in wrong
    )
    return problem(400, QUERY if place == "query" else BODY, errors_by_field(found))


HANDLERS: Final[dict[int | type[Exception], Callable[..., Coroutine[Any, Any, Response]]]] = {
    RequestValidationError: on_invalid_values,
    HTTPException: on_http_exception,
    HoraeError: on_error,
}
"""The handler of each class of errors that an endpoint raises."""


def _text(item: Mapping[str, Any]) -> str:
    text = str(item["msg"]).removeprefix("Value error, ")
    # Pydantic calls the characters of an optional text "items".
    if item["type"] in _LENGTHS and isinstance(item["input"], str):
        which, bound = _LENGTHS[item["type"]]
        text = (
            f"String should have {which} {item['ctx'][bound]}"
            f" character{'' if item['ctx'][bound] == 1 else 's'}"
        )
    return invalid_value(text, item["type"], item.get("ctx", {}))
