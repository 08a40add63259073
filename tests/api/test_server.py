"""The server inside a node's event loop: real sockets, real clients."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
import uvicorn

from horae import ConfigurationError, Horae
from horae.api.cached_value import CachedValue
from horae.api.lazy import LazyInterface
from horae.api.serving.server import HttpServer
from horae.storage.engine.database import Database
from tests.api.clients import WHO, by_header


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


async def test_the_server_stops_though_a_stream_is_open(horae: Horae) -> None:
    server, stop = HttpServer(horae.asgi(by_header), "127.0.0.1", 0), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run(stop))
        async with httpx.AsyncClient(
            base_url=server.url, headers={WHO: "alice"}, timeout=20
        ) as client:
            assert (await client.get("api/jobs/")).json() == {"jobs": [], "next": None}
            async with client.stream("GET", "api/events/") as response:
                lines = response.aiter_lines()
                assert response.headers["content-type"].startswith("text/event-stream")
                assert [await anext(lines), await anext(lines)] == ["retry: 2000", "event: hello"]
                job = horae.jobs.start("rebuild_index", owner="alice")
                told = [line async for line in _until(lines, 'data: {"id"')]
                assert json.loads(told[-1].removeprefix("data: "))["id"] == job.id
                stop.set()
                assert [line async for line in lines if line.startswith("event")] == []
        await running


async def _until(lines: AsyncIterator[str], start: str) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line.startswith(start):
            return


async def test_another_server_stops_though_a_stream_is_open(horae: Horae) -> None:
    """uvicorn waits for streams, and does not tell the application before they have ended."""
    listening = socket.create_server(("127.0.0.1", 0))
    host, port = listening.getsockname()
    server = uvicorn.Server(uvicorn.Config(horae.asgi(by_header), lifespan="off", log_config=None))
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(server.serve([listening]))
        async with (
            httpx.AsyncClient(
                base_url=f"http://{host}:{port}", headers={WHO: "alice"}, timeout=20
            ) as client,
            client.stream("GET", "/api/events/") as response,
        ):
            lines = response.aiter_lines()
            assert [await anext(lines), await anext(lines)] == ["retry: 2000", "event: hello"]
            server.should_exit = True
            assert [line async for line in lines if line.startswith("event")] == []


async def test_an_end_of_the_server_is_the_end_of_the_service(horae: Horae) -> None:
    server, stop = HttpServer(horae.asgi(by_header), "localhost", 0), asyncio.Event()
    ready = asyncio.Event()
    async with asyncio.timeout(20):
        async with asyncio.TaskGroup() as group:
            group.create_task(server.run(stop, ready.set))
            await ready.wait()
            stop.set()


def test_the_server_refuses_to_listen_publicly_without_users(horae: Horae) -> None:
    with pytest.raises(ConfigurationError, match="HORAE_TOKENS"):
        HttpServer(horae.asgi(), "0.0.0.0", 0)
    HttpServer(horae.asgi(by_header), "0.0.0.0", 0).close()


def test_a_port_that_is_taken_is_named(horae: Horae) -> None:
    first = HttpServer(horae.asgi(), "127.0.0.1", 0)
    port = int(first.url.rstrip("/").rpartition(":")[2])
    with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}"):
        HttpServer(horae.asgi(), "127.0.0.1", port)
    first.close()


async def test_it_is_made_at_the_first_request_so_that_types_declared_later_have_endpoints(
    horae: Horae,
) -> None:
    app = horae.asgi(by_header)

    @horae.job(public=True, name="declared_later")
    def later() -> None: ...

    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://localhost", headers={WHO: "bob"}
    ) as client:
        for content in (b"", b"{}"):
            response = await client.post(
                "/api/jobs/types/declared_later/",
                content=content,
                headers={"content-type": "application/json"},
            )
            assert response.status_code == 202
            horae.jobs.cancel(response.json()["id"])


def test_closing_the_application_ends_its_streams(horae: Horae) -> None:
    app = horae.asgi(by_header)
    assert isinstance(app, LazyInterface)
    made = app.made
    horae.close()
    assert app.made is not made


def test_a_costly_answer_is_made_seldom_and_for_a_share_of_the_time() -> None:
    now, made = [0.0], [0]

    def make() -> int:
        now[0] += 3.0
        made[0] += 1
        return made[0]

    once = CachedValue(make, 2.0, clock=lambda: now[0])
    assert (once.get(), once.get()) == (1, 1)
    now[0] += 29.9
    assert once.get() == 1
    now[0] += 0.2
    assert once.get() == 2
