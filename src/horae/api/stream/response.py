"""The response of an event stream: the messages of a listener, and heartbeats in between."""

import asyncio
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from horae.api.stream.event import HEARTBEAT
from horae.api.stream.hub import Hub
from horae.api.stream.listener import StreamListener
from horae.api.stream.stream_limit import StreamLimit
from horae.api.stream.timing import StreamTiming


class EventStream(Response):
    """Server-sent events for one listener, until it disconnects, falls behind or has lived too
    long.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        hub: Hub,
        stream_limit: StreamLimit,
        timing: StreamTiming,
        listener: StreamListener,
        last_event_id: str | None,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._hub, self._stream_limit, self._timing = hub, stream_limit, timing
        self._listener, self._last_event_id = listener, last_event_id

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._stream_limit.taken_by(self._listener.actor.id):
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            self._hub.join(self._listener, self._last_event_id)
            try:
                async with asyncio.TaskGroup() as group:
                    sending = group.create_task(self._send_messages(send))
                    disconnected = group.create_task(_until_disconnected(receive))
                    await asyncio.wait((sending, disconnected), return_when=asyncio.FIRST_COMPLETED)
                    sending.cancel()
                    disconnected.cancel()
            finally:
                self._hub.leave(self._listener)

    async def _send_messages(self, send: Send) -> None:
        try:
            async with asyncio.timeout(self._timing.lifetime):
                while not self._listener.closed:
                    body = await self._listener.take(self._timing.heartbeat) or HEARTBEAT
                    if not self._listener.closed:
                        async with asyncio.timeout(self._timing.send_limit):
                            await send(
                                {"type": "http.response.body", "body": body, "more_body": True}
                            )
        except TimeoutError:  # the stream is too old, or its client too slow
            self._listener.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timing.close_limit):
                await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
