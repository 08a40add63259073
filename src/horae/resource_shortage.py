"""What a process does while it lacks descriptors, memory, threads or a writable disk."""

import errno
import threading
from typing import Final

LACKING: Final = frozenset(
    {
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.ENOMEM,
        errno.EAGAIN,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.EIO,
    }
)


def lacks_resource(error: BaseException) -> bool:
    """Return whether a resource of the machine or the process is exhausted.

    The same call may work later. A group counts if all of its errors do.
    """
    if isinstance(error, BaseExceptionGroup):
        return all(lacks_resource(each) for each in error.exceptions)
    if isinstance(error, OSError):
        return error.errno in LACKING
    # Python says "can't start new thread", or "can't create new thread at interpreter shutdown".
    return isinstance(error, MemoryError) or "new thread" in str(error)


def try_start(thread: threading.Thread) -> bool:
    """Start a thread; return False if the system has none left for this process."""
    try:
        thread.start()
    except (RuntimeError, MemoryError) as error:
        if not lacks_resource(error):
            raise
        return False
    return True
