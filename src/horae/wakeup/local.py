"""Hints between the processes of one user on one machine: datagrams on Unix sockets.

SQLite has no notifications, so it needs these. A listening process has a socket in a folder of its
user, named after the database; a process that only sends has none. Nothing polls, and no query is
made. Processes of other users, and containers that do not share the folder, are not reached: they
notice changes by polling.
"""

import contextlib
import math
import os
import secrets
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from horae.guarded_log import guarded_log
from horae.wakeup.channel import Hint, WakeupChannel
from horae.wakeup.outbox import Merged
from horae.wakeup.payload import decode, encode
from horae.wakeup.process_channel import ProcessChannel

LARGEST_DATAGRAM: Final = 1200
"""Number of bytes in a datagram; macOS carries 2,048 on a Unix socket, Linux more."""
DIRECT_INTERVAL: Final = 0.05
"""Shortest time in seconds between two hints that the thread of the caller delivers."""
TAG: Final = "horae"
"""The tag of each hint; this channel does not use it, but others do."""

_log = guarded_log(__name__)


class LocalChannel(ProcessChannel["_Receiver"]):
    """A `WakeupChannel` for the processes of one user that know a database by the same name."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        """`name`: the name of the database; `folder`: the folder of the sockets, by default this
        user's.
        """
        self._name = name
        self._given_folder = folder
        self._warned = False
        self._direct_from = -math.inf
        # The hints of a busy process are merged.
        super().__init__(interval=0.005)

    @override
    def begin_in_child(self) -> None:
        """Start again, without the copy of the parent's socket, which closes with the parent."""
        if self._receiver is not None:
            self._receiver.socket.close()
        super().begin_in_child()

    @property
    def connected(self) -> bool:
        """Return whether other processes can find this one; listen again if the socket is gone."""
        receiver = self._receiver
        if receiver is None or not receiver.thread.is_alive():
            return False
        if not receiver.path.exists():
            receiver.close()
            with self._lock:
                if not self._closed:
                    self._receiver = self._listen()
        return self._receiver is not None

    @override
    def send(self, hint: Hint, *, piggybacked: bool = False) -> None:
        now = time.monotonic()
        if now < self._direct_from or self._closed:
            super().send(hint, piggybacked=piggybacked)
            return
        # The first hint in a while waits for no other thread: a datagram takes microseconds.
        self._direct_from = now + DIRECT_INTERVAL
        super().send(hint, piggybacked=True)
        self._transmit([hint])

    def _folder(self) -> Path:
        """Return the folder of the sockets. Raises `OSError` where there is no temporary folder."""
        # The path of a socket can have about a hundred characters; many database paths are longer.
        return self._given_folder or Path(tempfile.gettempdir(), f"horae-{os.getuid()}")

    @override
    def _listen(self) -> "_Receiver | None":
        try:
            folder = self._folder()
            folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
            _check_owner(folder)
            for path in _sockets_in(folder):  # some belong to databases that nobody uses any more
                _deliver(path, ())
            file = f"{self._name}-{os.getpid()}-{secrets.token_hex(4)}"
            return _Receiver(folder / file, self._pass_on)
        except (OSError, RuntimeError) as error:  # RuntimeError: no thread can start
            if not self._warned:
                _log.warning(
                    "cannot receive hints of other processes, so changes are noticed by polling:"
                    " %s",
                    error,
                )
            self._warned = True
            return None

    @override
    def _transmit(self, hints: Sequence[Hint]) -> None:
        own = None if self._receiver is None else self._receiver.path
        datagrams = [encode(TAG, hint, LARGEST_DATAGRAM).encode() for hint in hints]
        try:
            folder = self._folder()
            _check_owner(folder)
        except OSError:  # nobody has listened yet, or not for this user
            return
        for path in _sockets_in(folder):
            if path.name.startswith(f"{self._name}-") and path != own:
                _deliver(path, datagrams)


class _Receiver:
    """A socket, and the thread that reads it and calls the listeners."""

    def __init__(self, path: Path, pass_on: Callable[[Iterable[Hint]], None]) -> None:
        self.path = path
        self._pass_on = pass_on
        self._closing = False
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.thread = threading.Thread(target=self._run, name="horae-hints-receiver", daemon=True)
        try:
            self.socket.bind(str(path))
            self.thread.start()
        except (OSError, RuntimeError):
            self.socket.close()
            raise

    def close(self) -> None:
        """Stop listening, and wait for the listener that runs."""
        self._closing = True
        _deliver(self.path, [b""])  # makes `recv` return; `shutdown` does if the file is gone
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RD)
        self.path.unlink(missing_ok=True)
        if self.thread is not threading.current_thread():
            # It may be in a listener.
            self.thread.join(5.0)

    def _run(self) -> None:
        with self.socket:
            while not self._closing:
                # All that wait are merged: slow listeners get fewer hints, but no late ones.
                merged, flags = Merged(), 0
                with contextlib.suppress(BlockingIOError):
                    # A flood must not delay the listeners for long.
                    for _ in range(1000):
                        datagram = self.socket.recv(2 * LARGEST_DATAGRAM, flags)
                        if (found := decode(datagram.decode("ascii", "replace"))) is not None:
                            merged.add(found[1])
                        flags = socket.MSG_DONTWAIT
                if not self._closing:
                    self._pass_on(merged.take())


def _check_owner(folder: Path) -> None:
    """Raise `OSError` unless the folder is this user's alone."""
    found = folder.lstat()
    others = stat.S_IRWXG | stat.S_IRWXO
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & others:
        raise PermissionError(f"{folder} is not a folder of this user alone")


def _sockets_in(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(folder.iterdir())
    return []


def _deliver(path: Path, datagrams: Sequence[bytes]) -> None:
    """Send datagrams to a listener; remove the socket of one that has ended.

    If the buffer of the listener is full, or this process has no descriptor left, they are lost.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as peer:
            peer.settimeout(0)
            peer.connect(str(path))
            for datagram in datagrams:
                peer.send(datagram)
    except ConnectionRefusedError:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
    except OSError as error:
        _log.debug("lost a hint for %s: %s", path.name, error)


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = LocalChannel
