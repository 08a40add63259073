"""`testing`: an application works on a temporary database, or in a transaction of the test."""

from collections.abc import Collection, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session, scoped_session

from horae.app import Horae
from horae.domain.jobs import Job, JobId, JobState
from horae.domain.times import Duration, parse_duration
from horae.errors import ConfigurationError, HoraeError, InvalidRequest, JobFailed
from horae.runtime.components import Components
from horae.settings import Settings
from horae.storage.engine import Database, normalised
from horae.testing.clocks import FileClock, ServerClock, SetClock, TransactionClock
from horae.testing.databases import (
    settings_replaced,
    temporary_database,
    transaction_of_test,
    url_beside,
)
from horae.testing.running import JobRunner, RunningChannel
from horae.testing.started_jobs import matching, not_started, refuse_unknown, unexpected
from horae.types import JobTypeReference, Starting
from horae.wakeup import Hint, HintKind

# ruff: noqa: PT028 - `testing` is no test
MOST_RUNS: Final = 10_000
"""Number of runs after which a job is taken to start itself for ever."""
ALONE: Final[dict[str, Any]] = {
    "hints": False,
    "read_database": None,
    "hints_database": None,
    "redis": None,
    "redis_live": None,
    "redis_hints": None,
}
"""Settings of every application under test: nothing leaves its database."""


@contextmanager
def testing(
    horae: Horae,
    *,
    connection: Connection | Session | scoped_session[Any] | None = None,
    now: datetime | None = None,
    eager: bool = False,
) -> "Generator[HoraeTesting]":
    """Let an application work on a temporary database while the block lasts.

    The database is of the same kind, on the same server, and gone afterwards. With `connection`, a
    Connection or Session of SQLAlchemy, the application works in that transaction instead, which
    the test rolls back. An application of Django works in the transaction of Django's `TestCase`.
    Nothing runs by itself: `drain` and `run_due` run jobs, and so does
    waiting for one. `now`: where the clock of the database stands, by default the present.
    `eager=True`: each job runs as soon as its start is committed.
    """
    if now is not None and now.tzinfo is None:
        raise InvalidRequest(f"now {now} has no time zone; use an aware datetime")
    if isinstance(connection, Session | scoped_session):
        # A session may work in a savepoint of the connection that it was made with.
        bind = connection.get_bind()
        connection = bind if isinstance(bind, Connection) else connection.connection()
    with ExitStack() as databases:
        if (joins := horae.opened.joins) is not None:
            if connection is not None:
                raise InvalidRequest("leave out connection: the test has that of its framework")
            connection = databases.enter_context(transaction_of_test(joins))
            url = horae.settings.database
        elif connection is None:
            url = databases.enter_context(temporary_database(horae.settings.database))
        else:
            url = databases.enter_context(url_beside(connection))
        changes = {**ALONE, "database": url}
        test = HoraeTesting(horae, connection, changes, eager=eager)
        databases.callback(test.bind)
        databases.enter_context(settings_replaced(horae, changes))
        replaced, horae.opened.test = horae.opened.test, test
        try:
            with test.opened(now):
                yield test
        finally:
            horae.opened.test = replaced


testing.__test__ = False  # type: ignore[attr-defined] # pytest collects `test…` functions


