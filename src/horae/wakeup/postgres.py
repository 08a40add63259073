"""Hints through PostgreSQL's LISTEN and NOTIFY, on separate connections.

The commit of a transaction that notifies takes a lock of the whole server. So hints are merged,
sent at most every few milliseconds, and never within a transaction of the application. The first
one in a while rides in Horae's own insert (ADR 0070). A pooler in transaction
mode drops notifications without an error. So a connection counts as listening only after a
notification of another session has arrived; behind a pooler that was recognised, nothing listens.
NOTIFY also works through a pooler.
"""

import math
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import psycopg
from sqlalchemy import URL
from typing_extensions import override

from horae.guarded_log import guarded_log
from horae.receiving_thread import ReceivingThread
from horae.storage.engine import driver_arguments
from horae.storage.engine.connections import SERVICE_BOUNDS, ask, driver_arguments_for
from horae.wakeup.channel import ALL_KINDS, Hint, WakeupChannel
from horae.wakeup.payload import CHANNEL, decode, encode_all
from horae.wakeup.process_channel import ProcessChannel

APPLICATION_NAME: Final = "horae hints"

_log = guarded_log(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class PostgresTiming:
    """The timing of a channel, in seconds."""

    send_interval: float = 0.005
    """Shortest time between two notifications, because each takes a lock of the whole server."""
    piggyback_interval: float = 0.05
    """Shortest time between two statements that notify with their commit, for the same reason."""
    proof_within: float = 5.0
    """How long a test notification may take before the connection counts as deaf."""
    silence: float = 15.0
    """How long notifications may be absent before a query checks the connection."""
    answer_within: float = 5.0
    """How long the server may take to answer before the connection counts as lost."""
    close_within: float = 1.0
    """How long `close` waits for the listening thread, which otherwise ends by itself after
    connecting.
    """


class PostgresChannel(ProcessChannel["_Receiver"]):
    """A `WakeupChannel` for all processes on one PostgreSQL database."""

    def __init__(
        self,
        url: URL,
        *,
        listens: bool = True,
        database: URL | None = None,
        timing: PostgresTiming = PostgresTiming(),
    ) -> None:
        """Take a URL of SQLAlchemy; the first connection is made when it is needed.

        Without `listens` hints are only sent, and those of other processes do not arrive.
        `database`: another URL of the same database, by which other processes may send them.
        """
        self._timing = timing
        self._proof_options = _connection_options(database or url)
        self.listens = listens
        self._options = _connection_options(url)
        # A forked child needs its own tag; otherwise the parent would take its hints for its own.
        self._token = secrets.token_hex(8)
        self._sending: psycopg.Connection | None = None
        self._is_for_statements = database is None
        self._piggyback_from = -math.inf
        super().__init__(interval=timing.send_interval, on_end=self._disconnect)

    @property
    def connected(self) -> bool:
        """Return whether notifications of other sessions arrive, as a test has shown."""
        receiver = self._receiver
        return receiver is not None and receiver.proven

    @override
    def piggyback(self, hint: Hint) -> tuple[str, str] | None:
        """Return the notification of the first hint in a while: it arrives with the commit, and
        takes no thread and no transaction of its own.
        """
        now = time.monotonic()
        if now < self._piggyback_from or not self._is_for_statements:
            return None
        self._piggyback_from = now + self._timing.piggyback_interval
        [payload] = encode_all(self._token, [hint])
        return CHANNEL, payload

    @override
    def _listen(self) -> "_Receiver":
        return _Receiver(self._options, self._proof_options, self._timing, self._on_payloads)

    def _on_payloads(self, payloads: Iterable[str] | None) -> None:
        if payloads is None:
            self._pass_on(ALL_KINDS)
            return
        found = (decode(payload) for payload in payloads)
        # The server also returns the hints of this process, whose listeners have been called
        # already.
        self._pass_on(hint[1] for hint in found if hint and hint[0] != self._token)

    @override
    def _transmit(self, hints: Sequence[Hint]) -> None:
        payloads = encode_all(self._token, hints)
        if self._sending is not None:
            try:
                _notify(self._sending, payloads, self._timing.answer_within)
            except (psycopg.Error, OSError):
                # The connection may have ended meanwhile, so a new one is tried.
                self._disconnect()
            else:
                return
        self._sending = _connect(self._options)
        _notify(self._sending, payloads, self._timing.answer_within)

    def _disconnect(self) -> None:
        if self._sending is not None:
            self._sending.close()
        self._sending = None


class _Receiver(ReceivingThread):
    """The thread that listens, and reconnects for as long as it lives."""

    def __init__(
        self,
        options: dict[str, Any],
        proof_options: dict[str, Any],
        timing: PostgresTiming,
        on_payloads: Callable[[Iterable[str] | None], None],
    ) -> None:
        """Call `on_payloads` with payloads that arrive, and with None when the connection listens
        again.

        `proof_options`: of the connection that sends the test notification.
        """
        super().__init__(close_within=timing.close_within)
        self.proven = False
        self._options, self._proof_options = options, proof_options
        self._timing = timing
        self._on_payloads = on_payloads
        self.start("horae-hints-receiver")

    @override
    def _receive(self) -> None:
        # As a context manager a connection would send ROLLBACK after a question without an answer.
        with closing(_connect(self._options)) as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            try:
                self._prove(connection)
                self.proven, self._failures = True, 0
                self._on_payloads(None)
                while not self._closing:
                    self._on_payloads([notice.payload for notice in connection.notifies(timeout=0)])
                    if not self._wait(connection.fileno(), self._timing.silence):
                        ask(connection, "SELECT 1", (), self._timing.answer_within)
            finally:
                self.proven = False

    def _prove(self, connection: psycopg.Connection) -> None:
        """Notify this session from another one.

        What else arrives meanwhile is covered by `on_payloads(None)`.
        """
        proof = secrets.token_hex(8)
        with closing(_connect(self._proof_options)) as other:
            _notify(other, [proof], self._timing.answer_within)
        deadline = time.monotonic() + self._timing.proof_within
        while not self._closing and (left := deadline - time.monotonic()) > 0:
            if any(notice.payload == proof for notice in connection.notifies(timeout=0)):
                return
            self._wait(connection.fileno(), left)
        elsewhere = (
            ", or does hints_database name another database"
            if self._proof_options != self._options
            else ""
        )
        raise ConnectionError(
            f"notifications do not arrive; is there a pooler in between{elsewhere}?"
        )

    @override
    def _report(self, error: Exception) -> None:
        if not self._failures:
            _log.warning("cannot receive hints of other processes and keeps trying: %s", error)


def _connection_options(url: URL) -> dict[str, Any]:
    """Return the arguments of psycopg; those in the URL override our own."""
    return {
        "application_name": APPLICATION_NAME,
        **driver_arguments_for(url, SERVICE_BOUNDS),
        **driver_arguments(url),
    }


def _connect(options: dict[str, Any]) -> psycopg.Connection:
    # Prepared statements are off: a pooler may use another server connection for each statement.
    return psycopg.connect(**options, autocommit=True, prepare_threshold=None)


def _notify(connection: psycopg.Connection, payloads: Sequence[str], within: float) -> None:
    numbers = range(2, len(payloads) + 2)
    ask(
        connection,
        f"SELECT {', '.join(f'pg_notify($1, ${number})' for number in numbers)}",
        (CHANNEL, *payloads),
        within,
    )


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = PostgresChannel
