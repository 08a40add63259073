"""A response that goes on: what a listener takes is sent, with a beat when there is nothing."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from horae.api.stream.event import BEAT
from horae.api.stream.hub import Hub
from horae.api.stream.listener import Listener
from horae.api.stream.stream_limit import StreamLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTiming:
    """The times of one event stream, in seconds."""

    heartbeat: float = 15.0  # silence before a comment is sent; proxies close what is silent for half a minute
    send_limit: float = 20.0  # for a client to accept a message before it is disconnected
    close_limit: float = 1.0  # for a client to accept the end of the stream
    lifetime: float = 3600.0  # until the stream ends, so that the client authenticates again


class EventStream(Response):
    """Server-sent events for one listener, until it disconnects, falls behind or reaches its lifetime."""

    media_type = "text/event-stream"

    def __init__(
        self, hub: Hub, stream_limit: StreamLimit, timing: StreamTiming, listener: Listener, last_event_id: str | None
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._hub, self._stream_limit, self._timing = hub, stream_limit, timing
        self._listener, self._last_event_id = listener, last_event_id

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._stream_limit.taken_by(self._listener.actor.id):
            await self._stream(receive, send)

    async def _stream(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        self._hub.join(self._listener, self._last_event_id)
        try:
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(self._send(send))
                leaving = group.create_task(_until_gone(receive))
                await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
                sending.cancel()
                leaving.cancel()
        finally:
            self._hub.leave(self._listener)

    async def _send(self, send: Send) -> None:
        try:
            async with asyncio.timeout(self._timing.lifetime):
                while not self._listener.closed:
                    message = await self._listener.take(self._timing.heartbeat)
                    if not self._listener.closed:
                        await self._send_one(send, message or BEAT)
        except TimeoutError:  # too old, or too slow
            self._listener.close()
        with suppress(TimeoutError):
            await self._send_last(send)

    async def _send_last(self, send: Send) -> None:
        async with asyncio.timeout(self._timing.close_limit):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_one(self, send: Send, message: bytes) -> None:
        async with asyncio.timeout(self._timing.send_limit):
            await send({"type": "http.response.body", "body": message, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
