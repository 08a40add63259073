"""Which jobs a node has begun, in a file that outlives the node when it is killed.

A claim is not a start: a node claims ahead of its slots. So each body is entered here before it begins, and its entry
goes once its end is committed. Whoever rescues the jobs of a dead node reads its file: what is not listed has never
begun, and goes back as if it had not been claimed; a body that is listed as returned has finished its job (ADR 0011).

An entry is one aligned store of eight bytes into a mapped file. The system keeps the page when the process is killed,
but may lose it with the machine; so a file of an earlier boot proves nothing. Nor does one whose writer may still be
alive and begin something: a node holds a lock on its file for as long as its process lives.
"""

import fcntl
import mmap
import os
import sys
from array import array
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

from horae.domain.jobs.job import Claim, JobId
from horae.errors import LeaseLost
from horae.forking import ForkSafeLock, begins_anew_after_fork

HEADER: Final = 4096
SLOTS: Final = 8192
WIDTH: Final = 8
"""Bytes before the entries; entries that a new file has room for, and of which it grows; bytes of an entry."""
ID_BITS: Final = 48
IDS: Final = (1 << ID_BITS) - 1
LEASES: Final = 0x7FFF


def entry_of(claim: Claim) -> int:
    """One claim as a number that is never 0. Two claims that had the same would both count as begun."""
    return (claim.lease & LEASES) << ID_BITS | claim.id & IDS


def header() -> bytes:
    """How a file of this boot of this machine begins; empty where boots cannot be told apart."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    except OSError:
        return b""
    return b"horae begun 1 " + boot + b"\n"


class Journal:
    """The bodies that one node has begun and whose ends are not committed; in memory alone until `open`.

    `begin` may be called from any thread, everything else on one at a time.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        """`slots`: how many entries a new file has room for."""
        self.file: Path | None = None
        self._entries: Any = array("q", bytes(slots * WIDTH))
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self._unused = count()
        self._growing = ForkSafeLock()
        self._descriptors: list[int] = []
        self._closed = False

    def open(self, file: Path) -> None:
        """Keep the entries in a new file from now on; raises OSError where that cannot be."""
        for_lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._descriptors.append(for_lock)
        fcntl.flock(for_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Another open file: a mapping keeps its own open in a process that a body forks, and with it the lock.
        self._descriptors.append(os.open(file, os.O_RDWR | os.O_CLOEXEC))
        os.pwrite(for_lock, header(), 0)
        self._entries = self._mapped(len(self._entries))
        self.file = file
        begins_anew_after_fork(self)

    def begin(self, claim: Claim) -> None:
        """Enter a claim whose body begins now; raises `LeaseLost` if the node is over."""
        entry = (claim.lease & LEASES) << ID_BITS | claim.id & IDS  # `entry_of`, whose call costs a fifth of all this
        try:  # here and not in a function: this is done for each body
            slot = self._free.pop()
        except IndexError:
            slot = self._new_slot()
        self._slots[entry] = slot
        self._entries[slot] = entry
        if self._closed:  # asked after the entry was made: whoever reads the file from now on has seen it
            raise LeaseLost

    def succeed(self, claim: Claim) -> None:
        """Enter that the body has returned nothing, which is all that would be written of it."""
        entry = (claim.lease & LEASES) << ID_BITS | claim.id & IDS
        slot = self._slots.get(entry)
        if slot is not None:
            self._entries[slot] = -entry

    def reserve(self, claim: Claim) -> int:
        """The place for a claim that a child process enters by itself."""
        entry = entry_of(claim)
        if entry not in self._slots:
            try:
                self._slots[entry] = self._free.pop()
            except IndexError:
                self._slots[entry] = self._new_slot()
        return self._slots[entry]

    def end(self, claims: Iterable[Claim]) -> None:
        """Take out claims whose ends are committed."""
        take, entries, free = self._slots.pop, self._entries, self._free.append
        for claim in claims:
            slot = take((claim.lease & LEASES) << ID_BITS | claim.id & IDS, None)
            if slot is not None:
                entries[slot] = 0
                free(slot)

    def __contains__(self, claim: Claim) -> bool:
        """Whether the body of this claim has begun."""
        return entry_of(claim) in self._slots

    @property
    def listed(self) -> list[JobId]:
        """The jobs of all claims that are entered."""
        return [JobId(entry & IDS) for entry in list(self._slots)]

    def close(self, *, keep: bool) -> None:
        """Begin nothing more. The file is removed unless others may need it (`keep`)."""
        self._closed = True
        if self.file is not None and not keep:
            self.file.unlink(missing_ok=True)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Keep nothing of the file: neither its pages nor, as a copy of the node in another process, its lock."""
        self._entries = array("q", bytes(len(self._entries) * WIDTH))
        while self._descriptors:
            with suppress(OSError):
                os.close(self._descriptors.pop())

    def _new_slot(self) -> int:
        slot = next(self._unused)
        if slot >= len(self._entries):
            with self._growing:
                if slot >= len(self._entries):
                    self._grow(len(self._entries) * 2)
        return slot

    def _grow(self, slots: int) -> None:
        if self.file is None:
            self._entries.frombytes(bytes((slots - len(self._entries)) * WIDTH))
        else:
            self._entries = self._mapped(slots)  # who stores into the old mapping meanwhile stores into the same pages

    def _mapped(self, slots: int) -> memoryview:
        descriptor, size = self._descriptors[-1], HEADER + slots * WIDTH
        os.posix_fallocate(descriptor, 0, size)  # a full disk is told here, and not by a signal at a store
        return memoryview(mmap.mmap(descriptor, size))[HEADER:].cast("q")


class ChildJournal:
    """The same for a child process, which enters the claim that it was given into the place that was kept for it."""

    def __init__(self) -> None:
        self._place: tuple[str, int] | None = None
        self._begun: Claim | None = None

    def expect(self, file: str | None, slot: int) -> None:
        """Where the next claim is to be entered."""
        self._place = None if file is None else (file, slot)

    def begin(self, claim: Claim) -> None:
        """Enter it, unless somebody has removed the file: then all that the node holds counts as begun."""
        self._begun = claim
        if self._place is None:
            return
        file, slot = self._place
        entry = entry_of(claim).to_bytes(WIDTH, sys.byteorder)
        with suppress(FileNotFoundError):
            descriptor = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
            try:
                os.pwrite(descriptor, entry, HEADER + slot * WIDTH)
            finally:
                os.close(descriptor)

    def succeed(self, claim: Claim) -> None:
        """Nothing: the node hears of it, and a result, if there is one, is not in the file."""

    def __contains__(self, claim: Claim) -> bool:
        """Whether this is the claim that was entered last."""
        return claim is self._begun
