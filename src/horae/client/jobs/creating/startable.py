"""Refuses jobs that could never start.

A backend runs them, and only Horae's nodes claim jobs under limits; or they expire before they
may start.
"""

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Connection

from horae.domain.jobs.backend import OWN_BACKEND
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.storage.jobs import creation
from horae.storage.jobs.creation import NewJob
from horae.storage.schedules.reading import now as now_of_database
from horae.types.job_type import JobType

_ELSEWHERE: Final = "which hold only for jobs that Horae's nodes run; choose another queue"


def runs_here(kind: JobType[Any], queue: str) -> bool:
    """Return whether Horae's nodes run the jobs of a queue, as far as the application knows."""
    return kind.queue_backends.get(queue, OWN_BACKEND) == OWN_BACKEND


def check_startable(
    connection: Connection,
    kind: JobType[Any],
    queue: str,
    *,
    limited: bool,
    scheduled: bool = False,
) -> None:
    """Raise `InvalidRequest` for a job that would never start in this queue.

    `limited`: limits of its type hold for it.

    Nothing is read for most jobs, which have no such limits and no backend of their own; nor for
    those in the queue of a type with a backend, unless they are to be started there by a schedule
    (`scheduled`).
    """
    named_elsewhere = kind.address is not None and (scheduled or queue != kind.queue)
    if not (named_elsewhere or limited):
        return
    rules = creation.queue_rules(connection, queue)
    if named_elsewhere and rules.has_lanes:
        raise InvalidRequest(
            f"job type {quoted(kind.type)} has backend {quoted(kind.backend)}, and queue"
            f" {quoted(queue)} has limits by key or turns, {_ELSEWHERE}"
        )
    backend = rules.backend or kind.queue_backends.get(queue, OWN_BACKEND)
    if limited and backend != OWN_BACKEND:
        raise InvalidRequest(
            f"queue {quoted(queue)} has backend {quoted(backend)}, and job type {quoted(kind.type)}"
            f" has limits, {_ELSEWHERE}"
        )


def check_expiry(connection: Connection, new: NewJob) -> None:
    """Raise `InvalidRequest` for a job that expires at a moment at which it may not start yet, or
    that has passed.
    """
    if new.expires_at is None:
        return
    now = now_of_database(connection)
    if new.expires_at <= now:
        raise InvalidRequest(
            f"expires {new.expires_at} is in the past: it is {now} by the clock of the database"
        )
    due = new.run_at or now + timedelta(seconds=new.delay or 0)
    if new.expires_at <= due:
        raise InvalidRequest(
            f"expires {new.expires_at} is not after {due}, before which the job may not start, so"
            " it could never run"
        )
