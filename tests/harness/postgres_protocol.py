"""PostgreSQL's protocol, as far as a proxy must follow it to recognise requests to commit and the end of their answers.

A transaction is committed by a simple query `COMMIT`; a statement outside a transaction by the `Sync` after its
`Execute`, or as a simple query by itself.
"""

import struct
from dataclasses import dataclass
from typing import Final

HEADER: Final = struct.Struct("!ci")
LENGTH: Final = struct.Struct("!i")
REQUEST: Final = struct.Struct("!ii")
STARTUP: Final = 196_608
"""The code of a startup message: version 3.0 of the protocol. Requests for encryption have other codes."""
IDLE: Final = b"I"
"""The status of a session that is not in a transaction."""


@dataclass(frozen=True)
class Commit:
    """A request to commit, and the statements that it commits."""

    client_port: int
    statements: tuple[str, ...]


class Dialogue:
    """The messages of one connection, in both directions."""

    def __init__(self, client_port: int) -> None:
        self._client_port = client_port
        self._sent, self._received = bytearray(), bytearray()
        self._started = False
        self._single_bytes = 0
        """Answers of one byte to requests for encryption, which the server still owes."""
        self._status = IDLE
        self._prepared: dict[bytes, str] = {}
        self._statements: list[str] = []

    def client_sent(self, data: bytes) -> list[Commit]:
        """Return the requests to commit that these bytes complete."""
        self._sent += data
        while not self._started and self._take_request():
            pass
        found: list[Commit] = []
        while self._started and (message := _take(self._sent)) is not None:
            if self._commits(*message):
                found.append(Commit(self._client_port, tuple(self._statements)))
                self._statements = []
        return found

    def server_sent(self, data: bytes) -> bool:
        """Return whether these bytes complete the answer to a request."""
        self._received += data
        single = min(self._single_bytes, len(self._received))
        del self._received[:single]
        self._single_bytes -= single
        ready = False
        while (message := _take(self._received)) is not None:
            kind, body = message
            if kind == b"Z":
                self._status, ready = body, True
        return ready

    def _take_request(self) -> bool:
        if len(self._sent) < REQUEST.size:
            return False
        length, code = REQUEST.unpack_from(self._sent)
        if len(self._sent) < length:
            return False
        del self._sent[:length]
        self._started = code == STARTUP
        self._single_bytes += length == REQUEST.size
        return True

    def _commits(self, kind: bytes, body: bytes) -> bool:
        match kind:
            case b"Q":
                statement = body.rstrip(b"\0").decode()
                if statement.upper().startswith("COMMIT"):
                    return True
                self._statements = (
                    []
                    if statement.upper().startswith("ROLLBACK")
                    else [*self._statements, statement]
                )
                return self._status == IDLE and not statement.upper().startswith("BEGIN")
            case b"P":
                name, text, _ = body.split(b"\0", 2)
                self._prepared[name] = text.decode()
            case b"B":
                _, name, _ = body.split(b"\0", 2)
                self._statements.append(self._prepared.get(name, ""))
            case b"S":
                return self._status == IDLE and bool(self._statements)
            case _:
                pass
        return False


def _take(buffer: bytearray) -> tuple[bytes, bytes] | None:
    """Remove the first message from a buffer, and return its kind and body; None if it is not complete."""
    if len(buffer) < HEADER.size:
        return None
    kind, length = HEADER.unpack_from(buffer)
    end = 1 + length
    if len(buffer) < end:
        return None
    body = bytes(buffer[HEADER.size : end])
    del buffer[:end]
    return kind, body
