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

from horae.domain.jobs import Claim, NodeId
from horae.guarded_log import guarded_log
from horae.runtime.journal.journal import HEADER, WIDTH, Journal, entry_of, header
from horae.runtime.timing import JournalTiming
from horae.storage.engine import Database, local_name_of, make_folder, side_car_path

SUFFIX: Final = ".begun"

log = guarded_log("horae.runtime")


class Journals:
    """The folder of one database's journals, next to its file or private to this user.

    A private folder is named for the database: nodes of another one, such as a copy, must not
    remove the journals.
    """

    def __init__(
        self, database: Database, timing: JournalTiming, directory: Path | None = None
    ) -> None:
        """`directory`: the parent of the private folder; None for the default."""
        self._database, self._timing, self._directory = database, timing, directory
        self._own = database.is_file and directory is None
        self.folder: Path | None = side_car_path(database, "nodes") if self._own else None
        """The folder, known once a journal was opened or `find_folder` was called."""

    def find_folder(self) -> Path:
        """Return the folder, which need not exist.

        Raises OSError if there is no place for temporary files.
        """
        if self.folder is None:
            directory = self._directory or Path(tempfile.gettempdir())
            self.folder = (
                directory.absolute() / f"horae-{os.getuid()}-{local_name_of(self._database)}"
            )
        return self.folder

    def open(self, journal: Journal, node: NodeId) -> None:
        """Create the file of a node's journal.

        Without one, all jobs of a dead node count as begun.
        """
        if not header():
            return  # a file from before a reboot could not be recognized
        try:
            folder = self.find_folder()
            for _ in range(self._timing.tries):
                if self._own:
                    make_folder(folder)
                else:
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                if self._trusted_folder() is None:
                    raise PermissionError(f"{folder} is not a folder of this user alone")
                with suppress(FileNotFoundError):  # the last node to leave may have removed it
                    journal.open(folder / f"{node}{SUFFIX}")
                    return
            raise FileNotFoundError(f"{folder} is removed repeatedly")
        except OSError as error:
            log.warning(
                "node %s keeps no journal of what has begun, so if it is killed, all of its jobs"
                " count as begun, and those in their last attempt fail: %s; set HORAE_JOURNAL_DIR"
                " to a folder that this user may write to",
                node,
                error,
            )

    def close(self, journal: Journal, *, keep: bool) -> None:
        """Close a journal; remove its file, unless others need it (`keep`), and an empty folder."""
        journal.close(keep=keep)
        if self.folder is not None and not self._own:
            with suppress(OSError):  # it may hold another node's file
                self.folder.rmdir()

    def sweep(self) -> None:
        """Remove old files that no node has removed."""
        if (folder := self._trusted_folder()) is None:
            return
        for file in folder.glob(f"*{SUFFIX}"):
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > self._timing.stale:
                    _remove_unlocked(file)

    def remove(self, node: NodeId) -> None:
        """Remove the file of a dead node after its jobs were rescued, unless its process still
        lives.

        A copied database lists the nodes of the original, which are not nodes of the copy.
        """
        if (folder := self._trusted_folder()) is not None:
            with suppress(OSError):
                _remove_unlocked(folder / f"{node}{SUFFIX}")

    def shows(self, node: NodeId) -> bool:
        """Whether the file of a node is where this process looks for it."""
        folder = self._trusted_folder()
        return folder is not None and (folder / f"{node}{SUFFIX}").exists()

    def begun_by(self, node: NodeId, patience: float = 0.0) -> "Begun":
        """Return which bodies a dead node had begun.

        `patience`: seconds to wait for the last threads of its process.
        """
        folder = self._trusted_folder()
        if folder is None:  # a file of another user proves nothing, and opening it may hang
            return Begun(None)
        deadline = time.monotonic() + patience
        while True:
            try:
                return _read(folder / f"{node}{SUFFIX}")
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    return Begun(None)  # its process still runs, and may begin more bodies
            except OSError:
                return Begun(None)
            time.sleep(self._timing.lock_pause)

    def _trusted_folder(self) -> Path | None:
        """Return the folder if only this user can write there: anyone can make one in /tmp."""
        folder = self.folder
        if folder is None or self._own:
            return folder
        try:
            found = folder.lstat()
        except OSError:
            return None
        private = (
            stat.S_ISDIR(found.st_mode)
            and found.st_uid == os.getuid()
            and not found.st_mode & 0o077
        )
        return folder if private else None


class Begun:
    """Which bodies a dead node had begun, as far as that is known."""

    def __init__(self, entries: frozenset[int] | None) -> None:
        self._entries = entries

    def may_include(self, claim: Claim) -> bool:
        """Whether the body of this claim may have begun."""
        return self._entries is None or not self._entries.isdisjoint(
            (entry_of(claim), -entry_of(claim))
        )

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
    if (
        not expected
        or not content.startswith(expected)
        or (len(content) - HEADER) % WIDTH
        or len(content) < HEADER
    ):
        return Begun(None)
    return Begun(frozenset(array("q", content[HEADER:])))


def _remove_unlocked(file: Path) -> None:
    """Remove a file unless its writer still runs; raise OSError if it cannot be removed."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb"):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        file.unlink()
