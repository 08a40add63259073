"""Whether the file that the connections of a SQLite database have open is still the one at its path.

SQLite goes on with a file that was moved or deleted, and says nothing: what it writes is lost, or is in a file that
nobody looks at, and a new connection makes an empty file in its place.
"""

import time
from pathlib import Path
from typing import Final

from horae.errors import Unavailable
from horae.storage.file_modes import make_file

LOOK_EVERY: Final = 0.1
"""Seconds: to look before every statement would cost a hundredth of an insert."""

Identity = tuple[int, int]


class DatabaseFile:
    """One file, from the first connection on. May be used by many threads."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).absolute()
        self._identity: Identity | None = None
        self._look_at = 0.0

    def make(self, *_: object) -> None:
        """A connection will be made (a listener of SQLAlchemy's event): a new file is its user's alone."""
        if self._identity is None and not self._path.name.startswith("file:"):
            make_file(self._path)

    def opened(self, *_: object) -> None:
        """A connection has been made (a listener of SQLAlchemy's event)."""
        if self._identity is None:
            self._identity = self._found()

    def check(self, *, now: bool = False) -> None:
        """Raise `Unavailable` if the file is gone or is another one; looks a moment ago count unless it is to be `now`.

        The file may be put back: then all goes on.
        """
        moment = time.monotonic()
        if self._identity is None or (moment < self._look_at and not now):
            return
        if (found := self._found()) != self._identity:
            became = "is gone" if found is None else "was replaced by another one"
            raise Unavailable(
                f"the database file {self._path} {became} while this process had it open: what would be written now "
                "would be lost. Put the file back, or restart this process"
            )
        self._look_at = moment + LOOK_EVERY

    def _found(self) -> Identity | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino
