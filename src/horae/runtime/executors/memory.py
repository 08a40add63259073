"""The memory of this process."""

import resource
import sys
from pathlib import Path


def memory_in_use() -> int:
    """Return the memory use of this process in bytes, or the peak where only that is known."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS counts bytes, others kilobytes.
        return most if sys.platform == "darwin" else most * 1024
