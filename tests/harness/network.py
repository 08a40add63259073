"""A proxy between a client and a PostgreSQL server that simulates network faults.

It can be silent, refuse and reset connections, and lose the answer to a commit that the server has made.
"""

import selectors
import socket
import struct
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self

from tests.harness.postgres_protocol import Commit, Dialogue

CHUNK: Final = 65_536
RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER with zero seconds: closing the socket resets the connection


class Network:
    """Forwards the bytes of both sides, on a port of its own."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener: socket.socket | None = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._passing = threading.Event()
        self._passing.set()
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
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended = True
        self._passing.set()
        self.refuse()
        self.cut()

    def silence(self) -> None:
        """Stop forwarding, without an error on either side; new connections are accepted and stay silent as well."""
        self._passing.clear()

    def resume(self) -> None:
        """Forward again, also the bytes that were sent meanwhile."""
        self._passing.set()
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
        dialogue, lost = Dialogue(client.getpeername()[1]), False
        with suppress(OSError, ValueError), selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while not self._ended:
                for key, _ in selector.select(0.05):
                    self._passing.wait()
                    source: socket.socket = key.fileobj  # type: ignore[assignment]
                    data = source.recv(CHUNK)
                    if not data:
                        return self._hang_up(client, server)
                    if source is client:
                        commits = dialogue.client_sent(data)
                        lost = lost or any(self._is_lost(commit) for commit in commits)
                    elif dialogue.server_sent(data) and lost:
                        return self._lose(client, server)
                    if source is client or not lost:
                        key.data.sendall(data)
        return self._hang_up(client, server)

    def _lose(self, client: socket.socket, server: socket.socket) -> None:
        self.lost += 1
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._hang_up(client, server)

    def _hang_up(self, *ends: socket.socket) -> None:
        with self._lock:
            self._sockets.difference_update(ends)
        for end in ends:
            end.close()
