"""Lets the child processes of a Celery worker end as soon as the worker has stopped reading from
them.

When a worker stops, Celery forgets the tasks that a child process has received but not
acknowledged. The child runs them nevertheless, and before it ends it waits 30 seconds for its
parent to count their results. The parent waits for the child, and counts nothing any more, so that
the stop takes 30 seconds, in which many supervisors kill a process. Seen with Celery 5.7 and
billiard 4.3, also in applications without Horae.
"""

import threading
import time
from typing import Any, Final

POLL_EVERY: Final = 0.1
"""Seconds between two checks whether the worker still reads results.

Children check their counters as often.
"""
ALL_COUNTED: Final = 2**30
"""More results than any child sends, and few enough that the counter does not overflow if one more
is counted.
"""


def end_with_worker(task_pool: Any) -> None:
    """Let the children of a pool end when their worker, which is about to stop, has read its last
    result.

    Does nothing for pools without child processes.
    """
    pool = getattr(task_pool, "_pool", None)
    if hasattr(pool, "_on_ready_counters"):
        threading.Thread(
            target=_release, args=(task_pool, pool), name="horae-pool-exit", daemon=True
        ).start()


def _release(task_pool: Any, pool: Any) -> None:
    """Tell the children that all their results were counted, once the parent waits for none."""
    # Celery forgets the pool when all children have ended
    while task_pool._pool is pool:  # noqa: SLF001
        # 0 is a running pool; the cache holds unfinished tasks
        if pool._state and not pool._cache:  # noqa: SLF001
            for counter in list(pool._on_ready_counters.values()):  # noqa: SLF001
                # Without its lock, which a killed child may have held.
                counter.get_obj().value = ALL_COUNTED
        time.sleep(POLL_EVERY)
