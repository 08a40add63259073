"""The context of a body: its parameters, its progress, its transaction, and its group."""

import json
import logging
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic

from sqlalchemy import Connection
from typing_extensions import TypeVar

from horae.domain.jobs import Claim, JobId, Progress
from horae.errors import HoraeError
from horae.types.attempt import Attempt, BodyEnd
from horae.types.group_access import AsyncJobGroup, JobGroup

if TYPE_CHECKING:  # the ORM is a third of the time of `import horae`
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session

ParamsT = TypeVar("ParamsT", default=Any)
ConnectionT = TypeVar("ConnectionT")
log = logging.getLogger("horae.job")


class JobContext(Generic[ParamsT]):
    """One attempt at a job, as its body sees it; nothing here can be set.

    Within a transaction on Horae's database `session` or `connection` are that transaction.
    """

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    @property
    def params(self) -> ParamsT:
        """The checked parameters."""
        params: ParamsT = self._attempt.params
        return params

    @property
    def previous(self) -> Any:
        """The result of the job before this one, or the results of all of them.

        Its type says in `previous` which; None if it says nothing.
        """
        return self._attempt.previous

    @property
    def claim(self) -> Claim:
        """The claim of the job by its node; `claim.lease` grows with each attempt."""
        return self._attempt.claim

    @property
    def id(self) -> JobId:
        """The job's id."""
        return self._attempt.claim.id

    @property
    def type(self) -> str:
        """The name of its type."""
        return self._attempt.claim.type

    @property
    def owner(self) -> str | None:
        """The owner of the job, or None."""
        return self._attempt.claim.owner

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._attempt.claim.attempt

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """The caller's data besides the parameters, such as a trace context."""
        meta: Mapping[str, Any] = json.loads(self.claim.meta)
        return meta

    @property
    def nominal_time(self) -> datetime | None:
        """The nominal time of a scheduled run in UTC, even if it began late; otherwise None."""
        return self._attempt.claim.nominal_time

    @property
    def progress(self) -> Progress:
        """The job's progress: 100 units, to be divided among children."""
        return self._attempt.progress

    def leave_for_next_run(self, meta: Mapping[str, Any]) -> None:
        """Add values of JSON to the `meta` of the next run of the job's schedule, if this run ends.

        For `@horae.around`, before the body begins: its transaction may write them with its end.
        """
        left: dict[str, Any] = json.loads(self._attempt.next_meta or "{}")
        self._attempt.next_meta = json.dumps({**left, **meta})

    @property
    def ended(self) -> BodyEnd | None:
        """How the attempt ended, once it has, for `@horae.around`."""
        return self._attempt.ended

    @cached_property
    def group(self) -> JobGroup:
        """The group of which this job is a member, or after which it runs.

        Raises `HoraeError` if there is none.
        """
        group: JobGroup = self._clients.of_body(self._attempt)
        return group

    @cached_property
    def async_group(self) -> AsyncJobGroup:
        """The group, for coroutines."""
        group: AsyncJobGroup = self._clients.of_coroutine(self._attempt)
        return group

    @property
    def log(self) -> logging.Logger:
        """A logger; its records carry job, type, lease and node."""
        return log

    @property
    def stopping(self) -> bool:
        """Whether the job is to stop: it was cancelled, is out of time, or has a new owner.

        A body that takes several jobs finds out here that one of them is; `check` raises there only
        once all are.
        """
        return self._attempt.order is not None

    def check(self) -> None:
        """Raise if the job was cancelled, timed out, or belongs to another node now.

        Each progress report calls it. A timeout is raised only once, so that a body may clean up
        and return a partial result.
        """
        self._attempt.check()

    @property
    def connection(self) -> Connection:
        """The transaction of this job; it commits if and only if the job finishes."""
        return self._there(self._attempt.connection, "transaction")

    @property
    def session(self) -> "Session":
        """A Session in the job's transaction; `commit` only flushes, the job's end commits."""
        if self._attempt.session is None:
            from sqlalchemy.orm import Session

            self._attempt.session = Session(self.connection, join_transaction_mode="rollback_only")
        return self._attempt.session

    @property
    def async_connection(self) -> "AsyncConnection":
        """The transaction of an async body."""
        return self._there(self._attempt.async_connection, "async transaction")

    @property
    def async_session(self) -> "AsyncSession":
        """An AsyncSession in the transaction of an async body."""
        if self._attempt.async_session is None:
            from sqlalchemy.ext.asyncio import AsyncSession

            self._attempt.async_session = AsyncSession(
                self.async_connection, join_transaction_mode="rollback_only"
            )
        return self._attempt.async_session

    @property
    def has_transaction(self) -> bool:
        """Whether the body runs in a transaction on Horae's database that only success commits."""
        return self._attempt.has_transaction

    @property
    def _clients(self) -> Any:  # `Clients`, whose module imports this one
        job_type = self._attempt.job_type
        clients = None if job_type is None else job_type.clients
        if clients is None:
            raise HoraeError(
                f"job type {self.type!r} is registered by no application, so its jobs know no"
                " groups"
            )
        return clients

    def _there(self, connection: ConnectionT | None, kind: str) -> ConnectionT:
        if connection is None:
            raise HoraeError(
                f"job type {self.type!r} runs in no {kind} on Horae's database; declare"
                " transaction='read committed'"
            )
        return connection
