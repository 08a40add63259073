"""Background tasks that are jobs: they survive the process, and are watched, retried and cancelled.

FastAPI runs its background tasks in the process that has answered, after the answer, and forgets
them if it ends. Here each task is a job of a registered type, and exists before the answer is sent
(ADR 0068).
"""

from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any, ParamSpec, TypeAlias, overload

from fastapi import Depends
from sqlalchemy import Connection

from horae.app import Horae
from horae.contrib.fastapi.actors import Dependency, user_of
from horae.contrib.fastapi.application import horae_of
from horae.domain.jobs import Job
from horae.errors import InvalidRequest
from horae.storage.engine import Use
from horae.types import JobFunction, JobType, JobTypeReference

P = ParamSpec("P")


class DurableTasks:
    """The tasks of one request, which become jobs in one transaction after its endpoint."""

    def __init__(self, horae: Horae, owner: str | None = None) -> None:
        self._horae, self._owner = horae, owner
        self._added: list[tuple[JobTypeReference, dict[str, Any]]] = []
        self._over = False
        self.jobs: list[Job] = []
        """The jobs, after they were started."""

    @overload
    def add_task(self, task: JobFunction[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> None: ...
    @overload
    def add_task(
        self, task: str | JobType[Any] | type[JobType[Any]], /, *args: Any, **kwargs: Any
    ) -> None: ...
    def add_task(self, task: Any, /, *args: Any, **kwargs: Any) -> None:
        """Start a job after the endpoint has returned, before the response is sent.

        Nothing is started if the endpoint raises. Raises `UnknownJobType` for a function that is no
        registered job type, `InvalidParameters` and `InvalidRequest` for arguments that it does not
        take, and `InvalidRequest` once the tasks of the request were started.
        """
        if self._over:
            raise InvalidRequest(
                "the tasks of this request were started when its endpoint returned; start a job in"
                " what runs later, such as the body of a streaming response"
            )
        kind = self._horae.registry.resolve(task)
        values = dict(kind.named(args, kwargs)) if args else kwargs
        kind.request.check(kind.type, values)
        self._added.append((kind, values))

    async def start(self) -> None:
        """Start what was added, all or nothing."""
        added, self._added = self._added, []
        if len(added) == 1:
            [(kind, values)] = added
            self.jobs.append(await self._horae.aio.jobs.start(kind, owner=self._owner, **values))
        elif added:
            database, jobs = self._horae.components.database, self._horae.jobs

            def start_all(connection: Connection) -> list[Job]:
                return [
                    jobs.start(kind, owner=self._owner, session=connection, **values)
                    for kind, values in added
                ]

            self.jobs += await database.in_thread(lambda: database.transact(start_all), Use.CHANGE)

    async def end(self) -> None:
        """Start what was added, and refuse more, which nothing would start."""
        self._over = True
        await self.start()


def tasks_of(user: Dependency | None = None) -> Callable[..., AsyncGenerator[DurableTasks]]:
    """Return a dependency that gives the tasks of a request: `Depends(tasks_of(current_user))`.

    `user`: a dependency of the application whose user owns the jobs. The jobs are started before
    the response only with `Depends(…, scope="function")`.
    """

    async def tasks(
        horae: Annotated[Horae, Depends(horae_of)],
        found: Annotated[Any, Depends(user or (lambda: None))],
    ) -> AsyncGenerator[DurableTasks]:
        actor = None if user is None else user_of(user, found)
        added = DurableTasks(horae, None if actor is None else actor.id)
        yield added
        await added.end()

    return tasks


DurableBackgroundTasks: TypeAlias = Annotated[DurableTasks, Depends(tasks_of(), scope="function")]
"""In place of FastAPI's `BackgroundTasks`, as the annotation of a parameter of an endpoint."""
