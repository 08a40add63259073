"""Malformed requests that no ordinary client sends: each is answered, and none causes a server error."""

import asyncio
from typing import Final
from urllib.parse import quote

import httpx
import pytest

from horae import Horae
from horae.api.application import HttpInterface
from horae.api.serving.connections import Bounds
from horae.storage.engine.database import Database
from tests.api.clients import by_header, client_of, error_of
from tests.api.test_connections import connected, last_words, served

DIGITS: Final = "9" * 5000
NAME: Final = "a" * 256
PATHS: Final = (
    f"/{NAME}",
    f"/{NAME}/{NAME}",
    "/" + "a/" * 4000,
    f"/assets/{NAME}",
    "/%00",
    "/assets/%00",
    "/%ff%fe",
    "/%ed%a0%80",
    "/%",
    "/%zz",
    "/a%0d%0ab",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//",
    "/;/?#",
    "http://[/",
    "*",
    f"/api/jobs/{DIGITS}/",
    "/api/jobs/-1/",
    "/api/jobs/9223372036854775808/",
    "/api/jobs/1e3/",
    "/api/jobs/%00/",
    "/api/jobs/%D9%A3/",
    f"/api/jobs/?limit={DIGITS}",
    f"/api/jobs/?offset={DIGITS}&after={DIGITS}",
    f"/api/jobs/?job_ids={DIGITS}",
    "/api/jobs/?job_ids=1,,%00,x",
    f"/api/jobs/?schedule_id={DIGITS}",
    "/api/jobs/?types=%00&states=%ff&owner=%ed%a0%80&search=%00",
    "/api/jobs/?" + "&".join(["types=a"] * 1000),
    f"/api/schedules/{DIGITS}/",
    f"/api/schedules/1/ticks/?limit={DIGITS}&before={DIGITS}",
    "/api/schedules/1/ticks/?before=9999999999-01-01",
    "/api/schedules/?limit=NaN&enabled=%00",
    f"/api/deployments/{NAME}/",
    "/api/deployments/%00/",
    "/api/audit/?limit=-1&before=x&actor=%00",
    f"/api/audit/?before={DIGITS}",
    f"/api/overview/?minutes={DIGITS}",
    f"/api/session/link/{NAME}/",
    "/api/session/link/%ff%00/",
    "/metrics?x=%00",
    "/readyz?%00",
)
"""Paths for GET, HEAD, OPTIONS and POST."""

HEADERS: Final = (
    "Origin: http://[",
    "Origin: http://[::1",
    "Origin: null",
    "Origin: \xff",
    "Origin: http://\u2100".encode().decode("latin-1"),
    "Host: [",
    "Host: [::1",
    "Host: ]",
    "Host: localhost:99999999",
    "Host: localhost:abc",
    "Host: a@b@localhost",
    "Host: \xe2\x84\x80",
    "Host:",
    f"Host: {NAME}",
    "Cookie: =",
    "Cookie: ;;;=;a",
    "Cookie: horae_session=\xff; horae_session",
    'Cookie: a="\\400\\x"; b=%00',
    "Authorization: Bearer \xff",
    "Authorization: Bearer",
    "Authorization: Basic !!!!",
    f"Authorization: Bearer {NAME}",
    "Accept-Encoding: br;q=,gzip;q=\xff,;;",
    f"Range: bytes={DIGITS}-",
    "Range: bytes=5-2,--,-0",
    "If-Modified-Since: \xff",
    "If-None-Match: \xff",
    "Last-Event-ID: \xff",
    f"Last-Event-ID: {DIGITS}",
    "Content-Type: \xff; charset=\xff",
    "Content-Type: application/json; charset=nothing",
    f"Content-Length: {DIGITS}",
    "Content-Length: -1",
    "Transfer-Encoding: gzip",
    "Upgrade: websocket\r\nConnection: upgrade",
    "Expect: nothing",
    "X-Forwarded-For: \xff",
)

BODIES: Final = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"{",
    b"[]",
    b"null",
    b"NaN",
    b'{"token": "\\ud800"}',
    b'{"token": "\\u0000"}',
    b'{"token": NaN}',
    b'{"note": "\\ud800"}',
    b'{"note": "\\u0000"}',
    b'{"concurrency_limit": 1e999}',
    b'{"concurrency_limit": ' + DIGITS.encode() + b"}",
    b'{"a":' * 3000 + b"1" + b"}" * 3000,
    b"[" * 60_000,
)
CHANGES: Final = (
    "/api/session/",
    "/api/jobs/1/cancel/",
    "/api/jobs/types/rebuild_index/",
    "/api/jobs/types/public_export/",
    "/api/queues/a/pause/",
    "/api/queues/a/limit/",
    "/api/queues/%00/resume/",
    f"/api/queues/{NAME}/resume/",
    "/api/schedules/",
    "/api/schedules/1/run/",
    "/api/deployments/a/scale/",
)


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


