"""Hints between the processes of one machine: datagrams on the loopback interface.

For SQLite, which has no notifications. A listening process has a socket and an announcement in a
directory beside the database; a process that only sends has neither. Nothing polls, and no query is
made.
"""

import contextlib
import errno
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from horae.forking import BuiltAnewInChild
from horae.guarded_log import guarded_log
from horae.wakeup.announcements import Announcement, Announcements
from horae.wakeup.channel import Hint, Listener, WakeupChannel
from horae.wakeup.listeners import Listeners
from horae.wakeup.outbox import Merged, Outbox
from horae.wakeup.payload import decode, encode

LOOPBACK: Final = "127.0.0.1"
"""Address of this machine alone, so that no other machine can send hints."""
LARGEST_DATAGRAM: Final = 1200
"""Bytes; every network interface carries that many without splitting the datagram."""
SEND_INTERVAL: Final = 0.005
"""Shortest time in seconds between two deliveries, so that hints of a busy process are merged."""
MOST_AT_ONCE: Final = 1000
"""Datagrams that are read before the listeners are called, so that a flood cannot delay them for
ever.
"""
CLOSE_WITHIN: Final = 5.0
"""Seconds that `close` waits for the receiving thread, which may be within a listener."""

_log = guarded_log(__name__)


class LocalChannel(BuiltAnewInChild):
    """A `WakeupChannel` for the processes that see the same directory on one machine."""

    listens = True

    def __init__(self, directory: Path) -> None:
        """Use this directory, which is made for the first listener and must not contain other
        files.
        """
        self._directory = Announcements(directory)
        self._lock = threading.Lock()
        self._closed = False
        self._warned = False
        self._listeners = Listeners()
        self._receiver: _Receiver | None = None
        self._sockets: dict[Announcement, socket.socket] = {}
        self._here = Outbox("horae-hints-here", self._listeners.call)
        self._outbox = Outbox("horae-hints-sender", self._transmit, interval=SEND_INTERVAL)

    @override
    def begin_in_child(self) -> None:
        """Begin again, without the copies of the parent's sockets: its port closes when it ends."""
        self._forget(*self._sockets)
        if self._receiver is not None:
            self._receiver.socket.close()
        super().begin_in_child()

    @property
    def connected(self) -> bool:
        """Return whether other processes can find this one.

        Writes its announcement again if that was removed.
        """
        receiver = self._receiver
        if receiver is None or not receiver.alive:
            return False
        if not self._directory.has(receiver.announcement):
            return self._announce(receiver.announcement)
        return True

    def send(self, hint: Hint) -> None:
        """Send the hint to all listeners on this machine soon, to those of this process first."""
        if self._listeners:
            self._here.put(hint)
        self._outbox.put(hint)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each hint, perhaps on two threads at once.

        Return a function that ends this.
        """
        remove = self._listeners.add(listener)
        with self._lock:
            if self._receiver is None and not self._closed:
                self._receiver = self._listen()
        return remove

    def close(self) -> None:
        """Send the waiting hints, then stop; the listeners are not called any more."""
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
        except (OSError, RuntimeError) as error:  # also if no thread can start
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

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            _log.warning(
                "cannot receive hints of other processes, so changes are noticed by polling: %s",
                error,
            )
        self._warned = True

    def _transmit(self, hints: Sequence[Hint]) -> None:
        receiver = self._receiver
        alive = self._directory.alive()
        self._forget(*(self._sockets.keys() - set(alive)))
        for announcement in alive:
            if receiver is None or announcement != receiver.announcement:
                self._send_to(announcement, hints)

    def _send_to(self, announcement: Announcement, hints: Sequence[Hint]) -> None:
        """Send to one listener.

        If its buffer is full the hint is lost; if its port is closed it is removed.
        """
        try:
            peer = self._sockets.get(announcement) or self._connect(announcement)
            for hint in hints:
                peer.send(encode(announcement.secret, hint, LARGEST_DATAGRAM).encode())
            refused = peer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED
        except ConnectionRefusedError:
            refused = True
        except OSError as error:
            _log.debug("lost a hint for process %d: %s", announcement.pid, error)
            refused = False
        if refused:
            self._directory.remove(announcement)
            self._forget(announcement)

    def _connect(self, announcement: Announcement) -> socket.socket:
        """Return a connected socket: only these report that nothing listens on the port any
        more.
        """
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
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._thread = threading.Thread(target=self._run, name="horae-hints-receiver", daemon=True)
        try:
            self.socket.bind((LOOPBACK, 0))
            self._address: tuple[str, int] = self.socket.getsockname()
            self.announcement = Announcement.of_this_process(self._address[1])
            self._thread.start()
        except BaseException:
            self.socket.close()
            raise

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        self._closing = True
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.sendto(b"", self._address)  # makes `recv` return
        if self._thread is not threading.current_thread():
            self._thread.join(CLOSE_WITHIN)

    def _run(self) -> None:
        with self.socket:
            while not self._closing:
                merged = Merged()
                for hint in self._receive():
                    merged.add(hint)
                if not self._closing:
                    self._listeners.call(merged.take())

    def _receive(self) -> Iterator[Hint]:
        """Wait for a datagram, then read all that have arrived: slow listeners get fewer hints, not
        late ones.
        """
        flags = 0
        for _ in range(MOST_AT_ONCE):
            try:
                datagram = self.socket.recv(2 * LARGEST_DATAGRAM, flags)
            except BlockingIOError:
                return
            found = decode(datagram.decode("ascii", "replace"))
            if found is not None and found[0] == self.announcement.secret:
                yield found[1]
            flags = socket.MSG_DONTWAIT


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = LocalChannel
