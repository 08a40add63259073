"""The HTTP API, made at the first request, when all job types have been declared.

Imports no web framework, so that a program which only starts jobs neither loads nor needs one.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol, TypeAlias

from horae.forking import ForkSafeLock
from horae.optional_packages import packages_required

WEB_PACKAGES: Final = frozenset({"fastapi", "h11", "prometheus_client", "starlette", "uvicorn"})
"""The packages that the extra `web` installs, by the names under which they are imported."""

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def web_packages_required() -> AbstractContextManager[None]:
    """Raise `ConfigurationError` if the block imports a missing package of the extra `web`."""
    return packages_required(
        WEB_PACKAGES,
        "the HTTP API needs its packages: pip install 'horae[web]', or run the node without it:"
        " `horae run --no-api`",
    )


class Interface(Protocol):
    """An ASGI application whose streams can be ended."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        ...

    def entrance(self) -> str:
        """Return the path for a browser, relative to where this is served; earlier ones may be
        invalid.
        """
        ...

    def close(self) -> None:
        """End all streams."""
        ...


class LazyInterface:
    """An ASGI application: serve it, or mount it in another one."""

    def __init__(self, make: Callable[[], Interface], may_listen: Callable[[str], None]) -> None:
        """`may_listen` raises `ConfigurationError` for a host that needs authentication and has
        none.
        """
        self._make = make
        self.may_listen = may_listen
        self._made: Interface | None = None
        self._making = ForkSafeLock()

    @property
    def made(self) -> Interface:
        """Return the application, made at the first access; raises what making it raises."""
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self.made(scope, receive, send)

    def close(self) -> None:
        """End all event streams and drop the application; a later request makes a new one."""
        with self._making:
            made, self._made = self._made, None
        if made is not None:
            made.close()
