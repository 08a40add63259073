"""The HTTP API and the dashboard beside the views of a project, under ASGI and under WSGI.

They are no views of Django: its middleware does not see their requests. Django's session says who
asks, and Horae itself refuses changes that pages of other sites request.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from horae.api.lazy import Receive, Scope, Send, web_packages_required
from horae.contrib.behind_wsgi import EVENTS, NO_EVENTS, AsgiLoop
from horae.contrib.django.application import horae
from horae.errors import ConfigurationError

Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[..., Any]
WsgiApplication: TypeAlias = Callable[[Environ, StartResponse], Iterable[bytes]]


def following(path: str) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Return Horae's ASGI application on the database that the alias of the project stands for
    now.
    """
    horae.dashboard = horae.dashboard or f"{path}/"
    interface = horae.asgi()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        horae.follow()
        await interface(scope, receive, send)

    return answer


def asgi_with_horae(application: Any, at: str = "/horae") -> Any:
    """Return an ASGI application that answers below `at` with Horae, and elsewhere with Django's
    (`get_asgi_application()`).

    Raises `ConfigurationError` without the packages of `horae[web]`.
    """
    with web_packages_required():
        from starlette.applications import Starlette
        from starlette.responses import RedirectResponse
        from starlette.routing import Mount, Route

    @asynccontextmanager
    async def closing(_app: object) -> AsyncGenerator[None]:
        yield
        await asyncio.to_thread(horae.close)

    path = checked_path(at)

    async def add_slash(request: Any) -> RedirectResponse:
        return RedirectResponse(f"{request.scope.get('root_path', '')}{path}/")

    routes = [
        Route(path, add_slash),
        Mount(path, app=following(path)),
        Mount("/", app=application),
    ]
    return Starlette(routes=routes, lifespan=closing)


def wsgi_with_horae(application: WsgiApplication, at: str = "/horae") -> Any:
    """Return a WSGI application that answers below `at` with Horae, and elsewhere with Django's
    (`get_wsgi_application()`).

    Event streams are refused, because each would keep a worker of the server; the dashboard polls
    then.
    """
    path = checked_path(at)
    interface, loop = following(path), AsgiLoop()

    def answer(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        asked: str = environ.get("PATH_INFO", "")
        if asked == path:
            start_response("307 Temporary Redirect", [("Location", f"{_script(environ)}{path}/")])
            return [b""]
        if not asked.startswith(f"{path}/"):
            return application(environ, start_response)
        below = asked.removeprefix(path)
        if below == EVENTS:
            start_response("501 Not Implemented", [("Content-Type", "application/json")])
            return [NO_EVENTS.encode()]
        moved = {**environ, "SCRIPT_NAME": f"{_script(environ)}{path}", "PATH_INFO": below}
        return loop.answer(interface, moved, start_response, max_body=horae.settings.max_body)

    return answer


def checked_path(at: str) -> str:
    """Return the path without its last slash; raises `ConfigurationError` for one of no use."""
    path = at.rstrip("/")
    if not path.startswith("/") or "//" in path or any(each in path for each in "{}?#"):
        raise ConfigurationError(f"at is {at!r}, expected a path such as '/horae'")
    return path


def _script(environ: Environ) -> str:
    script: str = environ.get("SCRIPT_NAME", "")
    return script
