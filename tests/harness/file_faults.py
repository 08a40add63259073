"""Faults of a SQLite file and of the disk that holds it, each a context manager: the fault lasts as long as its block."""

import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

CHUNK: Final = bytes(65_536)
HOLD_WRITE_LOCK: Final = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def write_lock_held(file: Path) -> Generator[None]:
    """Hold the one write lock of a SQLite file in another process, as a backup or a forgotten shell may."""
    command = [sys.executable, "-c", HOLD_WRITE_LOCK, str(file)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    try:
        yield
    finally:
        holder.communicate()


@contextmanager
def small_disk(megabytes: int) -> Generator[Path]:
    """Mount a small file system in memory, which only root may do, and return its folder."""
    folder = Path(tempfile.mkdtemp(prefix="horae-disk-"))
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=True
    )
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


@contextmanager
def disk_full(folder: Path) -> Generator[None]:
    """Fill the file system that holds the folder with one file, and delete it at the end of the block."""
    file = folder / "filler"
    try:
        with suppress(OSError), file.open("wb", buffering=0) as filler:
            while filler.write(CHUNK):
                pass
        with suppress(OSError), file.open("ab", buffering=0) as filler:
            while filler.write(b"\0"):
                pass
        yield
    finally:
        file.unlink()
