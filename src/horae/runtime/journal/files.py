"""Where the journals of a database's nodes are, and what those of dead nodes say."""

import fcntl
import logging
import os
import stat
import tempfile
import time
from array import array
from contextlib import suppress
from pathlib import Path
from typing import Final

from horae.domain.jobs.job import Claim, NodeId
from horae.runtime.journal.journal import HEADER, WIDTH, Journal, entry_of, header
from horae.runtime.timing import JournalTiming
from horae.storage.engine.database import Database, side_car_path
from horae.storage.engine.dialect import SQLITE
from horae.storage.engine.sqlite.file_modes import make_folder

SUFFIX: Final = ".begun"

log = logging.getLogger("horae.runtime")


class Journals:
    """The folder of journals: beside a SQLite file; on PostgreSQL a private one of this user on this machine."""

    def __init__(self, database: Database, timing: JournalTiming) -> None:
        self._timing = timing
        self._own = database.dialect == SQLITE
        self.folder = (
            side_car_path(database, "nodes") if self._own else Path(tempfile.gettempdir(), f"horae-{os.getuid()}")
        )

    def open(self, journal: Journal, node: NodeId) -> None:
        """Give a node's journal its file. Without one, all that the node holds when it dies counts as begun."""
        if not header():
            return  # nobody could tell whether the file was written before the machine was started
        try:
            self._open(journal, self._file(node))
        except OSError as error:
            log.warning("it will not be known which jobs a killed node %s had begun: %s", node, error)

    def close(self, journal: Journal, *, keep: bool) -> None:
        """Begin nothing more; the file is removed unless others may need it (`keep`), and its folder if nobody does."""
        journal.close(keep=keep)
        if not self._own:
            with suppress(OSError):  # another node's file is in it
                self.folder.rmdir()

    def sweep(self) -> None:
        """Remove files of which nobody has made use."""
        for file in self.folder.glob(f"*{SUFFIX}") if self._is_trusted() else ():
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > self._timing.stale and _is_unlocked(file):
                    file.unlink()

    def remove(self, node: NodeId) -> None:
        """Remove the file of a dead node whose jobs were dealt with."""
        if self._is_trusted():
            self._file(node).unlink(missing_ok=True)

    def begun_by(self, node: NodeId, patience: float = 0.0) -> "Begun":
        """What a dead node had begun. `patience`: seconds to wait for the last threads of its process."""
        if not self._is_trusted():  # what another user may have put there proves nothing, or hangs whoever opens it
            return Begun(None)
        deadline = time.monotonic() + patience
        while True:
            try:
                return _read(self._file(node))
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return Begun(None)  # its process lives, and may begin more
            except OSError:
                return Begun(None)
            time.sleep(self._timing.lock_pause)

    def _open(self, journal: Journal, file: Path) -> None:
        for _ in range(self._timing.tries):
            self._prepare()
            with suppress(FileNotFoundError):  # the last node to leave has just removed the folder
                journal.open(file)
                return
        raise FileNotFoundError(f"{self.folder} is removed again and again")

    def _prepare(self) -> None:
        if self._own:
            make_folder(self.folder)
        else:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._is_trusted():
            raise PermissionError(f"{self.folder} is not a folder of this user alone")

    def _is_trusted(self) -> bool:
        """Whether nobody else can have put anything there: others, too, may make a folder of that name in /tmp."""
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
    """What a node had begun when it died, as far as that is known."""

    def __init__(self, entries: frozenset[int] | None) -> None:
        self._entries = entries

    def may_include(self, claim: Claim) -> bool:
        """Whether the body of this claim may have begun."""
        return self._entries is None or not self._entries.isdisjoint((entry_of(claim), -entry_of(claim)))

    def has_succeeded(self, claim: Claim) -> bool:
        """Whether the body of this claim has returned, and had nothing to give."""
        return self._entries is not None and -entry_of(claim) in self._entries


def _read(file: Path) -> Begun:
    """The entries of a file whose writer is dead; raises OSError if it cannot be read, or the writer lives."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        if os.fstat(descriptor).st_uid != os.getuid():
            raise PermissionError(f"{file} is somebody else's")
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
