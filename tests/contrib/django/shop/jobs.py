"""The job types of the shop."""

import os
import signal
from datetime import timedelta
from typing import Any, Final

from django.db import connections, transaction

from horae import Backoff, JobContext
from horae.contrib.django import horae
from tests.contrib.django.shop.models import Order

AT_ONCE: Final = Backoff(base=timedelta(0), jitter=0)


@horae.job()
def ship(job: JobContext, number: int) -> None:
    """Ship an order."""
    Order.objects.filter(number=number).update(shipped_by=job.id)


@horae.job(transaction="django", max_attempts=5)
def order_and_ship(job: JobContext, number: int) -> str:
    """Write an order in the job's own transaction, and start another job in it."""
    Order.objects.create(number=number, shipped_by=job.id)
    horae.jobs.start(ship, number=number)
    return "done"


@horae.job(transaction="django")
def spoil(job: JobContext, how: str, number: int) -> None:
    """Write an order, and do what must not be done in a transaction."""
    WAYS[how](job, number)


WAYS: dict[str, Any] = {}
"""What `spoil` does, by name; the tests add it."""


def die() -> None:
    """Kill this process, as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def order_and_die(job: JobContext, number: int, moment: str) -> None:
    """Write an order, and kill the process of the first attempt at a moment."""
    Order.objects.create(number=number, shipped_by=job.id)
    if job.attempt > 1:
        return
    match moment:
        case "written":
            die()
        case "settled":  # the end of the job is written, and the COMMIT is not sent
            vars(connections["default"])["commit"] = die
        case _:  # committed, and the node has not heard of it
            transaction.on_commit(die)


@horae.job(transaction="django", max_attempts=5, backoff=AT_ONCE)
def order_here(job: JobContext, number: int, moment: str) -> None:
    """Run `order_and_die` on a thread."""
    order_and_die(job, number, moment)


@horae.job(transaction="django", max_attempts=5, backoff=AT_ONCE, isolation="process")
def order_in_child(job: JobContext, number: int, moment: str) -> None:
    """Run `order_and_die` in a child process."""
    order_and_die(job, number, moment)


@horae.job()
async def count() -> int:
    """Count the orders on the loop of the node."""
    return await Order.objects.acount()


@horae.job()
async def order_later(number: int) -> int:
    """Write an order on the loop of the node, and start another job."""
    await Order.objects.acreate(number=number)
    job = await horae.aio.jobs.start(ship, number=number)
    return job.id
