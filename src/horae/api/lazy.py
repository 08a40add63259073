"""The HTTP interface before it is needed: made at the first request, when all job types have been declared.

It imports nothing of the web, so that a program that only starts jobs pays nothing for it.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol, TypeAlias

from horae.forking import ForkSafeLock

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Interface(Protocol):
    """An ASGI application that can end what goes on in it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        ...

    def entrance(self) -> str:
        """Where a browser gets in, relative to where this is served; each call may make an earlier answer useless."""
        ...

    def close(self) -> None:
        """End all streams."""
        ...


class LazyInterface:
    """An ASGI application: serve it, or mount it in another one."""

    def __init__(self, make: Callable[[], Interface], may_listen: Callable[[str], None]) -> None:
        """`may_listen` raises `ConfigurationError` for a host from which strangers could reach what nobody guards."""
        self._make = make
        self.may_listen = may_listen
        self._made: Interface | None = None
        self._making = ForkSafeLock()

    @property
    def made(self) -> Interface:
        """The application itself, made now if it was not; raises what that raises."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self.made(scope, receive, send)

    def close(self) -> None:
        """End all streams of events, and forget what was made: a later request makes it again."""
        with self._making:
            made, self._made = self._made, None
        if made is not None:
            made.close()
