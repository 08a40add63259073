"""Check that the open files of a SQLite database are still the ones at their paths.

SQLite silently continues with a file that was moved or deleted: its writes are lost, or go to the
moved file, and a new connection creates an empty file at the path. The same holds for the
write-ahead log and its index beside the database: a process that then opens the database does not
see what the others write, and does not respect their locks.
"""

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from horae.errors import DatabaseUnavailable
from horae.storage.engine.sqlite.file_modes import make_file

COMPANIONS: Final = ("-wal", "-shm")
"""The suffixes of the write-ahead log and of its index."""
OPEN_FILES: Final = Path("/proc/self/fd")
"""The folder in which Linux lists the open files of this process."""
DELETED: Final = " (deleted)"
"""What Linux appends to the name of an open file that was deleted."""

Identity = tuple[int, int]


class DatabaseFile:
    """A database file, checked from the first connection on. Thread-safe."""

    def __init__(self, path: str, check_interval: float) -> None:
        self._check_interval = check_interval
        self._path = Path(path).absolute()
        self._identity: Identity | None = None
        # SQLite keeps the companions beside the target of a symbolic link.
        real = str(self._path.resolve())
        self._companions: dict[Path, Identity | None] = {
            Path(real + suffix): None for suffix in COMPANIONS
        }
        self._next_check = 0.0

    def make(self, *_: object) -> None:
        """Create the file, readable by its user only, before the first connection (a listener)."""
        if self._identity is None and not self._path.name.startswith("file:"):
            make_file(self._path)

    def note_opened(self, *_: object) -> None:
        """Remember the file that the first connection has opened (a listener of SQLAlchemy)."""
        if self._identity is None:
            self._identity = _identity_of(self._path)

    def check(self, *, now: bool = False) -> None:
        """Raise `DatabaseUnavailable` if the file is gone or was replaced.

        `now`: check again even if the last check was a moment ago. If the file is put back, later
        checks succeed.
        """
        moment = time.monotonic()
        if self._identity is None or (moment < self._next_check and not now):
            return
        if (found := _identity_of(self._path)) != self._identity:
            change = "was moved or deleted" if found is None else "was replaced by another one"
            raise DatabaseUnavailable(
                f"the database file {self._path}",
                f"it {change} while this process had it open: writes would be lost. Put the file"
                " back, or restart this process",
            )
        for file, known in self._companions.items():
            found = _identity_of(file)
            if found == known:
                continue
            # Only the last connection may remove a companion.
            if known is not None and _is_open_elsewhere(file, known):
                raise DatabaseUnavailable(
                    f"the database file {self._path}",
                    f"{file.name} was removed while this process had it open: a process that opens"
                    " the database now does not see its content, and may damage the database. End"
                    " every process that has the database open, this one included, before it is"
                    " opened again",
                )
            self._companions[file] = found
        self._next_check = moment + self._check_interval

    def forget_companions(self) -> None:
        """Stop checking companions: a forked child seems to have its parent's files open."""
        self._companions = {}


def _identity_of(file: Path) -> Identity | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_open_elsewhere(file: Path, identity: Identity) -> bool:
    """Return whether the file is open under another path; False if the system cannot tell.

    The inode number alone does not prove it, because the system soon reuses it for another file.
    """
    try:
        descriptors = list(OPEN_FILES.iterdir())
    except OSError:
        return False
    for descriptor in descriptors:
        with suppress(OSError):  # the descriptor of the listing itself is closed by now
            place = descriptor.readlink()
            elsewhere = place != file and place.name.removesuffix(DELETED) == file.name
            if elsewhere and _identity_of(descriptor) == identity:
                return True
    return False
