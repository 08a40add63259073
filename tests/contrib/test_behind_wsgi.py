"""The HTTP API behind a WSGI server, whose requests have the odd forms that servers and clients give them."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from io import BytesIO
from typing import Any, Final
from urllib.parse import quote

import pytest
from flask import Flask, request
from flask.testing import FlaskClient
from starlette.requests import Request

from horae import Actor, Horae, Role
from horae.api.lazy import Receive, Scope, Send
from horae.contrib.behind_wsgi import AsgiLoop
from horae.contrib.flask import FlaskHorae
from horae.storage.engine import Database
from tests.harness.applications import url_of

pytestmark = pytest.mark.one_database

MAX_BODY: Final = 1024
ORIGIN: Final = "https://shop.example"
REQUEST: Final[Mapping[str, Any]] = {
    "REQUEST_METHOD": "GET",
    "PATH_INFO": "/api/jobs/",
    "HTTP_HOST": "localhost",
    "SERVER_NAME": "localhost",
    "SERVER_PORT": "80",
    "SERVER_PROTOCOL": "HTTP/1.1",
    "wsgi.url_scheme": "http",
    "wsgi.input": BytesIO(),
}
START: Final[Mapping[str, Any]] = {
    "REQUEST_METHOD": "POST",
    "PATH_INFO": "/api/jobs/types/greet/",
    "CONTENT_TYPE": "application/json",
}


class Server:
    """Asks as a WSGI server does."""

    def __init__(self, horae: Horae) -> None:
        self._loop, self._asgi = AsgiLoop(), horae.asgi(staff)

    def ask(self, body: bytes = b"", **changed: Any) -> tuple[str, Any]:
        environ = {**REQUEST, "wsgi.input": BytesIO(body), **changed}
        begun: list[str] = []
        answer = self._loop.answer(
            self._asgi, environ, lambda status, _headers: begun.append(status), max_body=MAX_BODY
        )
        return begun[0], json.loads(b"".join(answer))


def staff(_request: Request | None) -> Actor:
    return Actor("root", frozenset({Role.STAFF}))


@pytest.fixture
def server(database: Database) -> Iterator[Server]:
    with closing(Horae(url_of(database), max_body=MAX_BODY)) as horae:

        @horae.job(public=True)
        def greet(name: str = "") -> None: ...

        yield Server(horae)


def test_a_client_that_disconnects_in_its_body_keeps_no_worker(server: Server) -> None:
    status, told = server.ask(b"{}", **START, CONTENT_LENGTH="1000")
    assert (status, told["error"]) == ("400 Bad Request", "ERROR_REQUEST_BODY_VALIDATION")
    assert server.ask()[1]["jobs"] == []


@pytest.mark.parametrize(
    "given", [{"CONTENT_LENGTH": str(MAX_BODY + 1)}, {"wsgi.input_terminated": True}], ids=str
)
def test_a_body_is_read_up_to_the_limit(server: Server, given: Mapping[str, Any]) -> None:
    body = b'{"name": "%s"}' % (b"x" * 5 * MAX_BODY)
    stream = BytesIO(body)
    changed: dict[str, Any] = {**START, **given, "wsgi.input": stream}
    status, _ = server.ask(b"", **changed)
    assert status.startswith("413 ")
    assert stream.tell() <= MAX_BODY + 1


def test_a_body_in_chunks_needs_no_length(server: Server) -> None:
    status, _ = server.ask(b'{"name": "ann"}', **START, **{"wsgi.input_terminated": True})
    assert status == "202 Accepted"


@pytest.mark.parametrize(
    "odd",
    [
        {"SERVER_PORT": ""},  # on a Unix socket
        {"SERVER_PROTOCOL": "HTTP"},
        {"QUERY_STRING": "owner=\xe9"},
        {"CONTENT_LENGTH": "", "CONTENT_TYPE": ""},
        {"CONTENT_LENGTH": "many"},
    ],
    ids=str,
)
def test_odd_requests_are_answered(server: Server, odd: Mapping[str, Any]) -> None:
    assert server.ask(**odd) == ("200 OK", {"jobs": [], "next": None})


def test_a_path_that_is_no_utf_8_is_answered(server: Server) -> None:
    assert server.ask(PATH_INFO="/api/\xff/")[0] == "404 Not Found"


def test_an_application_ends_although_nobody_reads_its_answer() -> None:
    """As Flask does for HEAD, and servers whose client has disconnected."""
    ended: list[bool] = []

    async def application(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello"})
        ended.append(True)

    answer = AsgiLoop().answer(application, REQUEST, lambda *_: None, max_body=MAX_BODY)
    next(iter(answer))
    assert ended == [True]


def test_a_request_without_a_thread_fails_and_the_next_one_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def application(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello"})

    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    loop = AsgiLoop()
    with monkeypatch.context() as exhausted:
        exhausted.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="new thread"):
            loop.answer(application, REQUEST, lambda *_: None, max_body=MAX_BODY)
    [answer] = loop.answer(application, REQUEST, lambda *_: None, max_body=MAX_BODY)
    assert answer == b"hello"


def flask_client(horae: FlaskHorae, path: str = "/tasks") -> FlaskClient:
    app = Flask("shop")
    horae.init_app(app, user=lambda: staff(None), path=path)
    return app.test_client()


@pytest.fixture
def flask(database: Database) -> Iterator[FlaskHorae]:
    with closing(FlaskHorae(url_of(database), trusted_origins=(ORIGIN,))) as horae:
        yield horae


def test_a_hook_of_flask_may_have_read_the_body(flask: FlaskHorae) -> None:
    @flask.job(public=True)
    def export(table: int) -> None: ...

    client, read = flask_client(flask), list[bytes]()
    client.application.before_request(lambda: read.append(request.get_data()))
    started = client.post("/tasks/api/jobs/types/export/", json={"table": 7})
    assert (started.status_code, read) == (202, [b'{"table": 7}'])


@pytest.mark.parametrize("path", ["/tasks", "/b\xfcro"])
@pytest.mark.parametrize("name", ["caf\xe9", "\u65e5\u672c", "a/b", "a//b"])
def test_a_path_under_flask_may_have_any_characters(
    flask: FlaskHorae, path: str, name: str
) -> None:
    asked = f"{path}/api/queues/{quote(name, safe='')}/pause/"
    assert flask_client(flask, path).post(asked, json={}).get_json()["name"] == name


def test_pages_of_other_sites_may_ask_flask_what_is_allowed(flask: FlaskHorae) -> None:
    asked = {"origin": ORIGIN, "access-control-request-method": "POST"}
    told = flask_client(flask).options("/tasks/api/jobs/", headers=asked)
    assert told.headers["access-control-allow-origin"] == ORIGIN
