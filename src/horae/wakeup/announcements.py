"""The listeners on this machine: one empty file for each, whose name contains the address.

A name is `place-pid-port-secret`. The place identifies a machine, container or network namespace,
because process ids and loopback ports are only valid within one of them. Each datagram contains the
secret: a process that cannot read the directory cannot send hints, and a process that gets the port
of an earlier listener can be told apart from it.
"""

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from horae.storage.engine.sqlite.file_modes import PRIVATE, make_folder

TIMESTAMP_RESOLUTION: Final = 2_000_000_000
"""Nanoseconds within which a directory may change again without a new modification time."""

FOREIGN_LIFE: Final = 86_400.0
"""Seconds after which an announcement of another place is removed; a listener that is alive there
writes it again.
"""

PARTS: Final = 4
"""Parts of an announcement's file name."""
LARGEST_PORT: Final = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Announcement:
    """A listener, as read from the name of its file."""

    place: str
    pid: int
    port: int
    secret: str

    @classmethod
    def of_this_process(cls, port: int) -> Self:
        """Return a new announcement with a new secret."""
        return cls(this_place(), os.getpid(), port, secrets.token_hex(8))

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Parse the name of a file; return None if it is no announcement."""
        parts = name.split("-")
        if (
            len(parts) != PARTS
            or not name.isascii()
            or not (parts[1].isdecimal() and parts[2].isdecimal())
        ):
            return None
        pid, port = int(parts[1]), int(parts[2])
        return cls(parts[0], pid, port, parts[3]) if pid and 0 < port <= LARGEST_PORT else None

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"{self.place}-{self.pid}-{self.port}-{self.secret}"


class Announcements:
    """The directory of announcements, read again only when it has changed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._place = this_place()
        self._read_at_change: int | None = None
        self._known: tuple[Announcement, ...] = ()

    def add(self, announcement: Announcement) -> None:
        """Write an announcement; raises `OSError` if the directory cannot be written."""
        make_folder(self._directory)
        (self._directory / announcement.name).touch(mode=PRIVATE)

    def has(self, announcement: Announcement) -> bool:
        """Return whether the announcement still exists."""
        return (self._directory / announcement.name).exists()

    def remove(self, announcement: Announcement) -> None:
        """Remove an announcement: this process's own, or that of a listener that has ended."""
        with contextlib.suppress(OSError):
            (self._directory / announcement.name).unlink()

    def alive(self) -> list[Announcement]:
        """Return the listeners of this place whose process is alive, and remove the files of dead
        ones.
        """
        found: list[Announcement] = []
        for announcement in self._current():
            if _is_alive(announcement.pid):
                found.append(announcement)
            else:
                self.remove(announcement)
        return found

    def _current(self) -> tuple[Announcement, ...]:
        try:
            changed = self._directory.stat().st_mtime_ns
            if changed != self._read_at_change:
                now = time.time_ns()
                self._known = tuple(self._read())
                self._read_at_change = changed if now - changed > TIMESTAMP_RESOLUTION else None
        except OSError:  # no directory: there has never been a listener
            self._known, self._read_at_change = (), None
        return self._known

    def _read(self) -> Iterator[Announcement]:
        with os.scandir(self._directory) as entries:
            for entry in entries:
                announcement = Announcement.parse(entry.name)
                if announcement is not None and announcement.place == self._place:
                    yield announcement
                elif announcement is not None and _age(entry) > FOREIGN_LIFE:
                    self.remove(
                        announcement
                    )  # its process id means nothing here, so only its age counts


def this_place() -> str:
    """Return an identifier of the space in which process ids and loopback ports are valid; the same
    after a reboot.
    """
    parts: list[str] = []
    with contextlib.suppress(OSError):  # other systems than Linux have one place only
        parts.append(Path("/etc/machine-id").read_text(encoding="ascii"))
    for namespace in ("pid", "net"):
        with contextlib.suppress(OSError):
            parts.append(str(Path(f"/proc/self/ns/{namespace}").readlink()))
    return hashlib.blake2b("/".join(parts).encode(), digest_size=4).hexdigest()


def _age(entry: os.DirEntry[str]) -> float:
    try:
        return time.time() - entry.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True
