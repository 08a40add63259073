"""What callers do with jobs.

Each verb checks, runs a function of a Connection, and sends a hint after the commit.
"""

from copy import copy

from horae.client.jobs.creating import once
from horae.client.jobs.methods import ChangesJobs, ChangesManyJobs, GroupsJobs


class Jobs(GroupsJobs, ChangesJobs, ChangesManyJobs):
    """Start, watch and cancel jobs. See `AsyncJobs` for coroutines."""

    def without_waiting(self) -> "Jobs":
        """Return a copy for coroutines, which must not occupy the few threads of the database.

        It raises `TryAgain` instead of waiting for another transaction, and calls `on_cancelled` on
        other threads.
        """
        twin = copy(self)
        twin._until_done = once  # noqa: SLF001 - its own
        twin._canceller = self._canceller.without_waiting()  # noqa: SLF001 - its own
        return twin
