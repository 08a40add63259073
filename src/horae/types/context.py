"""The context of a body: its parameters, its progress, its transaction, and the order to stop."""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol

from sqlalchemy import Connection
from typing_extensions import TypeVar

from horae.domain.jobs.job import AttemptOutcome, Claim, JobId
from horae.domain.jobs.progress import Progress
from horae.errors import HoraeError
from horae.types.group_access import AsyncJobGroup, JobGroup

if (
    TYPE_CHECKING
):  # the ORM is a third of the time of `import horae`, and most job types use no session
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session

ParamsT = TypeVar("ParamsT", default=Any)
ConnectionT = TypeVar("ConnectionT")
T = TypeVar("T")
Report = Callable[[int, str | None], None]

TOLERANCE: Final = 0.1
"""Seconds by which wall clock and monotonic clock may differ before the duration of a body is
reported separately.
"""
log = logging.getLogger("horae.job")


@dataclass(frozen=True, slots=True)
class BodyEnd:
    """How an attempt ended, for `@horae.around`.

    `outcome`: None if it does not count, because another node owns the job or the body could not
    begin. `error`: what the body raised. `retry_in`: seconds until the next attempt; None if there
    is none.
    """

    outcome: AttemptOutcome | None
    error: BaseException | None = None
    retry_in: float | None = None


class BodyGroups(Protocol):
    """Finds the groups of jobs, for their bodies."""

    def of_body(self, context: "JobContext[Any]", /) -> JobGroup:
        """Return the group of a job."""
        ...

    def of_coroutine(self, context: "JobContext[Any]", /) -> AsyncJobGroup:
        """Return the group of a job whose body is a coroutine."""
        ...


class Loan:
    """A slot that a waiting body has lent; `returned` is done when the body has a slot again."""

    def __init__(self) -> None:
        self.returned: Future[None] = Future()


class LendsSlots(Protocol):
    """The slots of a node, as a body uses them that waits for another job."""

    def lend(self) -> Loan:
        """Free the slot of the body, on the event loop of the node. Raises `WaitRefused`."""
        ...

    def take_back(self, loan: Loan, *, at_once: bool = False) -> None:
        """Give the body a slot as soon as one is free, or at once; on the event loop of the
        node.
        """
        ...

    def call(self, function: Callable[[], T], /) -> T:
        """Call a function on the event loop of the node, from the thread of the body."""
        ...


