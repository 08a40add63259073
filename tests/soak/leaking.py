"""The application of the soak with leaks in the nodes: each body keeps memory, files and threads for ever.

Child processes import the application itself, not this module, so only the nodes leak.
"""

import os
import threading
from typing import Any, Final

from benchmarks.soak import application

KEPT: Final[list[Any]] = []
MEGABYTES: Final = 4 * 1024 * 1024
FILES: Final = 10
THREADS: Final = 5


def leak() -> None:
    """Keep some of everything."""
    KEPT.append(b"x" * MEGABYTES)
    KEPT.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(FILES))
    for _ in range(THREADS):
        thread = threading.Thread(target=threading.Event().wait, daemon=True)
        thread.start()
        KEPT.append(thread)


application.each_body.append(leak)
horae = application.horae
