"""How callers start jobs: one, many, a chain or a group."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from sqlalchemy import Connection

from horae.client.changes import is_requested, with_entry
from horae.client.jobs.body_waits import BodyWaits
from horae.client.jobs.cancelling import JobCanceller
from horae.client.jobs.creating import (
    INSERTED_AT_ONCE,
    Batch,
    Member,
    MemberParser,
    NewJob,
    NewJobs,
    RunsInline,
    SharedInserts,
    add_to_open,
    create,
    create_chain,
    create_group,
    create_many,
    create_plain,
    has_large_values,
    job_of,
    new_job,
    new_jobs,
    observed,
    once,
    refusal_of_session,
    run_retries,
    take_batch,
    with_meta_of,
    with_retries,
)
from horae.client.jobs.job_reads import JobLimits, JobReads
from horae.client.jobs.typed_starts import Within, typed_start
from horae.domain.jobs import EVERYBODY, Claim, Group, GroupId, Job, JobId, OnFailure, Whose
from horae.domain.names import owner_id
from horae.errors import InvalidRequest
from horae.live import LiveStore
from horae.quoting import quoted
from horae.storage.engine import Database, SameDatabase, conflicts_as_busy, repeatable
from horae.storage.engine.after_commit import after_commit
from horae.storage.jobs.groups import groups
from horae.storage.outcomes import follow_ups
from horae.types import JobTypeReference, Observer, Registry, Starting, of_kind
from horae.types.hooks import Hooks
from horae.types.options import (
    NO_OPTIONS,
    StartOptions,
    check_batch,
    options_in,
    true_or_false,
)
from horae.wakeup import Hint, WakeupChannel, work

T = TypeVar("T")
JobIds: TypeAlias = list[JobId]
StartedJobs: TypeAlias = list[Job[Any]]
Created: TypeAlias = list[T]
OnFailureText: TypeAlias = Literal["continue", "cancel"]
WORK: Final = work()
ATOMIC: Final = 10_000
"""Maximum number of members that are inserted in one transaction.

