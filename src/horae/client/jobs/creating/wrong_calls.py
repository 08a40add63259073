"""Errors for calls in the style of another library, or of the other one of the two clients."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy.engine import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.types import JobType

MAKERS: Final = ("scoped_session", "async_scoped_session", "sessionmaker", "async_sessionmaker")
"""Classes of SQLAlchemy whose instances are called to get a session."""


def refusal_by_position(job_type: JobType[Any], given: Sequence[object]) -> InvalidRequest:
    """Return the error of a start with parameters that have no names."""
    names = list(job_type.request.model.model_fields)[: len(given)]
    call = ", ".join([job_type.type, *(f"{name}=…" for name in names)])
    return InvalidRequest(
        f"parameters are passed by name, and {len(given)} came by position; write start({call})"
    )


def refusal_of_session(given: Any, expected: str) -> InvalidRequest:
    """Return the error of a `session` that this client cannot use."""
    match given:
        case _ if type(given).__name__ in MAKERS:
            hint = "; it makes sessions: pass one of them, session=…()"
        case AsyncSession() | AsyncConnection():
            hint = "; with this one, await horae.aio.jobs"
        case Session() | Connection():
            hint = "; with this one, call horae.jobs"
        case _:
            hint = ""
    return InvalidRequest(f"session is {quoted(given)}, expected {expected}{hint}")
