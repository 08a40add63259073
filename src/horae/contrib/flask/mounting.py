"""The HTTP API and the dashboard as a view: an ASGI application behind a WSGI server.

A view, and not a middleware in front of Flask: hooks such as `before_request` and the session of
the request hold for it as for other views.
"""

from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any, Final

from flask import Flask, Response, request
from starlette.requests import Request
from werkzeug.wrappers import Response as BaseResponse

from horae.api.lazy import LazyInterface, Receive, Scope, Send
from horae.api.methods import DECLARED
from horae.api.security.actor import Actor, actor_of
from horae.contrib.behind_wsgi import EVENTS, NO_EVENTS, AsgiLoop

FOUND: Final = "horae.user"


def user_of_view(request: Request) -> Actor | None:
    """Return the user that the view has found: `authenticate` of the API."""
    found: Actor | None = request.scope.get(FOUND)
    return found


def mount(
    app: Flask,
    asgi: LazyInterface,
    path: str,
    user: Callable[[], Actor | str | None] | None,
    max_body: int,
) -> None:
    """Answer all requests below `path` by an ASGI application, on an event loop in a thread of its
    own.
    """
    loop = AsgiLoop()
    mounted_at = path.encode().decode("latin-1")  # as WSGI has it

    def answer(environ: Any, start_response: Any) -> Iterable[bytes]:
        found = None if user is None else actor_of(user(), "user= of init_app")

        async def with_user(scope: Scope, receive: Receive, send: Send) -> None:
            scope[FOUND] = found
            await asgi(scope, receive, send)

        return loop.answer(with_user, environ, start_response, max_body=max_body)

    def view(rest: str = "") -> BaseResponse:
        if f"/{rest}" == EVENTS:
            return Response(NO_EVENTS, 501, content_type="application/json")
        given, length = request.environ, request.content_length
        environ = {
            **given,
            "SCRIPT_NAME": f"{given.get('SCRIPT_NAME', '')}{mounted_at}",
            "PATH_INFO": given["PATH_INFO"].removeprefix(mounted_at),
            # A hook may have read the body, and Flask has kept it then.
            "wsgi.input": request.stream
            if length is None or length > max_body
            else BytesIO(request.get_data()),
        }
        return Response.from_app(answer, environ)

    for rule in (f"{path}/", f"{path}/<path:rest>"):
        app.add_url_rule(rule, "horae", view, methods=(*DECLARED, "HEAD", "OPTIONS"))
