"""The garbage collector of a process that does nothing but run nodes."""

import gc
from typing import Final

THRESHOLDS: Final = (10_000, 20, 20)
"""Allocations before a collection of the youngest generation; collections before one of the next, and of the oldest."""


def tune_garbage_collector() -> None:
    """Exclude everything loaded so far from later collections: modules, types and statements live until the exit.

    Collecting them again and again took a fifth of the time of a drain, in pauses of 30 ms and more. A library must
    not decide this for its process; `horae run` may, because the process is its own.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
