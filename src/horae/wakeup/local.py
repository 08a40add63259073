"""Hints between the processes of one machine: datagrams on the loopback interface.

For SQLite, which cannot notify. Whoever listens has a socket and an announcement in a directory beside the database;
whoever only sends has neither. Nothing polls, and no query is made.
"""

import contextlib
import errno
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from horae.forking import ForkSafeLock, begins_anew_after_fork
from horae.wakeup.announcements import Announcement, Announcements
from horae.wakeup.channel import Hint, Listener, WakeupChannel
from horae.wakeup.listeners import Listeners
from horae.wakeup.outbox import Merged, Outbox
from horae.wakeup.payload import decode, encode

LOOPBACK: Final = "127.0.0.1"
LARGEST_DATAGRAM: Final = 1200
INTERVAL: Final = 0.005
MOST_AT_ONCE: Final = 1000

_log = logging.getLogger(__name__)


class LocalChannel:
    """A `WakeupChannel` for the processes that see the same directory on one machine."""

    def __init__(self, directory: Path) -> None:
        """`directory`: made when somebody listens; no other files belong in it."""
        self._directory = Announcements(directory)
        self._lock = ForkSafeLock()
        self._closed = False
        self._warned = False
        self._listeners = Listeners()
        self._receiver: _Receiver | None = None
        self._sockets: dict[Announcement, socket.socket] = {}
        self._here = Outbox("horae-hints-here", self._listeners.call)
        self._outbox = Outbox("horae-hints-sender", self._transmit, interval=INTERVAL)
        begins_anew_after_fork(self)

    def begin_anew(self) -> None:
        """After a fork: it was the parent that listened. Its sockets are left alone; only our copies are closed."""
        self._receiver = None
        self._forget(*self._sockets)

    @property
    def connected(self) -> bool:
        """Whether this process can be found; it announces itself again if its file was removed."""
        receiver = self._receiver
        if receiver is None or not receiver.alive:
            return False
        if not self._directory.has(receiver.announcement):
            return self._announce(receiver.announcement)
        return True

    def send(self, hint: Hint) -> None:
        """Tell everybody on this machine soon, this process first."""
        if self._listeners:
            self._here.put(hint)
        self._outbox.put(hint)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each hint, perhaps on two threads at once; the answer ends that."""
        remove = self._listeners.add(listener)
        with self._lock:
            if self._receiver is None and not self._closed:
                self._receiver = self._listen()
        return remove

    def close(self) -> None:
        """Send what waits, then stop; the listeners hear no more."""
        with self._lock:
            self._closed = True
            receiver, self._receiver = self._receiver, None
        if receiver is not None:
            self._directory.remove(receiver.announcement)
            receiver.close()
        self._here.close()
        if self._outbox.close():
            self._forget(*self._sockets)

    def _listen(self) -> "_Receiver | None":
        try:
            receiver = _Receiver(self._listeners)
        except OSError as error:
            self._warn(error)
            return None
        self._announce(receiver.announcement)
        return receiver

    def _announce(self, announcement: Announcement) -> bool:
        try:
            self._directory.add(announcement)
        except OSError as error:
            self._warn(error)
            return False
        return True

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            _log.warning("hints of other processes do not arrive: %s", error)
        self._warned = True

    def _transmit(self, hints: Sequence[Hint]) -> None:
        receiver = self._receiver
        alive = self._directory.alive()
        self._forget(*(self._sockets.keys() - set(alive)))
        for announcement in alive:
            if receiver is None or announcement != receiver.announcement:
                self._pass_on(announcement, hints)

    def _pass_on(self, announcement: Announcement, hints: Sequence[Hint]) -> None:
        """Send to one listener; a full buffer costs the hint, a closed port the announcement."""
        try:
            peer = self._sockets.get(announcement) or self._connect(announcement)
            for hint in hints:
                peer.send(encode(announcement.secret, hint, LARGEST_DATAGRAM).encode())
            refused = peer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED
        except ConnectionRefusedError:
            refused = True
        except OSError as error:
            _log.debug("a hint for process %d is lost: %s", announcement.pid, error)
            refused = False
        if refused:
            self._directory.remove(announcement)
            self._forget(announcement)

    def _connect(self, announcement: Announcement) -> socket.socket:
        """Make a connected socket: only that kind hears that nobody is there any more."""
        peer = self._sockets[announcement] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        peer.settimeout(0)
        peer.connect((LOOPBACK, announcement.port))
        return peer

    def _forget(self, *announcements: Announcement) -> None:
        for announcement in announcements:
            if (peer := self._sockets.pop(announcement, None)) is not None:
                peer.close()


class _Receiver:
    """A socket, and the thread that reads it and calls the listeners."""

    def __init__(self, listeners: Listeners) -> None:
        self._listeners = listeners
        self._closing = False
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._thread = threading.Thread(target=self._run, name="horae-hints-receiver", daemon=True)
        try:
            self._socket.bind((LOOPBACK, 0))
            self._address: tuple[str, int] = self._socket.getsockname()
            self.announcement = Announcement.of_this_process(self._address[1])
            self._thread.start()
        except BaseException:
            self._socket.close()
            raise

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def close(self, patience: float = 5.0) -> None:
        self._closing = True
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.sendto(b"", self._address)  # `recv` returns
        if self._thread is not threading.current_thread():
            self._thread.join(patience)

    def _run(self) -> None:
        with self._socket:
            while not self._closing:
                merged = Merged()
                for hint in self._waiting():
                    merged.add(hint)
                if not self._closing:
                    self._listeners.call(merged.take())

    def _waiting(self) -> Iterator[Hint]:
        """Wait for a datagram, then take all that have come: slow listeners get fewer hints, not late ones."""
        flags = 0
        for _ in range(MOST_AT_ONCE):
            try:
                datagram = self._socket.recv(2 * LARGEST_DATAGRAM, flags)
            except BlockingIOError:
                return
            found = decode(datagram.decode("ascii", "replace"))
            if found is not None and found[0] == self.announcement.secret:
                yield found[1]
            flags = socket.MSG_DONTWAIT


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = LocalChannel