A larger one would hold SQLite's write lock for so long that nodes lose contact with their database.
"""


class JobStarts(JobReads):
    """Start jobs, and read them."""

    def __init__(
        self,
        database: Database,
        registry: Registry,
        live: LiveStore,
        wakeup: WakeupChannel,
        *,
        inline: Callable[[], RunsInline] | None,
        limits: JobLimits,
        observers: Sequence[Observer[Starting]],
    ) -> None:
        super().__init__(database, registry, live, limits)
        self._wakeup, self._inline, self.observers = wakeup, inline, observers
        self.may_wait = True
        self.inserts = SharedInserts(database, wakeup)
        self._same_database = SameDatabase(database)
        self._hooks = Hooks(database, registry)
        self.waits = BodyWaits(database, live)
        self.canceller = JobCanceller(database, live, wakeup, self._hooks)

    @typed_start
    def start(
        self,
        job_type: JobTypeReference,
        /,
        *by_position: Any,
        session: Within | None = None,
        sync: bool = False,
        **keywords: Any,
    ) -> Job:
        """Create a job; a node runs it.

        The keywords are the options of `StartOptions`; others are the job's parameters.

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
        options, values = options_in(keywords)
        if by_position:
            values = self.named(job_type, by_position, values)
        return self.create(job_type, values, options, session=session, sync=sync)

    def named(
        self, job_type: JobTypeReference, by_position: Sequence[Any], values: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """Return all parameters of a call by their names. Raises `InvalidRequest`."""
        return self._registry.resolve(job_type).named(by_position, values)

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
        if not self.observers:
            return self.create_unobserved(job_type, values, options, session=session, sync=sync)
        with observed(self.observers, self._registry.resolve(job_type), options) as starting:
            options = with_meta_of(starting, options)
            job = self.create_unobserved(job_type, values, options, session=session, sync=sync)
            starting.ids = (job.id,)
        return job

    def create_unobserved(
        self,
        job_type: JobTypeReference,
        values: Mapping[str, Any],
        options: StartOptions,
        *,
        session: Within | None = None,
        sync: bool = False,
    ) -> Job:
        """Create a job as `create` does, for a caller that has told observers of it."""
        new = new_job(self._registry.resolve(job_type), options, values)
        if true_or_false("sync", sync):
            return self._run_here(new, session)

        if session is None:
            return self.insert(new)

        def insert_within() -> Job:
            with conflicts_as_busy():
                job, _ = create(self._within(session), new)
            after_commit(session, partial(self._wakeup.send, WORK))
            return job

        return self._until_done(insert_within)

    def create_unless_large(
        self, job_type: JobTypeReference, values: Mapping[str, Any], options: StartOptions
    ) -> Job | NewJob:
        """Create a job; return it unmade if it has values for the store of large ones."""
        new = new_job(self._registry.resolve(job_type), options, values, elsewhere=False)
        return new if has_large_values(new) else self.insert(new)

    def insert(self, new: NewJob) -> Job:
        """Create a job that was checked, in a transaction of its own."""

        def insert() -> Job:
            # In the transaction of another library, an INSERT is no commit that could be shared.
            if not new.is_plain or is_requested() or self._database.joined() is not None:
                job, _ = self._database.transact(with_entry(create, changed=is_new), new)
            elif new.is_free:
                return job_of(new.row, self.inserts.insert([new.row])[0])
            else:
                job = self._database.autocommit(create_plain, new)
            self._wakeup.send(WORK)
            return job

        return self._until_done(insert)

    def start_many(
        self,
        job_type: JobTypeReference,
        values: Iterable[Mapping[str, Any]],
        /,
        *,
        session: Within | None = None,
        owner: str | None = None,
        options: StartOptions | None = None,
    ) -> JobIds:
        """Create one job for each mapping of parameters, all or none; return their ids in order.

        `owner`: the owner of all of them; `options`: the other options, which apply to all as well;
        with `after` each of them waits for these jobs.
        """
        options = options or NO_OPTIONS
        of_kind("options", options, StartOptions, "StartOptions")
        if owner is not None:
            if options.owner not in (None, owner):
                raise InvalidRequest(
                    f"owner is {quoted(owner)}, and {quoted(options.owner)} in options; name it"
                    " once"
                )
            options = replace(options, owner=owner)
        kind = self._registry.resolve(job_type)
        given = take_batch(values, self.limits.uncounted_jobs)
        check_batch(kind, options, len(given))
        with observed(self.observers, kind, options, count=len(given)) as starting:
            options = with_meta_of(starting, options)
            if not given:
                return []
            # A job that is compared with those before it, or waits, is created by itself.
            alone = kind.uniqueness is not None or options.after
            each_new = new_jobs(kind, options, given) if alone else []
            batch = NewJobs(kind, options)
            if not alone:
                batch.extend(given, "values")

            def create_all(connection: Connection) -> JobIds:
                if alone:
                    return [create(connection, new)[0].id for new in each_new]
                return create_many(connection, batch)

            starting.ids = ids = self._insert(create_all, session)
        return ids

    def chain(
        self,
        links: Iterable[Member],
        /,
        *,
        owner: str | None = None,
        options: StartOptions | None = None,
        session: Within | None = None,
    ) -> StartedJobs:
        """Start jobs of which each begins after the one before it has finished; all or none.

        A link is written like a member of a group: a job type, `(job_type, parameters)`, or with
        `StartOptions` as a third element; `options` are those of the others. A job type that
        declares an argument as `Previous[…]` gets the result of the job before. If a job fails or
        is cancelled, those after it are cancelled, unless their `on_dependency_failure` says
        otherwise. Returns the jobs in order. Raises what `start` raises.
        """
        if owner is not None:
            owner_id(owner)
        with observed(self.observers, None, options or NO_OPTIONS, count=None) as starting:
            parser = MemberParser(self._registry, owner, options, in_batch=False, starting=starting)
            # Only the first of them may start at once.
            jobs = self._insert(partial(create_chain, links=parser.chain(links)), session, WORK)
            starting.ids = tuple(job.id for job in jobs)
            return jobs

    def start_group(
        self,
        members: Iterable[Member],
        /,
        *,
        then: Member | None = None,
        on_failure: OnFailureText = "continue",
        owner: str | None = None,
        options: StartOptions | None = None,
        session: Within | None = None,
        counted: bool = False,
    ) -> Group:
        """Start jobs as a group, and a job that runs once all of them have ended.

        A member is `(job_type, parameters)`, or has `StartOptions` as a third element; `options`
        are those of the others. `then` is written like a member; it runs exactly once, and at once
        if there are no members. `on_failure`: whether the group goes on after a member failed or
        was cancelled (`"continue"`), or is cancelled with `then` (`"cancel"`). Up to 10,000
        members, or within `session`, all or none are created; more are inserted in batches, and may
        begin before the last ones are inserted. `counted`: the `max_count` that public types have
        by default holds for the members, as for jobs that users start one by one. Raises what
        `start` raises.
        """
        if on_failure not in get_args(OnFailureText):
            raise InvalidRequest(
                f"on_failure {quoted(on_failure)}: expected 'continue' or 'cancel'"
            )
        if owner is not None:
            owner_id(owner)
        with observed(self.observers, None, options or NO_OPTIONS, count=None) as starting:
            parser = MemberParser(
                self._registry, owner, options, in_batch=not counted, starting=starting
            )
            last = None if then is None else parser.then(then)
            batches = parser.batches(members)
            start = partial(create_group, owner=owner, on_failure=OnFailure(on_failure), then=last)
            first = list(islice(batches, ATOMIC // INSERTED_AT_ONCE))
            if session is not None:
                # Not repeated: rows of a blocked try would stay in the caller's transaction.
                connection = self._within(session)
                with conflicts_as_busy():
                    created = start(connection, batches=chain(first, batches))
                    group = groups.get(connection, created)
                after_commit(session, partial(self._wakeup.send, work(None)))
                assert group is not None
                return group
            rest = next(batches, None)

            def insert() -> Group:
                group_id = self._database.transact(start, batches=first, complete=rest is None)
                if rest is not None:
                    self._insert_rest(group_id, rest, batches)
                self._wakeup.send(work(None))
                return self.get_group(group_id)

            return self._until_done(insert)

    def add_to_group(
        self,
        group_id: int,
        members: Iterable[Member],
        /,
        *,
        options: StartOptions | None = None,
        owner: Whose = EVERYBODY,
        session: Within | None = None,
        held: tuple[JobId, int] | None = None,
    ) -> JobIds:
        """Add members while the group is open, all or none; return their ids in order.

        `held`: a member and its lease; members are added only while a node runs it under that
        lease. Raises `GroupNotOpen`.
        """
        with observed(self.observers, None, options or NO_OPTIONS, count=None) as starting:
            batches = self.parse_members(group_id, members, options, owner, starting)
            add = partial(add_to_open, group_id=GroupId(group_id), batches=batches, held=held)
            starting.ids = ids = self._insert(add, session)
        return ids

    def parse_members(
        self,
        group_id: int,
        members: Iterable[Member],
        options: StartOptions | None = None,
        owner: Whose = EVERYBODY,
        starting: Starting | None = None,
    ) -> Sequence[Batch]:
        """Parse and check members that are to be added to a group."""
        group = self._read_group(group_id, owner)
        parser = MemberParser(self._registry, group.owner, options, starting=starting)
        return tuple(parser.batches(members))

    def _insert(
        self,
        insert: Callable[[Connection], Created[T]],
        session: Within | None,
        hint: Hint | None = None,
    ) -> Created[T]:
        """Create jobs in the caller's transaction or an own one, and notify nodes once it has
        committed.

        `hint`: what nodes are told, by default the number of the jobs.
        """

        def attempt() -> Created[T]:
            if session is None:
                created = self._database.transact(insert)
                self._wakeup.send(hint or work(len(created)))
                return created
            connection = self._within(session)
            # The rows of a blocked attempt must not stay when it is repeated.
            with conflicts_as_busy(), repeatable(connection):
                created = insert(connection)
            after_commit(session, partial(self._wakeup.send, hint or work(len(created))))
            return created

        return self._until_done(attempt)

    def _insert_rest(
        self, group_id: GroupId, batch: Batch | None, batches: Iterator[Batch]
    ) -> None:
        """Insert the rest of a large group, each batch in a transaction of its own."""
        with ExitStack() as on_error:
            on_error.callback(
                lambda: self.canceller.cancel_group(
                    self._read_group(group_id, EVERYBODY), "the error that ended its creation"
                )
            )
            while batch is not None:
                add = partial(add_to_open, group_id=group_id, batches=[batch], by_starter=True)
                with_retries(partial(self._database.transact, add), self.limits.contention)
                self._wakeup.send(work(None))
                batch = next(batches, None)
            on_error.pop_all()
        self._database.transact(follow_ups.end_inserting, group_id)

    def _until_done(self, operation: Callable[[], T]) -> T:
        if self.may_wait:
            return with_retries(operation, self.limits.contention)
        return once(operation)

    def _run_here(self, new: NewJob, session: Within | None) -> Job:
        """Create a job and run it in this thread."""
        waits_for = {
            "other jobs (after)": new.after is not None,
            "the session's commit": session is not None,
            "later calls (debounce)": new.is_debounced,
        }
        for what, must_wait in waits_for.items():
            if must_wait:
                raise InvalidRequest(
                    f"sync=True runs the job at once, so it cannot wait for {what}"
                )
        if new.row.limits is not None:
            raise InvalidRequest(
                f"sync=True runs the job at once, and the limits of job type {new.row.type!r}"
                " may not allow that"
            )
        assert self._inline is not None  # only the client inside a bulk job has none
        inline = self._inline()
        inline.join()

        def create_and_claim(connection: Connection) -> tuple[Job, Claim | None]:
            job, is_created = create(connection, new)
            return job, inline.claim(connection, job.id) if is_created else None

        def run() -> Job:
            job, claim = inline.claim_by(
                lambda: self._database.transact(create_and_claim),
                lambda created: created[1],
            )
            if claim is None:  # there is an active job with the same key
                return self.get(job.id)
            inline.run(claim)
            read = partial(self.get, job.id)
            ended = run_retries(self.waits, self._wakeup, inline, read)
            self._hooks.remove_ended(ended)
            return ended

        return self._until_done(run)

    def _within(self, session: Within) -> Connection:
        connection = session
        if not isinstance(session, Connection):
            from sqlalchemy.orm import Session, scoped_session

            if isinstance(session, Session | scoped_session):
                connection = session.connection()
        if not isinstance(connection, Connection):
            raise refusal_of_session(connection, "a Session or a Connection of SQLAlchemy")
        self._same_database.check(connection)
        self._database.adopt(connection)
        return connection


def is_new(created: tuple[Job, bool]) -> bool:
    """Return whether a creation made a job, instead of finding the one with its unique key."""
    return created[1]
