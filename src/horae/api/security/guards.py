"""ASGI middleware around every request: error responses, security headers, and request checks."""

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from horae.api import problems
from horae.api.security.exposure import is_allowed
from horae.api.security.origin import SAFE_METHODS, host_name, is_same_site
from horae.sentences import SentenceCode, sentence_of

MOST_DIGITS: Final = 18
"""Maximum number of digits of a content length; Python refuses to parse thousands of digits."""
CONTENT_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action"
    " 'self'; frame-ancestors 'none'"
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
    """Turns errors into responses, and adds security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def send_safely(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers, path = MutableHeaders(scope=message), scope["path"]
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if "/api/" in path or path.endswith("/metrics"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self._app(scope, receive, send_safely)
        except Exception as error:  # every error gets the same form of response
            if begun:
                raise
            await problems.response_to(error)(scope, receive, send_safely)


class RequestGuard:
    """Refuses unknown host names, changes requested by other sites' pages, and too large bodies."""

    def __init__(
        self, app: ASGIApp, hosts: tuple[str, ...], trusted: Collection[str], max_body: int
    ) -> None:
        self._app, self._hosts, self._trusted, self._max_body = app, hosts, trusted, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, if it is permitted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not is_allowed(host_name(headers), self._hosts):
            raise problems.Refused(
                "host name not allowed; see HORAE_ALLOWED_HOSTS", code="ERROR_HOST_NOT_ALLOWED"
            )
        if scope["method"] not in SAFE_METHODS and not is_same_site(headers, self._trusted):
            raise problems.PermissionDenied(
                "changes from pages of other sites are not allowed; see HORAE_TRUSTED_ORIGINS",
                code="ERROR_CROSS_SITE_REQUEST",
            )
        length = headers.get("content-length", "")
        if (
            length.isascii()
            and length.isdigit()
            and (len(length) > MOST_DIGITS or int(length) > self._max_body)
        ):
            raise too_large(self._max_body)
        taken = 0

        async def receive_bounded() -> Message:
            nonlocal taken
            message = await receive()
            # Bytes are counted, because a request may have no content length.
            taken += len(message.get("body", b""))
            if taken > self._max_body:
                # Code that reads the body does not catch this error of Starlette's.
                raise HTTPException(413, sentence_of(too_large(self._max_body)))
            return message

        await self._app(scope, receive_bounded, send)


def too_large(limit: int) -> problems.Refused:
    """Return the error for a body above the limit."""
    return problems.Refused(
        f"the body is larger than {limit} bytes; see HORAE_MAX_BODY",
        SentenceCode.REFUSED_TOO_LARGE,
        most=limit,
        status=413,
        code=problems.STATUS_CODES[413],
    )
