"""Clients of the HTTP API: readers of lists and details, and event streams that come and go."""

import http.client
import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from random import Random
from typing import Final
from urllib.parse import urlsplit

from benchmarks.soak.calls import Calls, Worker, Workers

PATIENCE: Final = 15.0
"""Seconds that a client waits for a response: longer than a node is stopped."""
STREAM_PATIENCE: Final = 2.0
"""Seconds that a client of a stream waits for the next line, so that it leaves in time."""
PATHS: Final = (
    "/api/jobs/?limit=50",
    "/api/jobs/?states=failed",
    "/api/jobs/?states=started",
    "/api/schedules/",
    "/api/queues/",
    "/api/nodes/",
    "/api/overview/",
    "/api/deployments/",
    "/api/audit/",
    "/metrics",
    "/healthz",
)
SERVER_ERROR, UNAVAILABLE = 500, 503


class Clients(Workers):
    """Some readers and event clients, each on a thread of its own, on nodes that are chosen at random."""

    def __init__(
        self, urls: Callable[[], Sequence[str]], longest_stream: float, draw: Random, calls: Calls
    ) -> None:
        """`longest_stream`: seconds after which an event stream is left at the latest."""
        self._urls, self._longest_stream, self._calls = urls, longest_stream, calls
        workers: list[Worker] = []
        for number in range(2):
            reader, listener = Random(draw.random()), Random(draw.random())
            workers += [
                Worker(
                    f"reader {number}", self._step(self._read, reader), self._pause(reader), calls
                ),
                Worker(
                    f"stream {number}",
                    self._step(self._listen, listener),
                    self._pause(listener),
                    calls,
                ),
            ]
        self._workers = workers

    def _pause(self, draw: Random) -> Callable[[], float]:
        return lambda: draw.uniform(0.2, 0.8)

    def _step(self, act: Callable[[str, Random], None], draw: Random) -> Callable[[], None]:
        def step() -> None:
            urls = self._urls()
            if urls:
                try:
                    act(draw.choice(urls), draw)
                except (
                    OSError,
                    http.client.HTTPException,
                ) as error:  # the node was killed or is stopped
                    self._calls.refuse(f"http: {type(error).__name__}")

        return step

    def _read(self, url: str, draw: Random) -> None:
        """Read a random resource, and after a list of jobs one of these jobs with its attempts."""
        path = draw.choice(PATHS)
        body = self._get(url, path)
        if body is None or not path.startswith("/api/jobs/"):
            return
        jobs = json.loads(body)["jobs"]
        if jobs:
            job = draw.choice(jobs)["id"]
            self._get(url, f"/api/jobs/{job}/")
            self._get(url, f"/api/jobs/{job}/attempts/")

    def _get(self, url: str, path: str) -> bytes | None:
        with closing(_connection(url, PATIENCE)) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
        self._calls.count(f"http {response.status}")
        if response.status >= SERVER_ERROR and response.status != UNAVAILABLE:
            self._calls.report(f"GET {path}: {response.status} {body[:200]!r}")
        return body if response.status == http.client.OK else None

    def _listen(self, url: str, draw: Random) -> None:
        """Follow the event stream for some seconds, then leave without a word."""
        with closing(_connection(url, PATIENCE)) as connection:
            connection.request("GET", "/api/events/")
            stream, response = connection.sock, connection.getresponse()
            stream.settimeout(STREAM_PATIENCE)
            self._calls.count(f"stream {response.status}")
            until = time.monotonic() + draw.uniform(1.0, self._longest_stream)
            while response.status == http.client.OK and time.monotonic() < until:
                try:
                    line = response.readline()
                except TimeoutError:
                    break  # nothing has happened; the connection cannot be used any further
                if not line:
                    break
                if line.startswith(b"event:"):
                    self._calls.count("events")


def _connection(url: str, timeout: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    return http.client.HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=timeout)
