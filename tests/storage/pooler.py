"""A simulated pooler in transaction mode: notifications do not pass through it."""

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

NOTIFICATION: Final = b"A"


class Pooler:
    """Passes on all that a PostgreSQL server says, but for notifications while `swallows` is true."""

    def __init__(self, server_port: int) -> None:
        self.swallows = True
        self.connections = threading.Semaphore(0)
        """Released once for every connection of a client."""
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self._threads: list[threading.Thread] = []
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for end in self._sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in self._sockets:
            end.close()

    def _start(self, target: object, *args: object) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                self._sockets += [client, server]
                self._start(self._ask, client, server)
                self._start(self._answer, server, client)
                self.connections.release()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        """Message by message: a letter, and a length that counts itself."""
        with suppress(OSError), server.makefile("rb") as messages:
            while head := messages.read(5):
                kind, length = struct.unpack("!cI", head)
                message = head + messages.read(length - 4)
                if not (self.swallows and kind == NOTIFICATION):
                    client.sendall(message)
            client.shutdown(socket.SHUT_WR)
