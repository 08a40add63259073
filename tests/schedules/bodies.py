"""Job types that a child process finds by import."""

import contextlib
import time
from collections.abc import Callable
from datetime import timedelta
from typing import ParamSpec, TypeVar

from horae.types.context import JobContext
from horae.types.function import JobFunction

P = ParamSpec("P")
R = TypeVar("R")


def in_process(function: Callable[P, R]) -> JobFunction[P, R]:
    return JobFunction(function, isolation="process", grace=timedelta(seconds=0.2))


@in_process
def stubborn(job: JobContext) -> None:
    """Go on whatever it is told."""
    job.progress.set(1)
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(10)
