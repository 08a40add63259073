"""A client of the stream of events, inside the test's own process: the bytes as a browser would get them."""

import asyncio
import json
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from horae.api.application import HttpInterface
from tests.api.clients import WHO
from tests.harness.waiting import PATIENCE, Changes, until_after


@dataclass(frozen=True)
class Received:
    """One message."""

    name: str
    identity: str
    data: Any


@dataclass
class Stream:
    """What has come so far. While `open` is not set, the client accepts nothing."""

    status: int = 0
    text: str = ""
    seen: int = 0
    ended: bool = False
    open: asyncio.Event = field(default_factory=asyncio.Event)
    changes: Changes = field(default_factory=Changes)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Take what the application sends."""
        await self.open.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.text += message["body"].decode()
            self.ended = not message["more_body"]
        self.changes.notify()

    async def receive(self) -> MutableMapping[str, Any]:
        """Say nothing until the client goes."""
        await self.gone.wait()
        return {"type": "http.disconnect"}

    @property
    def messages(self) -> list[Received]:
        """All messages, without the beats."""
        blocks = [block for block in self.text.split("\n\n")[:-1] if not block.startswith(":")]
        return [_received(block) for block in blocks]

    async def next(self, name: str = "job") -> Received:
        """The next message of this name."""
        found: Received = await until_after(self.changes, lambda: self._unread(name))
        return found

    def _unread(self, name: str) -> Received | None:
        for message in self.messages[self.seen :]:
            self.seen += 1
            if message.name == name:
                return message
        return None

    async def until(self, change: str, job_id: int) -> Received:
        """The next time that this happens to the job."""
        while True:
            message = await self.next()
            if (message.data["change"], message.data["id"]) == (change, job_id):
                return message


@asynccontextmanager
async def listening(
    app: HttpInterface, who: str, last_event_id: str | None = None, *, slow: bool = False
) -> AsyncGenerator[Stream]:
    """A client that receives the stream inside the block."""
    stream = Stream()
    if not slow:
        stream.open.set()
    given = {
        WHO: who,
        "host": "localhost",
        "accept-encoding": "gzip, br",
        **({} if last_event_id is None else {"last-event-id": last_event_id}),
    }
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/api/events/",
        "raw_path": b"/api/events/",
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    async with asyncio.TaskGroup() as group:
        task = group.create_task(app(scope, stream.receive, stream.send))
        try:
            yield stream
        finally:
            stream.gone.set()
            stream.open.set()
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait([task])


def _received(block: str) -> Received:
    lines = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith("retry"))
    return Received(lines["event"], lines["id"], json.loads(lines["data"]))