def _requests() -> list[bytes]:
    """Each complete, on a connection of its own."""
    line = "{} {} HTTP/1.1\r\nx-who: root\r\nconnection: close\r\n"
    asked = [
        (line + "host: localhost\r\n\r\n").format(method, path).encode("latin-1")
        for path in PATHS
        for method in ("GET", "HEAD", "OPTIONS", "POST", "QUERY")
    ]
    for header in HEADERS:
        named = "" if header.lower().startswith("host") else "host: localhost\r\n"
        for method, path in (("GET", "/"), ("GET", "/api/jobs/"), ("POST", "/api/session/")):
            asked.append((line.format(method, path) + f"{named}{header}\r\n\r\n").encode("latin-1"))
    for path in CHANGES:
        head = line.format("POST", path) + "host: localhost\r\ncontent-type: application/json\r\n"
        asked += [f"{head}content-length: {len(body)}\r\n\r\n".encode() + body for body in BODIES]
    return asked


@pytest.mark.usefixtures("app")
async def test_no_odd_request_is_a_fault_of_the_server(horae: Horae) -> None:
    faults: list[tuple[bytes, bytes]] = []
    async with served(horae.asgi(by_header), Bounds(header=5, body=5)) as server:
        places = asyncio.Semaphore(8)

        async def ask(request: bytes) -> None:
            async with places:
                reader, writer = await connected(server, request)
                answer = await last_words(reader)
                writer.close()
            if not b"HTTP/1.1 200" <= answer[:12] < b"HTTP/1.1 500":
                faults.append((request[:200], answer[:300]))

        async with asyncio.TaskGroup() as group:
            for request in _requests():
                group.create_task(ask(request))
    assert not faults


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/", "GET, HEAD, OPTIONS"),
        ("/api/session/", "DELETE, GET, HEAD, OPTIONS, POST"),
        ("/api/jobs/1/", "DELETE, GET, HEAD, OPTIONS"),
        ("/api/schedules/1/", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("/api/queues/team/a/pause/", "OPTIONS, POST"),
        ("/api/session/link/key/", "GET, HEAD, OPTIONS, POST"),
        ("/healthz", "GET, HEAD, OPTIONS"),
    ],
)
async def test_a_wrong_method_is_answered_with_the_allowed_ones(
    app: HttpInterface, path: str, methods: str
) -> None:
    client = client_of(app, "root")
    refused, asked = await client.put(path), await client.options(path)
    assert error_of(refused) == (405, "ERROR_METHOD_NOT_ALLOWED")
    assert (refused.headers["allow"], asked.status_code, asked.headers["allow"]) == (
        methods,
        204,
        methods,
    )


async def test_a_schedule_may_be_put_by_its_name(app: HttpInterface) -> None:
    asked = await client_of(app, "root").options("/api/schedules/by-name/nightly/")
    assert (asked.status_code, asked.headers["allow"]) == (204, "OPTIONS, PUT")


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "DELETE"])
async def test_an_unknown_path_is_a_404_for_every_method(app: HttpInterface, method: str) -> None:
    assert (await client_of(app, "root").request(method, "/api/nothing/")).status_code == 404


async def test_a_path_without_its_slash_is_told_so(app: HttpInterface) -> None:
    client = client_of(app, "root")
    answers = [await client.get(path) for path in ("/api/jobs", "/api/job/", "/jobs.png")]
    told = ["end with a slash" in answer.text for answer in answers]
    assert told == [True, False, False]


@pytest.mark.parametrize(
    "path", ["/", "/api/jobs/", "/healthz", "/metrics", "/api/jobs/4711/", "/api/events/"]
)
async def test_head_is_get_without_the_body(app: HttpInterface, path: str) -> None:
    client = client_of(app, "root")
    head = await client.head(path)
    assert head.content == b""
    if path != "/api/events/":  # to get it would not end
        got: httpx.Response = await client.get(path)
        assert (head.status_code, head.headers["content-type"]) == (
            got.status_code,
            got.headers["content-type"],
        )


@pytest.mark.parametrize("name", ["team/a", "team/pause/", "/", "50%", "a b?c#d", "é"])
async def test_a_queue_of_any_name_is_reached(app: HttpInterface, name: str) -> None:
    client = client_of(app, "root")
    address = f"/api/queues/{quote(name, safe='')}"
    paused = (await client.post(f"{address}/pause/", json={"note": "full"})).json()
    limited = (await client.post(f"{address}/limit/", json={"concurrency_limit": 3})).json()
    resumed = (await client.post(f"{address}/resume/")).json()
    assert (paused["name"], paused["note"]) == (name, "full")
    assert (limited["concurrency_limit"], resumed["name"], resumed["paused"]) == (3, name, False)
