"""The limit of open files and connections of a `horae run` process."""

import resource
from typing import Final

MOST: Final = 1_048_576
"""File descriptors if there is no hard limit; also the most that Linux grants by default."""


def raise_limit() -> None:
    """Raise the soft limit of file descriptors to the hard one: connections soon use up the usual 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limit() -> int:
    """Return how many file descriptors the process may have."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if soft == resource.RLIM_INFINITY else soft
