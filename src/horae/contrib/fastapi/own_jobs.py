"""The jobs of one user: starting, reading and cancelling them in endpoints."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import Depends, HTTPException

from horae.api.security.actor import Actor
from horae.app import Horae
from horae.client.jobs import AsyncJobs, JobPage
from horae.contrib.fastapi.actors import Dependency, user_of
from horae.contrib.fastapi.application import horae_of
from horae.domain.jobs import Job

if TYPE_CHECKING:
    from horae.client.jobs.typed_starts import AsyncStart


class OwnJobs:
    """What a user may do with jobs: those of other owners look missing, unless the user is staff.

    For anything else, pass `owner=jobs.owner` to the methods of `horae.aio.jobs`.
    """

    def __init__(self, jobs: AsyncJobs, actor: Actor) -> None:
        self._jobs, self.actor = jobs, actor

    @property
    def owner(self) -> str:
        """The owner of the jobs that the user starts."""
        return self.actor.id

    @property
    def start(self) -> "AsyncStart":
        """Create a job of this owner: `await jobs.start(import_csv, path="people.csv")`."""
        return cast("AsyncStart", partial(self._jobs.start, owner=self.owner))

    async def get(self, job_id: int) -> Job:
        """Return a job. Raises `JobDoesNotExist`."""
        return await self._jobs.get(job_id, owner=self.actor.reading_as)

    async def list(self, **conditions: Any) -> JobPage:
        """List the jobs that the user may see, with the conditions of `Jobs.list`."""
        return await self._jobs.list(owner=self.actor.reading_as, **conditions)

    async def cancel(self, job_id: int) -> Job:
        """Cancel a job. Raises `JobDoesNotExist` and `JobNotCancellable`."""
        return await self._jobs.cancel(job_id, owner=self.actor.changing_as)


def jobs_of(user: Dependency) -> Callable[..., OwnJobs]:
    """Return a dependency that gives the jobs of the user: `Depends(jobs_of(current_user))`.

    `user`: a dependency of the application that returns an `Actor`, an id or None, for which the
    answer is 401.
    """

    def own_jobs(
        horae: Annotated[Horae, Depends(horae_of)], found: Annotated[Any, Depends(user)]
    ) -> OwnJobs:
        actor = user_of(user, found)
        if actor is None:
            raise HTTPException(401, "Not authenticated")
        return OwnJobs(horae.aio.jobs, actor)

    return own_jobs
