"""Settings of a process that only runs nodes: garbage collector, memory, number of open files."""

import ctypes
import gc
import os
import resource
from typing import Final

THRESHOLDS: Final = (10_000, 20, 20)
"""Allocations before a collection of the youngest generation, and collections before one of the
next and of the oldest generation.
"""
M_ARENA_MAX: Final = -8
"""The option of glibc's `mallopt` that bounds the number of arenas."""
MOST_DESCRIPTORS: Final = 1_048_576
"""Number of file descriptors if there is no hard limit; also the default maximum of Linux."""


def tune_garbage_collector() -> None:
    """Exclude all objects loaded so far from later collections: most live until the exit.

    Collecting them again and again took a fifth of the time of a drain, in pauses of 30 ms and
    more. A library must not decide this for its process; `horae run` may, because the process is
    its own.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


def share_one_malloc_arena() -> None:
    """Let all threads allocate from one arena of glibc's malloc; other C libraries have no arenas.

    By default each thread fills its own, up to eight for each core, and what is freed in one is of
    no use to the others: 3 MB of an idle node. Python allocates under the interpreter's lock, so
    its threads never wait for each other here. `MALLOC_ARENA_MAX` is for bodies that allocate
    outside of it.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(M_ARENA_MAX, 1)


def raise_descriptor_limit() -> None:
    """Raise the soft limit of file descriptors to the hard one: 1,024 are soon used up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def descriptor_limit() -> int:
    """Return how many file descriptors the process may have."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
