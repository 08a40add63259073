"""What every request passes on its way in and out: one ASGI callable around the next."""

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from horae.api import problems
from horae.api.security.exposure import is_allowed
from horae.api.security.origin import SAFE_METHODS, host_name, is_same_site

MOST_DIGITS: Final = 18
"""Of a length; Python refuses to read a number of thousands of digits."""
CONTENT_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
SECURITY_HEADERS: Final = {
    "content-security-policy": CONTENT_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class ErrorResponses:
    """Turns whatever is raised into an answer, and says in every answer what a browser may do with it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def send_safely(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                _complete(MutableHeaders(scope=message), scope["path"])
            await send(message)

        try:
            await self._app(scope, receive, send_safely)
        except Exception as error:  # whatever it is, the client gets the one form of an error
            if begun:
                raise
            await problems.response_to(error)(scope, receive, send_safely)


class RequestGuard:
    """Refuses names that are not ours, changes that another site's page asks for, and bodies that are too large."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...], trusted: Collection[str], max_body: int) -> None:
        self._app, self._hosts, self._trusted, self._max_body = app, hosts, trusted, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        if scope["type"] == "http":
            self._check(scope["method"], Headers(scope=scope))
            receive = _bounded(receive, self._max_body)
        await self._app(scope, receive, send)

    def _check(self, method: str, headers: Headers) -> None:
        if not is_allowed(host_name(headers), self._hosts):
            raise problems.Refused(
                "this name is not served here; see HORAE_ALLOWED_HOSTS", code="ERROR_HOST_NOT_ALLOWED"
            )
        if method not in SAFE_METHODS and not is_same_site(headers, self._trusted):
            raise problems.PermissionDenied(
                "a page of another site may change nothing here; see HORAE_TRUSTED_ORIGINS",
                code="ERROR_CROSS_SITE_REQUEST",
            )
        length = headers.get("content-length", "")
        if length.isascii() and length.isdigit() and (len(length) > MOST_DIGITS or int(length) > self._max_body):
            raise too_large(self._max_body)


def too_large(limit: int) -> problems.Refused:
    """The answer to a body that has more bytes than are accepted."""
    return problems.Refused(
        f"the body has more than {limit} bytes; see HORAE_MAX_BODY", status=413, code=problems.STATUS_CODES[413]
    )


def _bounded(receive: Receive, limit: int) -> Receive:
    """Count what arrives, for a length may be left out."""
    taken = 0

    async def receive_some() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:  # as Starlette's own: whoever reads the body lets it pass
            raise HTTPException(413, str(too_large(limit)))
        return message

    return receive_some


def _complete(headers: MutableHeaders, path: str) -> None:
    for name, value in SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    if "/api/" in path or path.endswith("/metrics"):
        headers.setdefault("cache-control", "no-store")
