"""Check whether a process holds the lock of a file, which shows that the process lives."""

import fcntl
import os
from pathlib import Path
from typing import Final

LOCK_SUFFIX: Final = ".lock"
"""The suffix of a node's lock file."""


def is_abandoned(file: Path) -> bool:
    """Return whether the file exists and its lock is free; never creates the file."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)  # closing releases the lock again
