"""A small application for the tests of the command line."""

import asyncio
import logging
from datetime import timedelta

from horae import Backoff, Horae, JobContext, KeepLogs

horae = Horae()
not_an_application = 1


@horae.job(max_count=2)
def import_csv(job: JobContext, path: str, limit: int = 10) -> int:
    """Import people.

    From a file.
    """
    for _ in job.progress.track(range(limit)):
        pass
    return limit


@horae.job(name="refuse", backoff=Backoff(base=timedelta(hours=1), cap=timedelta(hours=1)))
def refuse_to_work(reason: str = "no reason") -> None:
    raise ValueError(reason)


@horae.job(transaction="serializable")
def within_transaction(zip_code: str) -> str:
    return zip_code


@horae.job(keep_logs=KeepLogs(lines=2))
def speak() -> None:
    log = logging.getLogger("shop")
    log.warning("line 0")
    log.error("line \x1b[1m 1")
    log.error("line 2")
    log.error("line 3")


@horae.job
async def wait_for_ever(job: JobContext) -> None:
    job.progress.set(50, "halfway")
    await asyncio.Event().wait()
