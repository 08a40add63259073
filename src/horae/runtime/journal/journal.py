"""Records which jobs a node has begun, in a file that outlives the node when it is killed.

A claimed job has not necessarily begun, because a node claims more than its slots can run. So each
body is entered here before it begins, and its entry is removed after its result is committed. The
node that rescues the jobs of a dead node reads its file: a job that is not listed never began and
returns to the queue as if it had not been claimed; a body that is listed as returned has finished
its job (ADR 0011).

An entry is one aligned store of eight bytes into a mapped file. The operating system keeps the page
when the process is killed, but may lose it when the machine stops; so a file from before a reboot
proves nothing. Nor does a file whose writer may still run and begin jobs: a node holds a lock on
its file for as long as its process lives.
"""

import fcntl
import mmap
import os
import sys
import threading
from array import array
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from horae.domain.jobs import Claim, JobId
from horae.errors import LeaseLost
from horae.forking import BuiltAnewInChild

HEADER: Final = 4096
"""Bytes before the entries."""
WIDTH: Final = 8
"""Number of bytes of an entry."""
ID_BITS: Final = 48
"""Number of low bits of an entry for the job's id; the lease has the others below the sign bit."""
IDS: Final = (1 << ID_BITS) - 1
"""Mask of the bits of the id."""
LEASES: Final = 0x7FFF
"""Mask of the bits of the lease."""


class JournalUnavailable(Exception):
    """A child process cannot enter a claim, because of what an earlier body did to the process."""


def entry_of(claim: Claim) -> int:
    """Return a claim as a number that is never 0.

    Two claims with the same number would both count as begun.
    """
    return (claim.lease & LEASES) << ID_BITS | claim.id & IDS


def header() -> bytes:
    """Return the header of files written since the last boot; empty if boots look alike."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        return b""
    return b"horae begun 1 " + boot + b"\n"


class Journal(BuiltAnewInChild):
    """The bodies that one node has begun and whose results are not committed.

    Entries are only in memory until `open`. `begin` may be called from any thread; calls of all
    other methods must not overlap.
    """

    def __init__(self, slots: int = 8192) -> None:
        """`slots`: how many entries a new file has room for."""
        self.file: Path | None = None
        self._entries: Any = array("q", bytes(slots * WIDTH))
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self._unused = count()
        self._growing = threading.Lock()
        self._descriptors: list[int] = []
        self._closed = self._keeps_all = False

    def open(self, file: Path) -> None:
        """Keep the entries in a new file from now on; raises OSError if that is impossible."""
        for_lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._descriptors.append(for_lock)
        fcntl.flock(for_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A second descriptor, because a process that a body forks keeps the mapped file open, and
        # would keep the lock.
        self._descriptors.append(os.open(file, os.O_RDWR | os.O_CLOEXEC))
        os.pwrite(for_lock, header(), 0)
        self._entries = self._map_file(len(self._entries))
        self.file = file

    def begin(self, claim: Claim) -> None:
        """Enter a claim whose body begins now; raises `LeaseLost` if the node has ended."""
        slot = self.reserve(claim)
        self._entries[slot] = entry_of(claim)
        if self._closed:  # checked after the entry is made, so a later reader sees the entry
            raise LeaseLost

    def succeed(self, claim: Claim) -> None:
        """Enter that the body has returned without a result."""
        entry = entry_of(claim)
        slot = self._slots.get(entry)
        if slot is not None:
            self._entries[slot] = -entry

    def reserve(self, claim: Claim) -> int:
        """Return the position for a claim, which a child process enters by itself."""
        entry = entry_of(claim)
        if entry not in self._slots:
            try:
                self._slots[entry] = self._free.pop()
            except IndexError:
                self._slots[entry] = self._new_slot()
        return self._slots[entry]

    def end(self, claims: Iterable[Claim]) -> None:
        """Remove claims whose results are committed."""
        if self._keeps_all:
            return
        for claim in claims:
            slot = self._slots.pop(entry_of(claim), None)
            if slot is not None:
                self._entries[slot] = 0
                self._free.append(slot)

    def keep_all(self) -> None:
        """Remove no claim from now on: the node is dead to others, and cannot commit results.

        What it has claimed since they declared it dead is rescued later, by these entries.
        """
        self._keeps_all = True

    def __contains__(self, claim: Claim) -> bool:
        """Whether the body of this claim has begun."""
        return entry_of(claim) in self._slots

    @property
    def listed(self) -> list[JobId]:
        """The jobs of all claims that are entered."""
        return [JobId(entry & IDS) for entry in list(self._slots)]

    def close(self, *, keep: bool) -> None:
        """Begin no more bodies; remove the file unless others may need it (`keep`)."""
        self._closed = True
        if self.file is not None and not keep:
            self.file.unlink(missing_ok=True)
        self.release()

    @override
    def begin_in_child(self) -> None:
        """Release the parent's file only, so that its lock ends with the parent."""
        self._growing = threading.Lock()
        self.release()

    def release(self) -> None:
        """Release the file: its pages and its lock."""
        self._entries = array("q", bytes(len(self._entries) * WIDTH))
        while self._descriptors:
            with suppress(OSError):
                os.close(self._descriptors.pop())

    def _new_slot(self) -> int:
        slot = next(self._unused)
        if slot >= len(self._entries):
            with self._growing:
                present = len(self._entries)
                if slot >= present and self.file is None:
                    self._entries.frombytes(bytes(present * WIDTH))
                elif slot >= present:
                    # Stores into the old mapping meanwhile go to the same pages.
                    self._entries = self._map_file(2 * present)
        return slot

    def _map_file(self, slots: int) -> memoryview:
        descriptor, size = self._descriptors[-1], HEADER + slots * WIDTH
        # A full disk is reported here, instead of by a signal at a later store.
        os.posix_fallocate(descriptor, 0, size)
        return memoryview(mmap.mmap(descriptor, size))[HEADER:].cast("q")


class ChildJournal:
    """The journal of a child process, which enters its claim at a position reserved by the node."""

    def __init__(self) -> None:
        self._place: tuple[str, int] | None = None
        self._begun: Claim | None = None

    def expect(self, file: str | None, slot: int) -> None:
        """Set where the next claim is entered."""
        self._place = None if file is None else (file, slot)

    def begin(self, claim: Claim) -> None:
        """Enter the claim. If the file was removed, all jobs of the node count as begun.

        Raises `JournalUnavailable`.
        """
        if self._place is not None:
            file, slot = self._place
            entry = entry_of(claim).to_bytes(WIDTH, sys.byteorder)
            try:
                descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
                try:
                    os.pwrite(descriptor, entry, HEADER + slot * WIDTH)
                finally:
                    os.close(descriptor)
            except FileNotFoundError:
                pass
            except OSError as error:
                raise JournalUnavailable(
                    f"its child process cannot write to the journal of the node: {error}"
                ) from error
        self._begun = claim  # set last, because the process may have no descriptor left

    def succeed(self, claim: Claim) -> None:
        """Do nothing: the node is notified, and results are not kept in the file."""

    def __contains__(self, claim: Claim) -> bool:
        """Whether this is the claim that was entered last."""
        return claim is self._begun
