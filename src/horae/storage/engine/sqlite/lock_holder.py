"""Find the process that holds the one write lock of a SQLite file, where the kernel can tell."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

WRITE_LOCK: Final = 120
"""The byte of the `-shm` file that a writer locks in WAL mode."""
_LOCKS: Final = Path("/proc/locks")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process.

    `born`: its start time, which distinguishes it from others with the same pid; `parent`: a pid.
    """

    pid: int
    name: str | None = None
    born: str | None = None
    parent: int | None = None

    @override
    def __str__(self) -> str:
        """Return the process in the form that helps an operator to find it."""
        return f"process {self.pid}" if self.name is None else f"process {self.pid} ({self.name})"


def write_lock_holder(database: str) -> Holder | None:
    """Return the process that holds the file's write lock; None if there is none, or unknown."""
    try:
        status = Path(f"{database}-shm").stat()
        locks = _LOCKS.read_text()
    except OSError:
        return None
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    pids = (_pid_of(line.split(), file) for line in locks.splitlines())
    return next((process(pid) for pid in pids if pid is not None), None)


def process(pid: int) -> Holder:
    """Return the name, start time and parent of a process, if it still exists."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return Holder(pid)
    before, _, after = text.rpartition(")")
    fields = after.split()
    return Holder(pid, before.partition("(")[2], fields[19], int(fields[1]))


def _pid_of(fields: list[str], file: str) -> int | None:
    """Return the pid in a line about a held write lock of the file; waiting locks have an arrow."""
    if fields[1:2] != ["POSIX"] or fields[3] != "WRITE" or fields[5] != file:
        return None
    first, last, pid = fields[6], fields[7], int(fields[4])
    covers = int(first) <= WRITE_LOCK and (last == "EOF" or int(last) >= WRITE_LOCK)
    # 0 stands for a process in a container that is not visible here.
    return pid if covers and pid > 0 else None
