"""Methods that no endpoint declares: HEAD wherever there is GET, OPTIONS, and what `Allow` says."""

from typing import Final

from starlette.requests import Request
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

DECLARED: Final = ("DELETE", "GET", "PATCH", "POST")
WITHOUT_HEAD: Final = "/api/session/link/"
"""A one-time link is spent by a GET, which a HEAD must not do."""


def allowed(request: Request) -> str:
    """Every method that the path of this request has, as `Allow` lists them; empty if it has none."""
    routes = request.app.router.routes
    found = {
        method
        for method in DECLARED
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    }
    if "GET" in found and _has_head(request.scope):
        found.add("HEAD")
    if found:
        found.add("OPTIONS")
    return ", ".join(sorted(found))


class Heads:
    """Answers HEAD as GET would be answered, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or not _has_head(scope):
            await self._app(scope, receive, send)
            return
        begun = False

        async def receive_until_answered() -> Message:
            return {"type": "http.disconnect"} if begun else await receive()  # else a stream of events had no end

        async def send_without_body(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start" and not begun:
                begun = True
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app({**scope, "method": "GET"}, receive_until_answered, send_without_body)


def _has_head(scope: Scope) -> bool:
    return WITHOUT_HEAD not in scope["path"]
