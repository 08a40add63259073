"""Job types that a child process finds by import."""

import time
from contextlib import suppress
from datetime import timedelta

from horae.types.context import JobContext
from horae.types.function import JobFunction


def stubborn(job: JobContext) -> None:
    """Goes on whatever it is told."""
    job.label = "here"
    while True:
        with suppress(BaseException):  # it is told so by one
            time.sleep(10)


stubborn = JobFunction(stubborn, isolation="process", grace=timedelta(seconds=0.2))  # type: ignore[assignment]
