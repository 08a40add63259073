"""The group of a job, as its body sees it (`job.group`)."""

from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from typing import Any

from sqlalchemy import Connection

from horae.client.jobs.async_jobs import AsyncJobs
from horae.client.jobs.creating import Member, add_members, count_members
from horae.client.jobs.jobs import Jobs
from horae.domain.jobs import Group, GroupId, Job, JobId
from horae.errors import HoraeError, InvalidRequest
from horae.storage.engine import sees_what_others_commit
from horae.types import Attempt


class BodyGroup:
    """The group of which a job is a member, or after which it runs."""

    def __init__(self, jobs: Jobs, attempt: Attempt) -> None:
        self._jobs, self._attempt = jobs, attempt
        self.id: GroupId = _group_of(jobs, attempt)

    def get(self) -> Group:
        """Return the group as it is now."""
        return self._jobs.get_group(self.id)

    def results(self) -> Iterator[Any]:
        """Yield the results of the members that have finished, in the order of their addition."""
        return self._jobs.results_of_group(self.id)

    def members(self) -> Iterator[Job]:
        """Yield all members, in the order of their addition."""
        return self._jobs.members(self.id)

    def add(self, members: Iterable[Member]) -> list[JobId]:
        """Add members.

        If the body has a transaction of its own, they exist if and only if that commits.
        """
        attempt = self._attempt
        if attempt.connection is not None:
            return _add_within(self._jobs, attempt, self.id, members, attempt.connection)
        return self._jobs.add_to_group(
            self.id, members, held=(attempt.claim.id, attempt.claim.lease)
        )


class AsyncBodyGroup:
    """The group of a job as its coroutine body sees it."""

    def __init__(self, jobs: Jobs, aio: AsyncJobs, attempt: Attempt) -> None:
        self._jobs, self._aio, self._attempt = jobs, aio, attempt
        self._id: GroupId | None = None

    async def get(self) -> Group:
        """Return the group as it is now."""
        return await self._aio.get_group(await self._find())

    async def results(self) -> AsyncIterator[Any]:
        """Yield the results of the members that have finished, in the order of their addition."""
        async for result in self._aio.results_of_group(await self._find()):
            yield result

    async def members(self) -> AsyncIterator[Job]:
        """Yield all members, in the order of their addition."""
        async for job in self._aio.members(await self._find()):
            yield job

    async def add(self, members: Iterable[Member]) -> list[JobId]:
        """Add members.

        If the body has a transaction of its own, they exist if and only if that commits.
        """
        attempt, group_id = self._attempt, await self._find()
        if attempt.async_connection is not None:
            add = partial(_add_within, self._jobs, attempt, group_id, members)
            return await attempt.async_connection.run_sync(add)
        return await self._aio.add_to_group(
            group_id, members, held=(attempt.claim.id, attempt.claim.lease)
        )

    async def _find(self) -> GroupId:
        if self._id is None:
            self._id = await self._aio.database.in_thread(
                partial(_group_of, self._jobs, self._attempt)
            )
        return self._id


def _group_of(jobs: Jobs, attempt: Attempt) -> GroupId:
    group_id = jobs.group_of(attempt.claim.id)
    if group_id is None:
        raise HoraeError(
            f"job {attempt.claim.id} is in no group, and runs after none; start_group starts one"
        )
    return group_id


def _add_within(
    jobs: Jobs,
    attempt: Attempt,
    group_id: GroupId,
    members: Iterable[Member],
    connection: Connection,
) -> list[JobId]:
    """Insert members in the transaction of a body, and count them in its last statements.

    The row of the group is not locked before those, because no other member could end while it is
    locked.
    """
    if not sees_what_others_commit(connection):
        raise InvalidRequest(
            f"a job of type {attempt.claim.type!r} cannot add members: its transaction does not see"
            " what others commit; declare transaction='read committed'"
        )
    batches = jobs.parse_members(group_id, members)
    added = add_members(connection, group_id, batches)
    attempt.releases = True
    attempt.before_end(partial(count_members, group_id=group_id, size=len(added)))
    return added