class JobContext(Generic[ParamsT]):
    """One attempt at a job, seen from its body.

    `params` are the checked parameters; `progress` is the root of the progress tree (0 to 100).
    Within a transaction on Horae's database `session` or `connection` are that transaction.
    """

    # Defaults that most jobs keep are those of the class: to set them for each job costs more than
    # to make the object.
    ended: BodyEnd | None = None
    """How the attempt ended, once it has; then only `@horae.around` still sees the context."""
    job_type: Any = None
    """Its job type, once the body begins."""
    log_book: Any = None
    """Where its log lines are kept, if they are."""
    log_lines: Any = None
    """Its log lines, from the first one on."""
    is_surrounded = False
    """Whether `@horae.around` surrounds the body."""
    body_is_called = False
    """Whether the body itself was called; only set if it is surrounded."""
    releases = False
    """Whether jobs may be claimed once the body's transaction is committed: new ones, or some that
    waited for it.
    """
    slots: LendsSlots | None = None
    """The slots of the node."""
    loan: Loan | None = None
    """The slot that the body has lent while it waits."""
    _order: BaseException | None = None
    _told = False
    _connection: "Connection | None" = None
    _session: "Session | None" = None
    _async_connection: "AsyncConnection | None" = None
    _async_session: "AsyncSession | None" = None
    _began: tuple[float, float] | None = None
    _before_end: "Sequence[Callable[[Connection], object]]" = ()

    def __init__(self, claim: Claim, params: ParamsT, report: Report) -> None:
        self.claim = claim
        self.params = params
        self._report = report

    @property
    def id(self) -> JobId:
        """The job's id."""
        return self.claim.id

    @property
    def type(self) -> str:
        """The name of its type."""
        return self.claim.type

    @property
    def owner(self) -> str | None:
        """The owner of the job, or None."""
        return self.claim.owner

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self.claim.attempt

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """The caller's data beside the parameters, such as a trace context."""
        meta: Mapping[str, Any] = json.loads(self.claim.meta)
        return meta

    @property
    def nominal_time(self) -> datetime | None:
        """The nominal time of a scheduled run, in UTC, however late it began; None for other
        jobs.
        """
        return self.claim.nominal_time

    @cached_property
    def progress(self) -> Progress:
        """The job's progress: 100 units, to be divided among children."""
        return Progress(100, on_change=self._report, checkpoint=self.check)

    @cached_property
    def group(self) -> JobGroup:
        """The group of which this job is a member, or after which it runs.

        Raises `HoraeError` if there is none.
        """
        return self._groups.of_body(self)

    @cached_property
    def async_group(self) -> AsyncJobGroup:
        """The group, for coroutines."""
        return self._groups.of_coroutine(self)

    @property
    def _groups(self) -> "BodyGroups":
        groups: BodyGroups | None = None if self.job_type is None else self.job_type.groups
        if groups is None:
            raise HoraeError(
                f"job type {self.type!r} is registered by no application, so its jobs know no"
                " groups"
            )
        return groups

    @property
    def label(self) -> str | None:
        """The last label that the body set."""
        return self.progress.label if "progress" in self.__dict__ else None

    @property
    def log(self) -> logging.Logger:
        """A logger; its records carry job, type, lease and node."""
        return log

    def check(self) -> None:
        """Raise if the job was cancelled, timed out, or belongs to another node now.

        Each progress report calls it.

        A timeout is raised only once, so that a body may clean up and return a partial result.
        """
        if self._order is not None and not self._told:
            self._told = isinstance(self._order, Exception)
            raise self._order

    def check_end(self) -> None:
        """Raise after the body has returned if its result must be discarded; a result after a
        timeout counts.
        """
        if self._order is not None and not isinstance(self._order, Exception):
            raise self._order

    def stop(self, order: BaseException, *, told: bool = False) -> None:
        """Make `check` raise `order`; with `told` the body was informed already.

        A cancel replaces a timeout.
        """
        if self._order is None or isinstance(self._order, Exception):
            self._order, self._told = order, told and isinstance(order, Exception)

    @property
    def order(self) -> BaseException | None:
        """The order to stop, if one was given."""
        return self._order

    @property
    def told(self) -> bool:
        """Whether the timeout was raised in the body."""
        return self._told

    def begin(self) -> None:
        """Record that the body begins now."""
        self._began = (time.monotonic(), time.time())

    @property
    def has_begun(self) -> bool:
        """Whether the executor has begun with the body."""
        return self._began is not None

    @property
    def took(self) -> float | None:
        """Seconds since the body began, by the monotonic clock; None where the stored moments are
        accurate enough.
        """
        if self._began is None:
            return None
        took = time.monotonic() - self._began[0]
        if self.claim.schedule_id is not None:
            return took
        # For so short a body it is not worth reading the wall clock again to detect that it was
        # set.
        if took <= TOLERANCE or abs(took - (time.time() - self._began[1])) <= TOLERANCE:
            return None
        return took

    @property
    def connection(self) -> Connection:
        """The transaction of this job; it commits if and only if the job finishes."""
        return self._there(self._connection, "transaction")

    @property
    def session(self) -> "Session":
        """A Session in the job's transaction; its `commit` only flushes, because the end of the job
        commits.
        """
        if self._session is None:
            from sqlalchemy.orm import Session  # noqa: PLC0415 - see the top

            self._session = Session(self.connection, join_transaction_mode="rollback_only")
        return self._session

    @property
    def async_connection(self) -> "AsyncConnection":
        """The transaction of an async body."""
        return self._there(self._async_connection, "async transaction")

    @property
    def async_session(self) -> "AsyncSession":
        """An AsyncSession in the transaction of an async body."""
        if self._async_session is None:
            from sqlalchemy.ext.asyncio import AsyncSession  # noqa: PLC0415 - see the top

            self._async_session = AsyncSession(
                self.async_connection, join_transaction_mode="rollback_only"
            )
        return self._async_session

    @property
    def has_transaction(self) -> bool:
        """Whether the body runs in a transaction on Horae's database, which commits only if the job
        finishes.
        """
        return self._connection is not None or self._async_connection is not None

    def before_end(self, call: Callable[[Connection], object]) -> None:
        """Call this in the transaction of the job, just before its last statement ends the job."""
        self._before_end = [*self._before_end, call]

    def run_before_end(self, connection: Connection) -> None:
        """Make these calls."""
        for call in self._before_end:
            call(connection)

    def enter(self, connection: Connection | None, session: "Session | None") -> None:
        """Give the body its transaction."""
        self._connection, self._session = connection, session

    def enter_async(
        self, connection: "AsyncConnection | None", session: "AsyncSession | None"
    ) -> None:
        """Give an async body its transaction."""
        self._async_connection, self._async_session = connection, session

    def _there(self, connection: ConnectionT | None, kind: str) -> ConnectionT:
        if connection is None:
            raise HoraeError(
                f"job type {self.type!r} runs in no {kind} on Horae's database; declare"
                " transaction='read committed'"
            )
        return connection


def connection_of(context: JobContext[Any]) -> Connection | None:
    """Return the connection of a body's transaction on Horae's database, of either kind; None if
    there is none.
    """
    # Not for bodies
    own, for_coroutines = context._connection, context._async_connection  # noqa: SLF001
    return own if for_coroutines is None else for_coroutines.sync_connection
