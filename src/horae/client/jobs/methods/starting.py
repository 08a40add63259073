"""The methods of `Jobs` that create jobs: checked first, created in one transaction, announced
after its commit.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Never, TypeAlias

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from horae.client.changes import is_requested, recorded
from horae.client.jobs.creating import creation
from horae.client.jobs.creating.creation import Creation
from horae.client.jobs.creating.inline import retried_inline
from horae.client.jobs.creating.wrong_calls import refusal_by_position, refusal_of_session
from horae.client.jobs.methods.base import WORK, JobsBase, is_new
from horae.domain.backoff import Backoff
from horae.domain.jobs.job import Claim, Job, JobId
from horae.domain.jobs.uniqueness import Debounce, OnDuplicate, Unique
from horae.domain.times.duration import Duration
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.storage.engine.after_commit import after_commit
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.engine.failures import conflicts_as_busy
from horae.types.arguments import of_kind
from horae.types.job_type import JobType
from horae.types.registry import JobTypeReference
from horae.types.rules.start_options import DependencyFailure, StartOptions
from horae.types.rules.uniqueness import check_batch
from horae.wakeup.channel import work

Within: TypeAlias = Session | Connection


class StartsJobs(JobsBase):
    """The methods that create jobs."""

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
        if by_position:
            raise refusal_by_position(self._registry.resolve(job_type), by_position)
        options = StartOptions(
            owner=owner,
            run_at=run_at,
            delay=delay,
            priority=priority,
            queue=queue,
            unique_key=unique_key,
            unique=unique,
            on_duplicate=on_duplicate,
            debounce=debounce,
            max_attempts=max_attempts,
            backoff=backoff,
            meta=meta,
            after=after,
            on_dependency_failure=on_dependency_failure,
            weight=weight,
            expires=expires,
            tags=tags,
        )
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
        """Create a job as `start` does; parameters and options are separate, so that no name can
        clash.
        """
        wanted = creation.checked(self._registry.resolve(job_type), options, values)
        if sync:
            if wanted.after:
                raise InvalidRequest(
                    "sync=True runs the job at once, so it cannot wait for other jobs (after)"
                )
            return self._start_inline(wanted, session)
        if session is not None:
            return self._until_done(partial(self._create_within, session, wanted))
        return self._until_done(partial(self._create, wanted))

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
        """Create one job for each mapping of parameters, in one statement, all or none; their ids
        in order.

        `owner`: the owner of all of them; `options` has the other options, which apply to all as
        well; with `after` each of them waits for these jobs.
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
        given = creation.counted(values, self.limits)
        check_batch(kind, options, len(given))
        if kind.uniqueness is not None or options.after:
            return self._start_each(kind, given, options, session)
        stored = [creation.stored_parameters(kind, options, item) for item in given]
        if not stored:
            return []
        template = Creation(
            kind, creation.new_job(kind, options, None), {}, stored[0], in_batch=True
        )
        return self._insert(
            partial(creation.create_many, template=template, stored=stored, values=given), session
        )

    def _start_each(
        self,
        kind: JobType[Any],
        given: Sequence[Mapping[str, Any]],
        options: StartOptions,
        session: Within | None,
    ) -> list[JobId]:
        """Create jobs one by one in one transaction: each is compared with those before it, or
        waits for others.
        """
        wanted = [replace(creation.checked(kind, options, item), in_batch=True) for item in given]

        def insert(connection: Connection) -> list[JobId]:
            return [creation.create(connection, each)[0].id for each in wanted]

        return self._insert(insert, session)

    def _create(self, wanted: Creation) -> Job:
        if wanted.is_plain and not is_requested():
            job = self._database.autocommit(creation.create_plain, wanted)
        else:
            job, _ = self._database.transact(
                recorded(creation.create, changed=is_new), wanted=wanted
            )
        self._wakeup.send(WORK)
        return job

    def _create_within(self, session: Within, wanted: Creation) -> Job:
        with conflicts_as_busy():
            job, _ = creation.create(self._within(session), wanted)
        after_commit(session, partial(self._wakeup.send, WORK))
        return job

    def _insert(
        self, insert: Callable[[Connection], list[JobId]], session: Within | None
    ) -> list[JobId]:
        """Create jobs in the caller's transaction, or in one of their own, and notify nodes once it
        has committed.
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
        # What an attempt has inserted before it was blocked must not stay when it is repeated.
        # SQLite has one writer, so nothing is blocked, and its driver would commit a transaction
        # that begins with a savepoint.
        repeatable = (
            connection.begin_nested() if connection.dialect.name == POSTGRESQL else nullcontext()
        )
        with conflicts_as_busy(), repeatable:
            created = insert(connection)
        after_commit(session, partial(self._wakeup.send, work(len(created))))
        return created

    def _start_inline(self, wanted: Creation, session: Within | None) -> Job:
        if session is not None:
            raise InvalidRequest(
                "sync=True runs the job at once, so it cannot wait for the session's commit"
            )
        if wanted.debounce is not None:
            raise InvalidRequest(
                "sync=True runs the job at once, so it cannot wait for later calls (debounce)"
            )
        if wanted.new.limits is not None:
            raise InvalidRequest(
                f"sync=True runs the job at once, and the limits of job type {wanted.new.type!r}"
                " may not allow that"
            )
        self._inline.join()
        return self._until_done(partial(self._run_inline, wanted))

    def _run_inline(self, wanted: Creation) -> Job:
        job, claim = self._inline.claimed(
            lambda: self._database.transact(self._create_and_claim, wanted=wanted),
            lambda created: created[1],
        )
        if claim is None:  # an active job with the same key
            return self.get(job.id)
        self._inline.run(claim)
        ended = retried_inline(self.waits, self._wakeup, self._inline, partial(self.get, job.id))
        self._hooks.remove_ended(ended)
        return ended

    def _create_and_claim(
        self, connection: Connection, wanted: Creation
    ) -> tuple[Job, Claim | None]:
        job, new = creation.create(connection, wanted)
        return job, self._inline.claim(connection, job.id) if new else None

    def _within(self, session: Within) -> Connection:
        connection = session.connection() if isinstance(session, Session) else session
        if not isinstance(connection, Connection):
            raise refusal_of_session(connection, "a Session or a Connection of SQLAlchemy")
        self._same_database.check(connection)
        self._database.adopt(connection)
        return connection
