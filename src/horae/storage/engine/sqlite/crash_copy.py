"""Copies a SQLite database as a crash of its users would leave it: without open transactions."""

import shutil
from pathlib import Path
from typing import Final

WAL: Final = "-wal"


def copy_after_crash(source: Path, target: Path) -> None:
    """Copy the file and its write-ahead log; opening the copy keeps only what was committed."""
    shutil.copy(source, target)
    log = Path(f"{source}{WAL}")
    if log.exists():
        shutil.copy(log, f"{target}{WAL}")
