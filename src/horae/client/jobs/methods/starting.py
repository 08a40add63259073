"""The methods of `Jobs` that create jobs: checked, inserted in one transaction, then announced."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Never, TypeAlias

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from horae.client.changes import is_requested, recorded
from horae.client.jobs.creating import (
    NewJob,
    NewJobs,
    RunsInline,
    create,
    create_many,
    create_plain,
    listed,
    refusal_by_position,
    refusal_of_session,
    retried_inline,
)
from horae.client.jobs.creating.new_job import new_job
from horae.client.jobs.limits import USUAL, JobLimits
from horae.client.jobs.methods.base import WORK, JobsBase, is_new
from horae.domain.backoff import Backoff
from horae.domain.jobs import Claim, Debounce, Job, JobId, OnDuplicate, Unique
from horae.domain.times import Duration
from horae.errors import InvalidRequest
from horae.live import LiveStore
from horae.quoting import quoted
from horae.storage.engine import Database, conflicts_as_busy, repeatable
from horae.storage.engine.after_commit import after_commit
from horae.types import JobTypeReference, Registry, of_kind
from horae.types.options import OPTIONS, DependencyFailure, StartOptions, check_batch
from horae.wakeup import WakeupChannel, work

Within: TypeAlias = Session | Connection


class StartsJobs(JobsBase):
    """The methods that create jobs."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        live: LiveStore,
        wakeup: WakeupChannel,
        *,
        keep: timedelta,
        inline: RunsInline,
        limits: JobLimits = USUAL,
    ) -> None:
        """`inline` runs the jobs that are to run in the thread of the caller."""
        super().__init__(database, registry, live, wakeup, keep=keep, limits=limits)
        self._inline = inline

    def start(  # noqa: PLR0913 - the options of a job
        self,
        job_type: JobTypeReference,
        /,
        *by_position: Never,
        session: Within | None = None,
        owner: str | None = None,
        run_at: datetime | None = None,
        delay: Duration | None = None,
        priority: int | None = None,
        queue: str | None = None,
        unique_key: str | None = None,
        unique: Unique | None = None,
        on_duplicate: OnDuplicate | None = None,
        debounce: Duration | Debounce | None = None,
        expires: Duration | datetime | None = None,
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        meta: Mapping[str, Any] | None = None,
        after: Iterable[Job | int] | None = None,
        on_dependency_failure: DependencyFailure | None = None,
        weight: int | None = None,
        tags: Collection[str] | None = None,
        sync: bool = False,
        **values: Any,
    ) -> Job:
        """Create a job; a node runs it. Other named arguments are the job's parameters.

        `session`: create it in the caller's transaction, so that it exists if and only if that
        commits. `sync`: run it in this thread, under the same rules and with its retries, and
        return it when it has ended; it is still pending only if its next attempt is due in more
        than a minute, which is left to the nodes. `unique`, `unique_key`: refuse the start, return
        the existing job or replace it, if there is one already. `debounce`: move the pending job
        that an earlier call has started, and give it these parameters. `after`: jobs that must end
        before it may start; see `StartOptions`. `expires`: fail the job if it has not begun by
        then. Raises `InvalidParameters`, `MaxJobCountExceeded`, `DuplicateJob`, `JobDoesNotExist`
        for a job of `after`, or what `prepare_values` and `after_creation` raise; nothing is left
        then.
        """
        given = locals()  # read by name, because each option is then written only once here
        if by_position:
            raise refusal_by_position(self._registry.resolve(job_type), by_position)
        named = {name: value for name in OPTIONS if (value := given[name]) is not None}
        options = StartOptions(**named)
        return self.create(job_type, values, options, session=session, sync=sync)

    def create(
        self,
        job_type: JobTypeReference,
        values: Mapping[str, Any],
        options: StartOptions,
        *,
        session: Within | None = None,
        sync: bool = False,
    ) -> Job:
        """Create a job as `start` does; parameters and options are separate, so that names cannot
        clash.
        """
        new = new_job(self._registry.resolve(job_type), options, values)
        if sync:
            return self._start_inline(new, session)
        if session is not None:
            return self._until_done(partial(self._create_within, session, new))
        return self._until_done(partial(self._create, new))

    def start_many(
        self,
        job_type: JobTypeReference,
        values: Iterable[Mapping[str, Any]],
        /,
        *,
        session: Within | None = None,
        owner: str | None = None,
        options: StartOptions | None = None,
    ) -> list[JobId]:
        """Create one job for each mapping of parameters, all or none; return their ids in order.

        `owner`: the owner of all of them; `options`: the other options, which apply to all as well;
        with `after` each of them waits for these jobs.
        """
        options = options or StartOptions()
        of_kind("options", options, StartOptions, "StartOptions")
        if owner is not None:
            if options.owner not in (None, owner):
                raise InvalidRequest(
                    f"owner is {quoted(owner)}, and {quoted(options.owner)} in options; name it"
                    " once"
                )
            options = replace(options, owner=owner)
        kind = self._registry.resolve(job_type)
        given = listed(values, self.limits)
        check_batch(kind, options, len(given))
        if kind.uniqueness is not None or options.after:
            # Each is compared with those before it, or waits, so they are created one by one.
            each_new = [new_job(kind, options, item, in_batch=True) for item in given]
            return self._insert(
                lambda connection: [create(connection, new)[0].id for new in each_new], session
            )
        batch = NewJobs(kind, options)
        for item in given:
            batch.append(item)
        return self._insert(partial(create_many, new=batch), session) if given else []

    def _create(self, new: NewJob) -> Job:
        if new.is_plain and not is_requested():
            job = self._database.autocommit(create_plain, new)
        else:
            job, _ = self._database.transact(recorded(create, changed=is_new), new)
        self._wakeup.send(WORK)
        return job

    def _create_within(self, session: Within, new: NewJob) -> Job:
        with conflicts_as_busy():
            job, _ = create(self._within(session), new)
        after_commit(session, partial(self._wakeup.send, WORK))
        return job

    def _insert(
        self, insert: Callable[[Connection], list[JobId]], session: Within | None
    ) -> list[JobId]:
        """Create jobs in the caller's transaction or an own one, and notify nodes once it has
        committed.
        """
        if session is not None:
            return self._until_done(partial(self._insert_within, session, insert))
        return self._until_done(partial(self._insert_alone, insert))

    def _insert_alone(self, insert: Callable[[Connection], list[JobId]]) -> list[JobId]:
        created = self._database.transact(insert)
        self._wakeup.send(work(len(created)))
        return created

    def _insert_within(
        self, session: Within, insert: Callable[[Connection], list[JobId]]
    ) -> list[JobId]:
        connection = self._within(session)
        # The rows of a blocked attempt must not stay when it is repeated.
        with conflicts_as_busy(), repeatable(connection):
            created = insert(connection)
        after_commit(session, partial(self._wakeup.send, work(len(created))))
        return created

    def _start_inline(self, new: NewJob, session: Within | None) -> Job:
        if new.after is not None:
            raise InvalidRequest(
                "sync=True runs the job at once, so it cannot wait for other jobs (after)"
            )
        if session is not None:
            raise InvalidRequest(
                "sync=True runs the job at once, so it cannot wait for the session's commit"
            )
        if new.is_debounced:
            raise InvalidRequest(
                "sync=True runs the job at once, so it cannot wait for later calls (debounce)"
            )
        if new.row.limits is not None:
            raise InvalidRequest(
                f"sync=True runs the job at once, and the limits of job type {new.row.type!r}"
                " may not allow that"
            )
        self._inline.join()
        return self._until_done(partial(self._run_inline, new))

    def _run_inline(self, new: NewJob) -> Job:
        def create_and_claim(connection: Connection) -> tuple[Job, Claim | None]:
            job, is_created = create(connection, new)
            return job, self._inline.claim(connection, job.id) if is_created else None

        job, claim = self._inline.claim_by(
            lambda: self._database.transact(create_and_claim),
            lambda created: created[1],
        )
        if claim is None:  # there is an active job with the same key
            return self.get(job.id)
        self._inline.run(claim)
        ended = retried_inline(self.waits, self._wakeup, self._inline, partial(self.get, job.id))
        self._hooks.remove_ended(ended)
        return ended

    def _within(self, session: Within) -> Connection:
        connection = session.connection() if isinstance(session, Session) else session
        if not isinstance(connection, Connection):
            raise refusal_of_session(connection, "a Session or a Connection of SQLAlchemy")
        self._same_database.check(connection)
        self._database.adopt(connection)
        return connection


if missing := OPTIONS.keys() - (StartsJobs.start.__kwdefaults__ or {}).keys():
    raise TypeError(f"Jobs.start lacks the options {sorted(missing)}")
