"""Settings of a process that does nothing but run nodes: its garbage collector, and how many files
it may open.
"""

import gc
import resource
from typing import Final

THRESHOLDS: Final = (10_000, 20, 20)
"""Allocations before a collection of the youngest generation; collections before one of the next,
and of the oldest.
"""
MOST_DESCRIPTORS: Final = 1_048_576
"""File descriptors if there is no hard limit; also the most that Linux grants by default."""


def tune_garbage_collector() -> None:
    """Exclude everything loaded so far from later collections: modules, types and statements live
    until the exit.

    Collecting them again and again took a fifth of the time of a drain, in pauses of 30 ms and
    more. A library must not decide this for its process; `horae run` may, because the process is
    its own.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


def raise_descriptor_limit() -> None:
    """Raise the soft limit of file descriptors to the hard one: connections soon use up the usual
    1,024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptor_limit() -> int:
    """Return how many file descriptors the process may have."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
