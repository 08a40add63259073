"""Errors for a session of another library, or for the other one of the two clients."""

from typing import Any, Final

from sqlalchemy.engine import Connection

from horae.errors import InvalidRequest
from horae.quoting import quoted

MAKERS: Final = ("sessionmaker", "async_sessionmaker")
"""Classes of SQLAlchemy whose instances are called to get a session."""


def refusal_of_session(given: Any, expected: str) -> InvalidRequest:
    """Return the error of a `session` that this client cannot use."""
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
    from sqlalchemy.orm import Session, scoped_session

    match given:
        case _ if type(given).__name__ in MAKERS:
            hint = "; it makes sessions: pass one of them, session=…()"
        case AsyncSession() | async_scoped_session() | AsyncConnection():
            hint = "; with this one, await horae.aio.jobs"
        case Session() | scoped_session() | Connection():
            hint = "; with this one, call horae.jobs"
        case _ if type(given).__module__.startswith("django."):
            hint = "; a call within transaction.atomic joins Django's transaction without it"
        case _:
            hint = ""
    return InvalidRequest(f"session is {quoted(given)}, expected {expected}{hint}")
