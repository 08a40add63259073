"""Set the access modes of the files that Horae creates, whatever the umask is.

A new database is readable by its user only. The files beside a database have the same readers and
writers as the database, so a team shares all of them by giving the database to its group.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600


def make_file(file: Path, mode: int = PRIVATE) -> None:
    """Create an empty file unless it exists; if that fails, opening the file reports the reason.

    The file is never opened under its own name: closing it would release the locks that SQLite
    holds on it in this process.
    """
    with suppress(OSError):
        if file.exists():
            return
        descriptor, temporary = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
        try:
            os.fchmod(descriptor, mode)
            os.close(descriptor)
            os.link(temporary, file)
        finally:
            Path(temporary).unlink()


def make_folder(folder: Path) -> None:
    """Create the folder of a side-car unless it exists."""
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        return
    mode = mode_beside(folder)
    folder.chmod(mode | (mode & 0o444) >> 2)


def mode_beside(side_car: Path) -> int:
    """Return the mode of a file `<database>-<name>`: group and others as for the database."""
    database = Path(str(side_car).rpartition("-")[0])
    try:
        database_mode = stat.S_IMODE(database.stat().st_mode)
    except OSError:
        return PRIVATE
    return PRIVATE | sum(both for both in (0o060, 0o006) if database_mode & both == both)
