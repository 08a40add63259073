"""Job types that a child process finds by import."""

import time
from datetime import timedelta

from horae.types.context import JobContext
from horae.types.function import JobFunction


def stubborn(job: JobContext) -> None:
    """Goes on whatever it is told."""
    job.label = "here"
    while True:
        try:
            time.sleep(10)
        except BaseException:  # noqa: BLE001 - it is told so by one
            pass


stubborn = JobFunction(stubborn, isolation="process", grace=timedelta(seconds=0.2))  # type: ignore[assignment]
