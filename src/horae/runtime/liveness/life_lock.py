"""A file lock that a living node holds on SQLite; the node is gone if others can take it."""

import fcntl
import os
from pathlib import Path

from horae.storage.engine import mode_beside
from horae.storage.engine.connections import detach


class LifeLock:
    """The lock of this node's own file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def take(self) -> None:
        """Create the file and lock it; other processes lock it only for the moment of a check."""
        self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(
            self._descriptor, mode_beside(self._file.parent)
        )  # other users of the database need access to the file
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def release(self) -> None:
        """Release the lock, as the system does when a process ends."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def abandon(self) -> None:
        """In a forked child: close the copy of the descriptor; the parent keeps the lock."""
        if self._descriptor is not None:
            detach([self._descriptor])
