"""Who a user is, as a dependency of the application says."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Depends, FastAPI
from starlette.requests import Request
from starlette.types import Message

from horae.api.security.actor import Actor, actor_of
from horae.errors import ConfigurationError

User: TypeAlias = Actor | str | None
"""What a dependency may return: an actor, the id of one who owns jobs, or nobody."""
Dependency: TypeAlias = Callable[..., Any]

FOUND: Final = "horae.user"
REFUSED: Final = (401, 403)
NOTHING: Final[Message] = {"type": "http.request", "body": b"", "more_body": False}


def user_of(dependency: Dependency, found: Any) -> Actor | None:
    """Return the actor for what a dependency returned; raises `ConfigurationError` for others."""
    return actor_of(found, f"the dependency {getattr(dependency, '__name__', repr(dependency))}")


def actor_from(
    dependency: Dependency, app: FastAPI | None = None
) -> Callable[[Request], Awaitable[Actor | None]]:
    """Return the function `authenticate` that asks a dependency of the application.

    The dependency is resolved by FastAPI, with its own dependencies. If it answers with status 401
    or 403, the request has no user. `app`: the application whose `dependency_overrides` count.
    """
    resolver = FastAPI(openapi_url=None)

    async def note(request: Request, user: Annotated[Any, Depends(dependency)]) -> None:
        request.scope[FOUND].append(user_of(dependency, user))

    resolver.add_api_route("/{path:path}", note, methods=["GET"])

    async def authenticate(request: Request) -> Actor | None:
        if app is not None:
            resolver.dependency_overrides = app.dependency_overrides
        found: list[Actor | None] = []
        statuses: list[int] = []

        async def receive() -> Message:
            return NOTHING  # the body is for the endpoint of Horae

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        scope = {
            name: value
            for name, value in request.scope.items()
            if name not in {"app", "router", "endpoint", "route", "path_params"}
        }
        scope |= {"method": "GET", FOUND: found}
        await resolver(scope, receive, send)
        if found:
            return found[0]
        if statuses and statuses[0] in REFUSED:
            return None
        raise ConfigurationError(
            f"the dependency {getattr(dependency, '__name__', dependency)!r} answered with status"
            f" {statuses[0] if statuses else 'none'}, expected a user, or 401 or 403 for none"
        )

    return authenticate
