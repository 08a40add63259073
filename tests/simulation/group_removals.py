"""The guards of groups and of jobs that wait for others, and their removals; see `ablations`."""

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from horae.storage.jobs.groups import dependencies


def ends_unobserved() -> AbstractContextManager[Any]:
    """Let a job wait for another one without a note in the row of that one."""
    return mock.patch.object(dependencies, "MARK_AWAITED", dependencies.STATES)
