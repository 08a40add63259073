"""A proxy between a client and a PostgreSQL server that simulates network faults.

It can be silent, in one direction or both, slow, refuse and reset connections, break them in the middle of an answer, and
lose the answer to a commit that the server has made.
"""

import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from types import TracebackType
from typing import Final, Self

from tests.harness.postgres_protocol import Commit, Dialogue

REQUESTS: Final = "requests"
ANSWERS: Final = "answers"
CHUNK: Final = 65_536
RESET: Final = struct.pack(
    "ii", 1, 0
)  # SO_LINGER with zero seconds: closing the socket resets the connection


@dataclass
class _Link:
    """One connection through the network, and the bytes that are under way on it."""

    client: socket.socket
    server: socket.socket
    dialogue: Dialogue
    loses_answers: bool = False
    late: deque[tuple[float, socket.socket, bytes]] = field(
        default_factory=deque[tuple[float, socket.socket, bytes]]
    )

    def until_due(self) -> float:
        """Return the seconds until the next bytes are to be sent, at most a twentieth."""
        return max(min(self.late[0][0] - time.monotonic(), 0.05), 0.0) if self.late else 0.05

    def send_due(self) -> None:
        """Send the bytes whose delay is over."""
        while self.late and self.late[0][0] <= time.monotonic():
            _, target, data = self.late.popleft()
            target.sendall(data)


class Network:
    """Forwards the bytes of both sides, on a port of its own."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener: socket.socket | None = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._passing = {REQUESTS: threading.Event(), ANSWERS: threading.Event()}
        for passing in self._passing.values():
            passing.set()
        self.delay = 0.0
        """Seconds that bytes take in each direction."""
        self._is_reset: Callable[[], bool] = lambda: False
        self._is_broken: Callable[[], bool] = lambda: False
        self.resets = 0
        """Connections that were reset by `resetting` or `breaking`."""
        self._ended = False
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._is_lost: Callable[[Commit], bool] = lambda _: False
        self.lost = 0
        """Answers to commits that were lost."""

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended = True
        for passing in self._passing.values():
            passing.set()
        self.refuse()
        self.cut()

    def silence(self, *, requests: bool = True, answers: bool = True) -> None:
        """Stop forwarding, without an error on either side; new connections are accepted and stay silent as well.

        `requests`, `answers`: what is held back.
        """
        for direction, held in ((REQUESTS, requests), (ANSWERS, answers)):
            if held:
                self._passing[direction].clear()

    def resume(self) -> None:
        """Forward again, also the bytes that were sent meanwhile."""
        for passing in self._passing.values():
            passing.set()
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self.port))
            self._start(self._accept)

    def refuse(self) -> None:
        """Refuse new connections; existing ones are left as they are."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def cut(self) -> None:
        """Reset all connections, on both sides."""
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for end in sockets:
            with suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    @contextmanager
    def losing_answers(self, is_lost: Callable[[Commit], bool]) -> Generator[None]:
        """Lose the answers to commits for which the function returns true, and reset their connections.

        The server has committed by then. The function is called on the threads of the connections.
        """
        self._is_lost = is_lost
        try:
            yield
        finally:
            self._is_lost = lambda _: False

    @contextmanager
    def resetting(self, share: float, draw: Random) -> Generator[None]:
        """Reset the connection of a share of all requests: of half of them the server gets the request before."""
        self._is_reset = lambda: draw.random() < share
        try:
            yield
        finally:
            self._is_reset = lambda: False

    @contextmanager
    def breaking(self, share: float, draw: Random) -> Generator[None]:
        """Reset the connection in the middle of a share of all answers: the client has received half of the bytes."""
        self._is_broken = lambda: draw.random() < share
        try:
            yield
        finally:
            self._is_broken = lambda: False

    def _start(self, target: object, *args: object) -> None:
        assert callable(target)
        threading.Thread(target=target, args=args, daemon=True).start()

    def _accept(self) -> None:
        listener = self._listener
        assert listener is not None
        with suppress(OSError):
            while not self._ended:
                client, _ = listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._server_port))
                except OSError:
                    client.close()
                    continue
                with self._lock:
                    self._sockets |= {client, server}
                self._start(self._pass_on, client, server)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        link = _Link(client, server, Dialogue(client.getpeername()[1]))
        with suppress(OSError, ValueError), selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ)
            selector.register(server, selectors.EVENT_READ)
            while not self._ended and all(
                self._forward(link, key.fileobj is client)
                for key, _ in selector.select(link.until_due())
            ):
                link.send_due()
            link.send_due()
        self._hang_up(client, server)

    def _forward(self, link: _Link, is_request: bool) -> bool:
        """Take what has arrived from one side; return False if the connection is over."""
        passing = self._passing[REQUESTS if is_request else ANSWERS]
        if not passing.is_set():
            passing.wait(0.02)  # the other direction may pass
            return True
        data = (link.client if is_request else link.server).recv(CHUNK)
        if not data:
            return False
        return self._request(link, data) if is_request else self._answer(link, data)

    def _request(self, link: _Link, data: bytes) -> bool:
        commits = link.dialogue.client_sent(data)
        link.loses_answers = link.loses_answers or any(self._is_lost(commit) for commit in commits)
        if self._is_reset():
            self.resets += 1
            if self.resets % 2:
                link.server.sendall(data)
            return self._lose(link)
        link.late.append((time.monotonic() + self.delay, link.server, data))
        return True

    def _answer(self, link: _Link, data: bytes) -> bool:
        committed = link.dialogue.server_sent(data)
        if self._is_broken():
            self.resets += 1
            link.client.sendall(data[: len(data) // 2])
            return self._lose(link)
        if not link.loses_answers:
            link.late.append((time.monotonic() + self.delay, link.client, data))
        elif committed:
            self.lost += 1
            return self._lose(link)
        return True

    def _lose(self, link: _Link) -> bool:
        """Let the end of the connection be a reset for the client."""
        link.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        return False

    def _hang_up(self, *ends: socket.socket) -> None:
        with self._lock:
            self._sockets.difference_update(ends)
        for end in ends:
            end.close()
