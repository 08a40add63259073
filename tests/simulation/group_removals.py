"""The guards of groups and of jobs that wait for others, and their removals; see `ablations`."""

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from sqlalchemy import Connection

from horae.storage.jobs.groups import dependencies
from horae.storage.outcomes import follow_ups
from horae.storage.outcomes.follow_ups import FollowUps


def report_later(connection: Connection, *_: object) -> FollowUps:
    """Leave the report of ends to another transaction."""
    del connection
    return FollowUps()


def then_outside_the_transaction() -> AbstractContextManager[Any]:
    """Release the job after a group in another transaction than the one that ends the last member."""
    return mock.patch.object(follow_ups, "report", report_later)


def ends_unobserved() -> AbstractContextManager[Any]:
    """Let a job wait for another one without a note in the row of that one."""
    return mock.patch.object(dependencies, "MARK_AWAITED", dependencies.STATES)
