"""When each user has last changed something here, so that the user's lists show it even if they
come from a replica.
"""

import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
MOST_USERS: Final = 10_000
"""Users that are remembered; beyond that, those whose last change is the oldest are forgotten."""


class LastChanges:
    """The moments, on the monotonic clock, at which changes of users had been committed."""

    def __init__(self) -> None:
        self._moments: dict[str, float] = {}

    def of(self, user: str) -> float:
        """Return when the user's last change was committed, minus infinity if there is none."""
        return self._moments.get(user, float("-inf"))

    def note(self, user: str) -> None:
        """Record that a change of the user has been committed."""
        self._moments.pop(user, None)  # so that the order is that of the changes
        self._moments[user] = time.monotonic()
        if len(self._moments) > MOST_USERS:
            del self._moments[next(iter(self._moments))]


class NoteChanges:
    """Middleware that notes a change before its response is sent."""

    def __init__(self, app: ASGIApp, changes: LastChanges) -> None:
        self._app, self._changes = app, changes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or scope["method"] in SAFE:
            await self._app(scope, receive, send)
            return

        async def noting(message: Message) -> None:
            actor = scope.get("state", {}).get("actor")
            if message["type"] == "http.response.start" and actor is not None:
                self._changes.note(actor.id)
            await send(message)

        await self._app(scope, receive, noting)