class HoraeTesting:
    """An application under test; made by `testing`."""

    def __init__(
        self,
        horae: Horae,
        connection: Connection | None,
        changes: Mapping[str, Any],
        *,
        eager: bool,
    ) -> None:
        self.horae = horae
        """The application."""
        self._connection, self._eager = connection, eager
        self._changes = changes
        self._bound: Settings | None = None
        self._made: tuple[Components, JobRunner] | None = None
        self._clock: SetClock
        self._first = 0
        self._busy = self._has_work = False
        self._calls = 0

    def keep(self, chosen: Settings, /) -> Settings:
        """Return the settings with which an application that is bound now remains in the test."""
        kind = normalised(chosen.database).get_backend_name()
        if kind != self._database().dialect:
            raise ConfigurationError(
                f"the database of the application is {kind}, but its test has begun with"
                f" {self._database().dialect}: bind the application before `testing`, or set"
                " HORAE_DATABASE"
            )
        self._bound = chosen
        return chosen.model_copy(update=self._changes)

    def bind(self) -> None:
        """After the test, give an application that was bound meanwhile its settings."""
        if self._bound is not None:
            self.horae.settings = self._bound

    def open(self, database: Database, /) -> None:
        """Let the database work in the transaction of the test, if there is one."""
        if self._connection is None:
            database.be_temporary()
        else:
            database.lend(self._connection)

    def adapt(self, made: Components, /) -> Components:
        """Return the adapters of the application with those of the test."""
        wakeup = RunningChannel(made.wakeup, self._run_waited, self._run_eagerly)
        return replace(made, wakeup=wakeup)

    @contextmanager
    def opened(self, now: datetime | None) -> Generator[None]:
        """Open the application, stop the clock, and deploy the schedules that are declared."""
        in_transaction = self._connection is not None
        if self._database().is_file:
            self._clock = FileClock(self._database)
        else:
            of_server = TransactionClock if in_transaction else ServerClock
            self._clock = of_server(self._database)
        if now is not None or not in_transaction:
            self._clock.set(now or datetime.now(UTC))  # noqa: TID251 - a test begins now
        try:
            newest = self.horae.jobs.list(limit=1).jobs
            self._first = newest[0].id + 1 if newest else 0
            if self.horae.declared or self.horae.registry.queues:
                self.horae.deploy(restore=False)
            if self._eager:
                self.horae.hooks.starts.append(self._starting)
            yield
        finally:
            if self._starting in self.horae.hooks.starts:
                self.horae.hooks.starts.remove(self._starting)
            self._clock.restore()

    def _database(self) -> Database:
        return self.horae.components.database

    @property
    def _runner(self) -> JobRunner:
        """The runner on the database that is open now: the application may have closed another."""
        components = self.horae.components
        if self._made is None or self._made[0] is not components:
            self._made = components, JobRunner(components)
        return self._made[1]

    @property
    def now(self) -> datetime:
        """Where the clock of the database stands."""
        return self._clock.now().astimezone(UTC)

    @property
    def engine(self) -> Engine:
        """The engine of the database, for tables of the application: `create_all(t.engine)`."""
        return self._database().engine if self._connection is None else self._connection.engine

    def drain(
        self, *, queues: Collection[str] | None = None, check: bool = True, most: int = MOST_RUNS
    ) -> list[Job]:
        """Run due jobs one after another in this thread until none is due; return them as they are
        then.

        Jobs that they start run as well; those that are due later wait, also for their next
        attempt. `check`: raise what a body raised that is not tried again, as `JobFailed`. Raises
        `HoraeError` after `most` runs.
        """
        return self._results(self._drain(queues, most), check=check)

    def run_due(
        self,
        until: datetime | Duration | None = None,
        *,
        check: bool = True,
        most: int = MOST_RUNS,
    ) -> list[Job]:
        """Fire due schedules and run due jobs, moving the clock from one to the next until a moment
        or for a time such as `"30d"`; return the jobs.

        The clock stands at `until` afterwards; without it, it does not move. See `drain`.
        """
        end = until
        if end is not None and not isinstance(end, datetime):
            end = self.now + parse_duration("until", end)
        elif end is not None and end.tzinfo is None:
            raise InvalidRequest(f"until {end} has no time zone; use an aware datetime")
        if end is not None and end < self.now:
            raise InvalidRequest(f"until {end} is before the clock, which stands at {self.now}")
        ran: list[JobId] = []
        while True:
            fired = self._runner.fire()
            done = self._drain(None, most - len(ran))
            ran += done
            if fired or done:
                continue
            now = self.now
            if end is None or end <= now:
                break
            seconds = self._runner.next_due_in((end - now).total_seconds())
            if seconds is None:
                self._clock.set(end)
                end = None
                continue
            step = max(timedelta(seconds=seconds), timedelta(microseconds=1))
            self._clock.set(min(now + step, end))
        return self._results(ran, check=check)

    def started(self, job_type: JobTypeReference, /, **expected: Any) -> list[Job]:
        """Return the jobs of a type that were started in the test with these parameters.

        `owner`, `queue` and other options are compared as well; what is not named may be anything.
        Raises `AssertionError` if there is none, with what was started.
        """
        __tracebackhide__ = True
        kind = self.horae.registry.resolve(job_type)
        refuse_unknown(kind, expected)
        all_jobs = self._all_started()
        found = matching([job for job in all_jobs if job.type == kind.type], expected)
        if not found:
            raise AssertionError(not_started(kind.type, expected, all_jobs))
        return found

    def nothing_started(self, job_type: JobTypeReference | None = None, /, **expected: Any) -> None:
        """Raise `AssertionError` if such a job was started in the test, or any without a type."""
        __tracebackhide__ = True
        jobs = self._all_started()
        if job_type is not None:
            kind = self.horae.registry.resolve(job_type)
            refuse_unknown(kind, expected)
            jobs = [job for job in jobs if job.type == kind.type]
        if found := matching(jobs, expected):
            raise AssertionError(unexpected(found))

    def crash(self, job: Job | int) -> Job:
        """Let the node that runs a due job die in the middle, and the job be rescued as in life.

        Returns it: pending again after its back-off, or failed if it has no attempt left. The body
        is not called; `crash_everywhere` kills it at each point. Raises `InvalidRequest` for a job
        that is not due.
        """
        read = self.horae.jobs.get(job.id if isinstance(job, Job) else job)
        if not self._runner.crash(read):
            if read.ended:
                raise InvalidRequest(f"job {read.id} is {read.state}, so no node runs it any more")
            raise InvalidRequest(
                f"job {read.id} is {read.state}, and due at {read.run_at}, so no node runs it now;"
                " t.run_due(until=…) moves the clock"
            )
        return self.horae.jobs.get(read.id)

    def _drain(self, queues: Collection[str] | None, most: int) -> list[JobId]:
        busy, self._busy = self._busy, True
        ran: list[JobId] = []
        try:
            self._runner.expire()
            while done := self._runner.run_next(queues):
                ran += done
                if len(ran) > most:
                    raise HoraeError(
                        f"jobs are still due after {most} runs; does job {done[-1]} start itself?"
                    )
            self._runner.call_hooks()
        finally:
            self._busy = busy
        return ran

    def _run_waited(self) -> None:
        self._has_work = False
        self._drain(None, MOST_RUNS)

    @contextmanager
    def _starting(self, _starting: Starting) -> Generator[None]:
        """Run the job of an eager start when its call is over, which may hold up others."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
        if self._has_work and not (self._calls or self._busy):
            self._run_waited()

    def _run_eagerly(self, hint: Hint) -> None:
        if not self._eager or hint.kind is not HintKind.WORK or self._busy:
            return
        self._has_work = True
        if not self._calls:  # the transaction of the caller has committed
            self._run_waited()

    def _results(self, ran: list[JobId], *, check: bool) -> list[Job]:
        jobs = [self.horae.jobs.get(job_id) for job_id in dict.fromkeys(ran)]
        failures, self._runner.failures = self._runner.failures, {}
        if check:
            for job in jobs:
                if job.state is JobState.FAILED or job.id in failures:
                    raise JobFailed(
                        job.id, job.error or "", job.human_readable_error or ""
                    ) from failures.get(job.id)
        return jobs

    def _all_started(self) -> list[Job]:
        found: list[Job] = []
        cursor: str | None = None
        while True:
            page = self.horae.jobs.list(limit=1000, cursor=cursor)
            found += [job for job in page.jobs if job.id >= self._first]
            cursor = page.next
            if cursor is None or page.jobs[-1].id < self._first:
                break
        return [job if job.is_whole else self.horae.jobs.get(job.id) for job in reversed(found)]
