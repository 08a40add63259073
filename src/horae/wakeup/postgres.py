"""Hints through PostgreSQL's LISTEN and NOTIFY, on connections of their own.

A transaction that notifies takes a lock of the whole server when it commits. So hints are merged, sent at most every
few milliseconds, and never inside anybody's transaction. A pooler that lends its connections by the transaction
swallows notifications without an error. So a listening connection counts only once a notification from another session
has arrived; behind a pooler that is known as one, nothing listens. To notify works through a pooler, too.
"""

import logging
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Final

import psycopg
from sqlalchemy import URL

from horae.domain.backoff import retry_delay
from horae.forking import ForkSafeLock, begins_anew_after_fork
from horae.storage.engine.connections.timeouts import SERVICE_BOUNDS, ask
from horae.wakeup.channel import Hint, HintKind, Listener, WakeupChannel
from horae.wakeup.listeners import Listeners
from horae.wakeup.outbox import BACKOFF, Outbox
from horae.wakeup.payload import CHANNEL, LARGEST_PAYLOAD, decode, encode

INTERVAL: Final = 0.005
PROOF_TIMEOUT: Final = 5.0
ANYTHING: Final = tuple(Hint(kind) for kind in HintKind)
QUIET: Final = 15.0
PATIENCE: Final = 5.0
"""Seconds without a notification after which the connection is tried; for an answer of the server."""

CONNECTION_OPTIONS: Final = {**SERVICE_BOUNDS, "application_name": "horae hints"}

_of_the_parent: Final[list[object]] = []
_log = logging.getLogger(__name__)


