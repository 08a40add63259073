"""Limits of connections to the server: their number, and how long each may take to send and receive."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from horae import Horae
from horae.api.lazy import LazyInterface, Receive, Scope, Send
from horae.api.serving.connections import Bounds
from horae.api.serving.log_throttle import REPEATED, Throttle
from horae.api.serving.server import HttpServer
from horae.api.stream.event import Event
from horae.api.stream.listener import StreamListener
from horae.api.stream.timing import ListenerLimits
from horae.storage.engine.database import Database
from tests.api.clients import PEOPLE, WHO, by_header, error_of
from tests.harness.applications import application
from tests.harness.nodes import until

FEW = Bounds(connections=8)
SHORT = Bounds(header=0.2, body=0.2, writing=0.2)
HEADER = b"GET / HTTP/1.1\r\nhost: localhost\r\n"
BODY = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n{"
ANSWER = b"x" * 32 * 1024 * 1024


class Answers:
    """An application that answers at once, or `GET /slow` when it is let, or `GET /large` with more than is taken."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.asked = asyncio.Semaphore(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            self.asked.release()
            await self.let_go.wait()
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        body = ANSWER if scope["path"] == "/large" else b"yes"
        await send({"type": "http.response.body", "body": body})

    def entrance(self) -> str:
        return ""

    def close(self) -> None:
        """Nothing goes on in it."""


@asynccontextmanager
async def served(app: LazyInterface, bounds: Bounds) -> AsyncGenerator[HttpServer]:
    server, stop = HttpServer(app, "127.0.0.1", 0, bounds), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run(stop))
        try:
            yield server
        finally:
            stop.set()


def lazy(answers: Answers) -> LazyInterface:
    return LazyInterface(lambda: answers, lambda _host: None)


async def connected(
    server: HttpServer, sent: bytes = b""
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(server.url).port)
    writer.write(sent)
    return reader, writer


async def last_words(reader: asyncio.StreamReader) -> bytes:
    """What the server still says before it closes the connection."""
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    except ConnectionResetError:
        return b""


def client_of(server: HttpServer) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, timeout=20)


@pytest.mark.parametrize(
    "sent", [b"", HEADER, BODY], ids=["nothing", "half a header", "half a body"]
)
async def test_idle_connections_block_no_client(sent: bytes) -> None:
    async with served(lazy(Answers()), FEW) as server:
        idle = [await connected(server, sent) for _ in range(4 * FEW.connections)]
        async with client_of(server) as client:
            assert (await client.get("")).text == "yes"
        # No more than there are places are left, and one of those was for the client that has asked.
        assert [await last_words(reader) for reader, _ in idle[: 3 * FEW.connections]] == [
            b""
        ] * 3 * FEW.connections
        for _, writer in idle:
            writer.close()


async def test_a_connection_with_a_pending_answer_stays_open() -> None:
    answers = Answers()
    async with served(lazy(answers), FEW) as server, client_of(server) as client:
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(client.get("slow")) for _ in range(FEW.connections)]
            for _ in asking:
                await answers.asked.acquire()
            reader, writer = await connected(server)
            assert (await last_words(reader)).startswith(b"HTTP/1.1 503")
            writer.close()
            answers.let_go.set()
        assert {each.result().text for each in asking} == {"yes"}


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        HEADER,
        BODY,
        b"\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n\r\n",
        b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n",
    ],
    ids=[
        "nothing",
        "half a header",
        "half a body",
        "an empty line",
        "an empty line later",
        "an answer not taken",
    ],
)
async def test_a_stalled_connection_is_closed(sent: bytes) -> None:
    async with served(lazy(Answers()), replace(SHORT, idle=3600.0)) as server:
        reader, writer = await connected(server, sent)
        if b"large" in sent:
            writer.transport.pause_reading()  # type: ignore[attr-defined] # of every socket
            await asyncio.sleep(1.0)
            writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert len(await last_words(reader)) < len(ANSWER)
        writer.close()


async def test_a_header_that_never_ends_is_refused() -> None:
    async with served(lazy(Answers()), Bounds()) as server:
        reader, writer = await connected(server, HEADER)
        for _ in range(40):
            writer.write(b"x: " + b"y" * 10_000 + b"\r\n")
        assert (await last_words(reader)).startswith((b"HTTP/1.1 400", b""))
        writer.close()


async def test_a_request_with_two_lengths_is_refused_and_its_connection_closed() -> None:
    smuggled = b"GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n"
    lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    async with served(lazy(Answers()), Bounds()) as server:
        reader, writer = await connected(
            server, b"POST / HTTP/1.1\r\nhost: a\r\n" + lengths + smuggled
        )
        answer = await last_words(reader)
        assert answer.startswith(b"HTTP/1.1 400")
        assert answer.count(b"HTTP/1.1") == 1
        writer.close()


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


async def test_streams_are_bounded_for_each_and_in_all(database: Database) -> None:
    with application(database, max_streams=3, max_streams_each=2) as horae:
        async with served(horae.asgi(by_header), Bounds()) as server, asyncio.TaskGroup() as group:
            streams = [Stream(server, who) for who in ("alice", "alice", "bob")]
            for stream in streams:
                group.create_task(stream.run())
                await stream.begun.wait()
            async with client_of(server) as client:

                async def refused(who: str) -> tuple[int, str]:
                    return error_of(await client.get("api/events/", headers={WHO: who}))

                assert (
                    await refused("alice")
                    == await refused("root")
                    == (429, "ERROR_TOO_MANY_STREAMS")
                )
                streams[0].over.set()
                await streams[0].ended.wait()
                await gone(horae, 2)
                again = Stream(server, "alice")
                group.create_task(again.run())
                await again.begun.wait()
            for stream in (*streams, again):
                stream.over.set()


class Stream:
    """A client that receives the stream until it ends."""

    def __init__(self, server: HttpServer, who: str) -> None:
        self.server, self.who = server, who
        self.begun, self.over, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        async with (
            client_of(self.server) as client,
            client.stream("GET", "api/events/", headers={WHO: self.who}) as response,
        ):
            assert response.status_code == 200
            self.begun.set()
            await self.over.wait()
        self.ended.set()


async def gone(horae: Horae, left: int) -> None:
    """Wait until no more listen."""
    made: Any = horae._interfaces[0].made  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # to look behind it
    await until(lambda: made.services.hub.listening <= left)


async def test_a_listener_too_many_bytes_behind_is_disconnected() -> None:
    listener = StreamListener(PEOPLE["alice"])
    large = Event(1, b"x" * (ListenerLimits().size // 2))
    listener.offer([large, large])
    assert not listener.closed
    assert len(await listener.take(1)) == ListenerLimits().size
    listener.offer([large])
    listener.offer([large, large])
    assert listener.closed


def test_repeated_client_errors_are_logged_at_intervals() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])

    def passes(message: str) -> bool:
        return throttle.filter(
            logging.LogRecord("asyncio", logging.ERROR, "", 0, message, None, None)
        )

    for beginning in REPEATED:
        assert [passes(f"{beginning}\nmore {number}") for number in range(3)] == [
            True,
            False,
            False,
        ]
    assert [passes("something else") for _ in range(3)] == [True, True, True]
    now[0] += 31
    assert passes(REPEATED[0])
