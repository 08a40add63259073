"""The group of a job, as its body sees it: read the members, and add more while it is open."""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Protocol

from horae.domain.jobs import Group, GroupId, Job, JobId


class JobGroup(Protocol):
    """The group of which a job is a member, or after which it runs."""

    @property
    def id(self) -> GroupId:
        """The id of the group."""
        ...

    def get(self) -> Group:
        """Return the group as it is now."""
        ...

    def results(self) -> Iterator[Any]:
        """Yield the results of the members that have finished, in the order in which they were
        added.
        """
        ...

    def members(self) -> Iterator[Job]:
        """Yield all members, in the order in which they were added."""
        ...

    def add(self, members: Iterable[Any]) -> list[JobId]:
        """Add members, as `start_group` takes them; only for members, which keep the group open
        while they run.
        """
        ...


class AsyncJobGroup(Protocol):
    """The group of a job whose body is a coroutine; see `JobGroup`."""

    async def get(self) -> Group:
        """Return the group as it is now."""
        ...

    def results(self) -> AsyncIterator[Any]:
        """Yield the results of the members that have finished, in the order in which they were
        added.
        """
        ...

    def members(self) -> AsyncIterator[Job]:
        """Yield all members, in the order in which they were added."""
        ...

    async def add(self, members: Iterable[Any]) -> list[JobId]:
        """Add members, as `start_group` takes them; only for members, which keep the group open
        while they run.
        """
        ...
