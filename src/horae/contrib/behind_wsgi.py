"""ASGI applications behind a WSGI server, for integrations with frameworks that have one.

A request is read before, and its response sent after, the application has dealt with it. So no
client can keep the application waiting, however slow it is and whenever it disconnects.
"""

import asyncio
import threading
from collections.abc import Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, Final

from horae.api.lazy import Scope
from horae.forking import BuiltAnewInChild

EVENTS: Final = "/api/events/"
NO_EVENTS: Final = (
    '{"error": "ERROR_NOT_IMPLEMENTED", "detail": "There are no event streams behind a WSGI server,'
    ' because each would occupy a worker; poll instead."}'
)
"""The answer to a request of events, with the status 501."""
MOST_DIGITS: Final = 18
"""Maximum number of digits of a content length; Python refuses to parse thousands of digits."""


class AsgiLoop(BuiltAnewInChild):
    """An event loop in a thread of its own, on which ASGI applications answer WSGI requests.

    It begins with the first request: servers fork after they have imported the application.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def answer(
        self, application: Any, environ: Any, start_response: Any, *, max_body: int
    ) -> Iterable[bytes]:
        """Answer a request by an ASGI application, as a WSGI application does.

        The application has to refuse a body of more than `max_body` bytes: it is not read to its
        end.
        """
        with self._lock:
            loop = self._loop = self._loop or _loop_in_thread()
        exchange = _Exchange(_body_of(environ, max_body))
        asyncio.run_coroutine_threadsafe(
            application(_scope_of(environ), exchange.receive, exchange.send), loop
        ).result()
        start_response(exchange.status, exchange.headers)
        return [b"".join(exchange.content)]


def _loop_in_thread() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    try:
        threading.Thread(target=loop.run_forever, name="horae-wsgi", daemon=True).start()
    except RuntimeError:  # no thread is left
        loop.close()
        raise
    return loop


class _Exchange:
    """A request whose body has been read, and the response that the application sends."""

    def __init__(self, body: bytes | None) -> None:
        """`body` is None if the client has disconnected before its end."""
        self._body = body
        self.status = ""
        self.headers: list[tuple[str, str]] = []
        self.content: list[bytes] = []

    async def receive(self) -> MutableMapping[str, Any]:
        """Return the whole body, and then that the client has disconnected."""
        body, self._body = self._body, None
        if body is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Keep a part of the response."""
        if message["type"] == "http.response.start":
            self.status = f"{message['status']} {HTTPStatus(message['status']).phrase}"
            self.headers = [
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in message["headers"]
            ]
        else:
            self.content.append(message.get("body", b""))


def _body_of(environ: Any, max_body: int) -> bytes | None:
    """Read the body; None if it is shorter than its length, as when the client has disconnected."""
    length = environ.get("CONTENT_LENGTH") or ""
    if not (length.isascii() and length.isdigit()):
        # A server that decodes chunks may not know the length before the end.
        return _read(environ, max_body + 1) if environ.get("wsgi.input_terminated") else b""
    if len(length) > MOST_DIGITS or int(length) > max_body:
        return b""  # the header is enough to refuse it
    body = _read(environ, int(length))
    return body if len(body) == int(length) else None


def _read(environ: Any, most: int) -> bytes:
    body = b""
    while piece := environ["wsgi.input"].read(most - len(body)):
        body += piece
    return body


def _scope_of(environ: Any) -> Scope:
    """Return the ASGI scope of a WSGI request, whose texts are bytes decoded as Latin-1."""
    root, port = _utf8(environ.get("SCRIPT_NAME", "")), environ.get("SERVER_PORT", "")
    headers = [
        (name.removeprefix("HTTP_").lower().replace("_", "-").encode(), value.encode("latin-1"))
        for name, value in environ.items()
        if name.startswith("HTTP_") or (name in ("CONTENT_TYPE", "CONTENT_LENGTH") and value)
    ]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": environ["REQUEST_METHOD"],
        "scheme": environ["wsgi.url_scheme"],
        "path": root + _utf8(environ.get("PATH_INFO", "")),
        "root_path": root,
        "query_string": environ.get("QUERY_STRING", "").encode("latin-1"),
        "headers": headers,
        # A server on a Unix socket has no port
        "server": (environ["SERVER_NAME"], int(port) if port.isdigit() else None),
        "client": (environ.get("REMOTE_ADDR", ""), 0),
    }


def _utf8(text: str) -> str:
    return text.encode("latin-1").decode(errors="replace")
