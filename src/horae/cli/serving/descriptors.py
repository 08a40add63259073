"""How many files and connections the process of `horae run` may have open."""

import resource
from typing import Final

MOST: Final = 1_048_576
"""Where the hard limit is none; so many are also the most that Linux grants by default."""


def raise_limit() -> None:
    """Raise the soft limit of descriptors to the hard one: the usual 1,024 are soon used up by connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limit() -> int:
    """How many descriptors the process may have."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if soft == resource.RLIM_INFINITY else soft
