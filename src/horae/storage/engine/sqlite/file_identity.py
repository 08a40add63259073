"""Whether the files that the connections of a SQLite database have open are still the ones at their paths.

SQLite goes on with a file that was moved or deleted, and says nothing: what it writes is lost, or is in a file that
nobody looks at, and a new connection makes an empty file in its place. So it is with the write-ahead log and its index
beside the database: a process that opens the database then sees nothing of what the others write, and does not wait for
their locks.
"""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from horae.errors import Unavailable
from horae.storage.engine.sqlite.file_modes import make_file

LOOK_EVERY: Final = 0.1
"""Seconds: to look before every statement would cost a hundredth of an insert."""

COMPANIONS: Final = ("-wal", "-shm")
OPEN_HERE: Final = Path("/proc/self/fd")
GONE: Final = " (deleted)"

Identity = tuple[int, int]


class DatabaseFile:
    """One file, from the first connection on. May be used by many threads."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).absolute()
        self._identity: Identity | None = None
        real = str(self._path.resolve())  # beside which SQLite keeps them
        self._companions: dict[Path, Identity | None] = {Path(real + suffix): None for suffix in COMPANIONS}
        self._look_at = 0.0

    def make(self, *_: object) -> None:
        """A connection will be made (a listener of SQLAlchemy's event): a new file is its user's alone."""
        if self._identity is None and not self._path.name.startswith("file:"):
            make_file(self._path)

    def opened(self, *_: object) -> None:
        """A connection has been made (a listener of SQLAlchemy's event)."""
        if self._identity is None:
            self._identity = _identity_of(self._path)

    def check(self, *, now: bool = False) -> None:
        """Raise `Unavailable` if the file is gone or is another one; looks a moment ago count unless it is to be `now`.

        The file may be put back: then all goes on.
        """
        moment = time.monotonic()
        if self._identity is None or (moment < self._look_at and not now):
            return
        if (found := _identity_of(self._path)) != self._identity:
            became = "is gone" if found is None else "was replaced by another one"
            raise Unavailable(
                f"the database file {self._path} {became} while this process had it open: what would be written now "
                "would be lost. Put the file back, or restart this process"
            )
        self._check_companions()
        self._look_at = moment + LOOK_EVERY

    def begin_anew(self) -> None:
        """In a child of a fork, which has copies of the parent's descriptors: what these mean nobody here can tell."""
        self._companions = {}

    def _check_companions(self) -> None:
        """Raise if one of them was removed, and is still open here; the last connection removes them in good order."""
        for file, known in self._companions.items():
            found = _identity_of(file)
            if found == known:
                continue
            if known is not None and _is_open_elsewhere(file, known):
                raise Unavailable(
                    f"{file} was removed while this process had it open: who opens the database now sees nothing of "
                    "what is in it, and may damage the database. End every process that has the database open, this "
                    "one as well, before one opens it again"
                )
            self._companions[file] = found


def _identity_of(file: Path) -> Identity | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_open_elsewhere(file: Path, identity: Identity) -> bool:
    """Whether this process has that file open and its name leads elsewhere; False where the system does not tell.

    The number alone proves nothing, for the system soon gives it to another file.
    """
    try:
        names = os.listdir(OPEN_HERE)  # noqa: PTH208 - only the names are needed
    except OSError:
        return False
    for name in names:
        with suppress(OSError):  # as the descriptor of the listing itself, which is gone by now
            place = Path(os.readlink(OPEN_HERE / name))  # noqa: PTH115 - no link: a name that the system makes up
            elsewhere = place != file and place.name.removesuffix(GONE) == file.name
            if elsewhere and _identity_of(OPEN_HERE / name) == identity:
                return True
    return False
