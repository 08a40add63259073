"""Who may read and write the files that Horae makes, whatever the umask is.

A new database is its user's alone. What is kept beside a database is for those who may read and write the database: so
a team shares all of it by giving the database to its group.
"""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600


def make_file(file: Path, mode: int = PRIVATE) -> None:
    """Make an empty file unless there is one; where that cannot be, whoever opens it says why.

    It is never opened by its own name: to close a file gives up the locks that SQLite has on it in this process.
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
    """Make the folder of a side-car unless there is one."""
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        return
    mode = mode_beside(folder)
    folder.chmod(mode | (mode & 0o444) >> 2)


def mode_beside(side_car: Path) -> int:
    """The mode of a file `<database>-<name>`: for those who may read and write the database, and always its user."""
    database = Path(str(side_car).rpartition("-")[0])
    try:
        found = stat.S_IMODE(database.stat().st_mode)
    except OSError:
        return PRIVATE
    return PRIVATE | sum(both for both in (0o060, 0o006) if found & both == both)
