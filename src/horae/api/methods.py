"""Methods that endpoints do not declare: HEAD for each GET, OPTIONS, and the `Allow` header."""

from typing import Final

from starlette.requests import Request
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

DECLARED: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")
"""The methods that endpoints declare."""


def allowed_methods(request: Request) -> str:
    """Return the methods of the requested path, as in `Allow`; empty for an unknown path."""
    routes = request.app.router.routes
    found = {
        method
        for method in DECLARED
        if any(
            route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes
        )
    }
    if "GET" in found:
        found.add("HEAD")
    if found:
        found.add("OPTIONS")
    return ", ".join(sorted(found))


class HeadRequests:
    """Middleware that answers HEAD like GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        begun = False

        async def receive_until_answered() -> Message:
            # Without an end, an event stream would stay open.
            return {"type": "http.disconnect"} if begun else await receive()

        async def send_without_body(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start" and not begun:
                begun = True
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app({**scope, "method": "GET"}, receive_until_answered, send_without_body)
