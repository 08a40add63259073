"""Who listens on this machine: one empty file for each listener, and its name says how to reach it.

A name is `place-pid-port-secret`. The place tells one machine, container or network namespace from another, because a
pid and a loopback port mean something in one of them only. The secret goes with every datagram: whoever cannot read the
directory cannot wake anybody, and a port that has got another owner hears nothing of use.
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

UNSETTLED: Final = 2_000_000_000
"""Nanoseconds in which a directory may change again without a new time stamp."""

FOREIGN_LIFE: Final = 86_400.0
"""Seconds after which an announcement of another place goes; a living listener there makes it again."""

PARTS: Final = 4


@dataclass(frozen=True, slots=True)
class Announcement:
    """A listener, as the name of its file tells it."""

    place: str
    pid: int
    port: int
    secret: str

    @classmethod
    def of_this_process(cls, port: int) -> Self:
        """Make a new one, with a secret of its own."""
        return cls(this_place(), os.getpid(), port, secrets.token_hex(8))

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """Read the name of a file; None if it is no announcement."""
        parts = name.split("-")
        if len(parts) != PARTS or not (parts[1].isdecimal() and parts[2].isdecimal()):
            return None
        return cls(parts[0], int(parts[1]), int(parts[2]), parts[3])

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.place}-{self.pid}-{self.port}-{self.secret}"


class Announcements:
    """The directory; read again only when it has changed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._place = this_place()
        self._read_at_change: int | None = None
        self._known: tuple[Announcement, ...] = ()

    def add(self, announcement: Announcement) -> None:
        """Announce a listener; raises `OSError` where the directory cannot be written."""
        make_folder(self._directory)
        (self._directory / announcement.name).touch(mode=PRIVATE)

    def has(self, announcement: Announcement) -> bool:
        """Whether the announcement is still there."""
        return (self._directory / announcement.name).exists()

    def remove(self, announcement: Announcement) -> None:
        """Take an announcement back, or that of a listener that is gone."""
        with contextlib.suppress(OSError):
            (self._directory / announcement.name).unlink()

    def alive(self) -> list[Announcement]:
        """All listeners of this place whose process runs; files of dead ones are removed."""
        found: list[Announcement] = []
        for announcement in self._current():
            if _runs(announcement.pid):
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
                self._read_at_change = changed if now - changed > UNSETTLED else None
        except OSError:  # no directory: nobody has ever listened
            self._known, self._read_at_change = (), None
        return self._known

    def _read(self) -> Iterator[Announcement]:
        with os.scandir(self._directory) as entries:
            for entry in entries:
                announcement = Announcement.parse(entry.name)
                if announcement is not None and announcement.place == self._place:
                    yield announcement
                elif announcement is not None and _age(entry) > FOREIGN_LIFE:
                    self.remove(announcement)  # nobody here can tell whether it lives


def this_place() -> str:
    """Where a pid and a loopback port mean what they mean here; the same after a reboot."""
    parts: list[str] = []
    with contextlib.suppress(OSError):  # off Linux there is one place only
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


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True