class PostgresChannel:
    """A `WakeupChannel` for all processes on one PostgreSQL database."""

    def __init__(self, url: URL, *, listens: bool = True) -> None:
        """`url`: as for SQLAlchemy; the first connection is made when there is a need.

        Without `listens` hints are only sent, and those of other processes do not arrive.
        """
        self._listens = listens
        self._options = _connection_options(url)
        self._token = secrets.token_hex(8)
        self._lock = ForkSafeLock()
        self._closed = False
        self._listeners = Listeners()
        self._receiver: _Receiver | None = None
        self._sending: psycopg.Connection | None = None
        self._here = Outbox("horae-hints-here", self._listeners.call)
        self._outbox = Outbox("horae-hints-sender", self._transmit, interval=INTERVAL)
        begins_anew_after_fork(self)

    def begin_anew(self) -> None:
        """After a fork: it was the parent that listened, and the connection is the parent's, so it is not closed."""
        _of_the_parent.append(self._sending)
        self._receiver = self._sending = None

    @property
    def connected(self) -> bool:
        """Whether notifications of other sessions arrive: tried out, not assumed."""
        receiver = self._receiver
        return receiver is not None and receiver.proven

    def send(self, hint: Hint) -> None:
        """Tell every process soon, this one at once and only once."""
        if self._listeners:
            self._here.put(hint)
        self._outbox.put(hint)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each hint, perhaps on two threads at once; the answer ends that.

        Each time the server can be heard again, it is called once for every kind, without ids: while it was not
        heard, anything may have happened.
        """
        remove = self._listeners.add(listener)
        with self._lock:
            if self._listens and self._receiver is None and not self._closed:
                self._receiver = _Receiver(self._options, self._hear)
        return remove

    def close(self) -> None:
        """Send what waits, then stop; the listeners hear no more."""
        with self._lock:
            self._closed = True
            receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.close()
        self._here.close()
        if self._outbox.close():
            self._hang_up()

    def _hear(self, payloads: Iterable[str] | None) -> None:
        if payloads is None:
            self._listeners.call(ANYTHING)
            return
        found = (decode(payload) for payload in payloads)
        # The server sends our own hints back; our listeners have them already.
        self._listeners.call(hint[1] for hint in found if hint and hint[0] != self._token)

    def _transmit(self, hints: Sequence[Hint]) -> None:
        payloads = [encode(self._token, hint, LARGEST_PAYLOAD) for hint in hints]
        if self._sending is not None:
            try:
                _notify(self._sending, payloads)
            except (psycopg.Error, OSError):  # an old connection may have ended since; a new one tells
                self._hang_up()
            else:
                return
        self._sending = _connect(self._options)
        _notify(self._sending, payloads)

    def _hang_up(self) -> None:
        if self._sending is not None:
            self._sending.close()
        self._sending = None


class _Receiver:
    """The thread that listens, and connects again for ever."""

    def __init__(self, options: dict[str, Any], hear: Callable[[Iterable[str] | None], None]) -> None:
        """`hear` gets the payloads that came, and None when the server can be heard again."""
        self.proven = False
        self._options = options
        self._hear = hear
        self._closing = False
        self._failures = 0
        self._random = Random()  # noqa: S311 - spreads rivals, guards nothing
        self._bell, self._ear = socket.socketpair()  # rings once: to close
        self._thread = threading.Thread(target=self._run, name="horae-hints-receiver", daemon=True)
        self._thread.start()

    def close(self, patience: float = 10.0) -> None:
        self._closing = True
        self._bell.close()
        if self._thread is not threading.current_thread():
            self._thread.join(patience)

    def _run(self) -> None:
        with self._ear:
            while not self._closing:
                try:
                    self._listen()
                except (psycopg.Error, OSError, _NotProvenError) as error:
                    if not self._closing:
                        self._wait_after(error)

    def _listen(self) -> None:
        with _connect(self._options) as connection:
            connection.execute(f"LISTEN {CHANNEL}")
            try:
                self._prove(connection)
                self.proven, self._failures = True, 0
                self._hear(None)
                while not self._closing:
                    self._hear([notice.payload for notice in connection.notifies(timeout=0)])
                    if not self._wait(connection, QUIET):
                        ask(connection, "SELECT 1", (), PATIENCE)
            finally:
                self.proven = False

    def _prove(self, connection: psycopg.Connection) -> None:
        """Let another session notify this one; what else arrives meanwhile is covered by `hear(None)`."""
        proof = secrets.token_hex(8)
        with _connect(self._options) as other:
            _notify(other, [proof])
        deadline = time.monotonic() + PROOF_TIMEOUT
        while not self._closing and (left := deadline - time.monotonic()) > 0:
            if any(notice.payload == proof for notice in connection.notifies(timeout=0)):
                return
            self._wait(connection, left)
        raise _NotProvenError("notifications do not arrive; is there a pooler in between?")

    def _wait(self, connection: psycopg.Connection | None, seconds: float) -> bool:
        """Until something arrives, the bell rings, or the time is over, which is False."""
        with selectors.PollSelector() as selector:  # needs no descriptor, which may be what is lacking
            selector.register(self._ear, selectors.EVENT_READ)
            if connection is not None:
                selector.register(connection.fileno(), selectors.EVENT_READ)
            return bool(selector.select(seconds))

    def _wait_after(self, error: Exception) -> None:
        if not self._failures:
            _log.warning("hints of other processes do not arrive, until a retry helps: %s", error)
        self._failures += 1
        delay = retry_delay(self._failures, BACKOFF, self._random)
        self._wait(None, delay.total_seconds())


class _NotProvenError(Exception):
    """LISTEN was accepted, but no notification came."""


def _connection_options(url: URL) -> dict[str, Any]:
    """Return what psycopg needs; what the URL says goes before our own choice."""
    dialect = url.get_dialect()()
    options = dialect.create_connect_args(url)[1]
    return {**CONNECTION_OPTIONS, **options}


def _connect(options: dict[str, Any]) -> psycopg.Connection:
    # No prepared statements: a pooler may lend another server connection for each statement.
    return psycopg.connect(**options, autocommit=True, prepare_threshold=None)


def _notify(connection: psycopg.Connection, payloads: Sequence[str]) -> None:
    numbers = range(2, len(payloads) + 2)
    ask(
        connection,
        f"SELECT {', '.join(f'pg_notify($1, ${number})' for number in numbers)}",
        (CHANNEL, *payloads),
        PATIENCE,
    )


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = PostgresChannel
