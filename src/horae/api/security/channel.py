"""Whether a request comes from the dashboard, for the audit log."""

from contextvars import ContextVar
from typing import Final

from starlette.requests import Request

from horae.client.changes import DASHBOARD, HTTP

HEADER: Final = "X-Horae-Channel"
"""The header by which the dashboard names itself.

It decides nothing: whoever may make a change may also call it one of the dashboard.
"""
_channel: ContextVar[str] = ContextVar("horae_channel", default=HTTP)


def note_channel(request: Request) -> None:
    """Remember, for the rest of this request, what it comes from."""
    _channel.set(DASHBOARD if request.headers.get(HEADER) == DASHBOARD else HTTP)


def current_channel() -> str:
    """Return what the running request comes from."""
    return _channel.get()
