"""Finds the journal files of a database's nodes, and reads those of dead nodes."""

import fcntl
import os
import stat
import tempfile
import time
from array import array
from contextlib import suppress
from pathlib import Path
from typing import Final

from horae.domain.jobs.job import Claim, NodeId
from horae.guarded_log import guarded_log
from horae.runtime.journal.journal import HEADER, WIDTH, Journal, entry_of, header
from horae.runtime.timing import JournalTiming
from horae.storage.engine.database import Database, side_car_path
from horae.storage.engine.dialect import SQLITE
from horae.storage.engine.sqlite.file_modes import make_folder

SUFFIX: Final = ".begun"

log = guarded_log("horae.runtime")


class Journals:
    """The folder of journals: beside the SQLite file, or for PostgreSQL a private folder of this user."""

    def __init__(self, database: Database, timing: JournalTiming) -> None:
        self._timing = timing
        self._own = database.dialect == SQLITE
        self.folder = (
            side_car_path(database, "nodes") if self._own else Path(tempfile.gettempdir(), f"horae-{os.getuid()}")
        )

    def open(self, journal: Journal, node: NodeId) -> None:
        """Create the file of a node's journal. Without one, all jobs of a dead node count as begun."""
        if not header():
            return  # a file from before a reboot could not be recognized
        try:
            self._open(journal, self._file(node))
        except OSError as error:
            log.warning("node %s has no journal, so if it is killed all of its jobs count as begun: %s", node, error)

    def close(self, journal: Journal, *, keep: bool) -> None:
        """Close a journal; remove its file unless others may need it (`keep`), and the folder if it is empty."""
        journal.close(keep=keep)
        if not self._own:
            with suppress(OSError):  # another node's file is in it
                self.folder.rmdir()

    def sweep(self) -> None:
        """Remove old files that no node has removed."""
        for file in self.folder.glob(f"*{SUFFIX}") if self._is_trusted() else ():
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > self._timing.stale and _is_unlocked(file):
                    file.unlink()

    def remove(self, node: NodeId) -> None:
        """Remove the file of a dead node after its jobs were rescued."""
        if self._is_trusted():
            self._file(node).unlink(missing_ok=True)

    def begun_by(self, node: NodeId, patience: float = 0.0) -> "Begun":
        """Return what a dead node had begun. `patience`: seconds to wait for the last threads of its process."""
        if not self._is_trusted():  # a file of another user proves nothing, and opening it may hang
            return Begun(None)
        deadline = time.monotonic() + patience
        while True:
            try:
                return _read(self._file(node))
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return Begun(None)  # its process still runs and may begin more
            except OSError:
                return Begun(None)
            time.sleep(self._timing.lock_pause)

    def _open(self, journal: Journal, file: Path) -> None:
        for _ in range(self._timing.tries):
            self._prepare()
            with suppress(FileNotFoundError):  # the last node to leave has just removed the folder
                journal.open(file)
                return
        raise FileNotFoundError(f"{self.folder} is removed repeatedly")

    def _prepare(self) -> None:
        if self._own:
            make_folder(self.folder)
        else:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._is_trusted():
            raise PermissionError(f"{self.folder} is not a folder of this user alone")

    def _is_trusted(self) -> bool:
        """Whether only this user can write there; any user can create a folder of that name in /tmp."""
        if self._own:
            return True
        try:
            found = self.folder.lstat()
        except OSError:
            return False
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077

    def _file(self, node: NodeId) -> Path:
        return self.folder / f"{node}{SUFFIX}"


class Begun:
    """Which bodies a dead node had begun, as far as that is known."""

    def __init__(self, entries: frozenset[int] | None) -> None:
        self._entries = entries

    def may_include(self, claim: Claim) -> bool:
        """Whether the body of this claim may have begun."""
        return self._entries is None or not self._entries.isdisjoint((entry_of(claim), -entry_of(claim)))

    def has_succeeded(self, claim: Claim) -> bool:
        """Whether the body of this claim has returned without a result."""
        return self._entries is not None and -entry_of(claim) in self._entries


def _read(file: Path) -> Begun:
    """Return the entries of a file; raise OSError if it cannot be read or its writer still runs."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        if os.fstat(descriptor).st_uid != os.getuid():
            raise PermissionError(f"{file} belongs to another user")
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        content = opened.read()
    expected = header()
    if not expected or not content.startswith(expected) or (len(content) - HEADER) % WIDTH or len(content) < HEADER:
        return Begun(None)
    return Begun(frozenset(array("q", content[HEADER:])))


def _is_unlocked(file: Path) -> bool:
    with file.open("rb") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
