"""The methods of `Jobs` for groups: jobs that belong together, and one that runs after them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any, Final, Literal, TypeAlias, get_args

from sqlalchemy import Connection

from horae.client.changes import LoggedChange, recorded
from horae.client.jobs.creating import (
    INSERTED_AT_ONCE,
    Batch,
    Member,
    MemberParser,
    NewJob,
    create,
    create_many,
    size_of,
    with_retries,
)
from horae.client.jobs.filters import owner_of
from horae.client.jobs.live_reports import live_percentages, with_live_reports
from horae.client.jobs.methods.reading import ReadsJobs
from horae.client.jobs.methods.starting import StartsJobs, Within
from horae.client.jobs.waiting import of_group, until_ended
from horae.domain.jobs import (
    EVERYBODY,
    Group,
    GroupId,
    GroupState,
    Job,
    JobId,
    OnFailure,
    Whose,
    progress_of,
)
from horae.domain.names import foreign_id, owner_id
from horae.errors import (
    DatabaseBusy,
    GroupDoesNotExist,
    GroupNotCancellable,
    GroupNotOpen,
    InvalidRequest,
)
from horae.quoting import quoted
from horae.storage.engine import conflicts_as_busy
from horae.storage.engine.after_commit import after_commit
from horae.storage.jobs import reading
from horae.storage.jobs.groups import groups
from horae.storage.outcomes import FollowUps, follow_ups
from horae.types import LARGEST_ID, Timeout, of_kind, seconds_of
from horae.types.groups import GroupCanceller
from horae.types.options import StartOptions
from horae.wakeup import work

OnFailureText: TypeAlias = Literal["continue", "cancel"]
ATOMIC: Final = 10_000
"""Maximum number of members that are inserted in one transaction.

A larger one would hold SQLite's write lock for so long that nodes lose contact with their database.
"""
READ_AT_ONCE: Final = 500
"""Number of members that one statement reads."""


class GroupsJobs(StartsJobs, ReadsJobs):
    """The methods that start, read, extend and cancel groups."""

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
        parser = MemberParser(self._registry, owner, options, in_batch=not counted)
        last = None if then is None else parser.then(then)
        batches = parser.batches(members)
        start = partial(_create, owner=owner, on_failure=OnFailure(on_failure), then=last)
        first = list(islice(batches, ATOMIC // INSERTED_AT_ONCE))
        if session is not None:
            return self._group_within(session, partial(start, batches=chain(first, batches)))
        rest = next(batches, None)

        def started() -> Group:
            group_id = self._database.transact(start, batches=first, complete=rest is None)
            if rest is not None:
                self._insert_rest(group_id, rest, batches)
            self._wakeup.send(work(None))
            return self.get_group(group_id)

        return self._until_done(started)

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
    ) -> list[JobId]:
        """Add members while the group is open, all or none; return their ids in order.

        `held`: a member and its lease; members are added only while a node runs it under that
        lease. Raises `GroupNotOpen`.
        """
        group = self._stored_group(group_id, owner)
        batches = self._parsed(group, members, options)
        return self._insert(partial(_add, group_id=group.id, batches=batches, held=held), session)

    def parsed_members(self, group_id: GroupId, members: Iterable[Member]) -> Sequence[Batch]:
        """Parse and check members that are to be added to a group."""
        return self._parsed(self._stored_group(group_id, EVERYBODY), members, None)

    def group_of(self, job_id: JobId) -> GroupId | None:
        """Return the group that a job is a member of, or runs after."""
        return self._database.autocommit(groups.of_job, job_id)

    def get_group(self, group_id: int, *, owner: Whose = EVERYBODY) -> Group:
        """Return the group; its progress is its members' mean. Raises `GroupDoesNotExist`."""
        return self._with_progress(self._stored_group(group_id, owner))

    def members(
        self, group_id: int, *, owner: Whose = EVERYBODY, finished: bool = False
    ) -> Iterator[Job]:
        """Yield the members in the order of their addition, reading them in batches.

        `finished`: yield only those that have finished.
        """
        group = self._stored_group(group_id, owner)
        return self._members(group.id, finished=finished)

    def results_of_group(self, group_id: int, *, owner: Whose = EVERYBODY) -> Iterator[Any]:
        """Yield the results of the members that have finished, in their annotated types."""
        return map(self.result_of, self.members(group_id, owner=owner, finished=True))

    def wait_for_group(
        self, group_id: int, *, timeout: Timeout | None = None, owner: Whose = EVERYBODY
    ) -> Group:
        """Wait until all members and `then` have ended; return the group.

        Raises `WaitTimeout`, `GroupDoesNotExist`.
        """
        seconds = seconds_of("timeout", timeout)
        group = self._stored_group(group_id, owner)
        until_ended(self.waits, self._wakeup, of_group(group.id), seconds)
        return self.get_group(group_id, owner=owner)

    def cancel_group(
        self, group_id: int, *, owner: Whose = EVERYBODY, by: str | None = None
    ) -> Group:
        """Cancel the members that have not ended, and `then`. Cancelling twice is no error.

        Raises `GroupNotCancellable` if all of them have ended, `GroupDoesNotExist`.
        """
        if by is not None:
            foreign_id("by", by)
        group = self._stored_group(group_id, owner)
        who = by or owner_of(owner)
        if group.state is GroupState.ENDED:
            self._cancel_then(group, who)
        else:
            self._cancel_open(group, who)
        return self.get_group(group_id, owner=owner)

    def _cancel_open(self, group: Group, who: str | None) -> None:
        change = LoggedChange(
            "group.cancel", str(group.id), lambda _: {"state": group.state}, actor=who
        )
        cancel = recorded(
            follow_ups.cancel_group, change, changed=lambda result: result is not None
        )
        canceller = GroupCanceller(self._database, self._live, self._wakeup)
        try:
            cancelled = self._database.transact_at_once(cancel, group.id, who)
        except DatabaseBusy:
            canceller.request_cancels(group.id, who)
            cancelled = self._database.transact(cancel, group.id, who)
        if cancelled is not None:
            canceller.act_on(FollowUps(cancelled[1].released, cancelled[1].ended))
        canceller.cancel_members(group.id)

    def _cancel_then(self, group: Group, who: str | None) -> None:
        """Cancel the job that runs after the members, all of which have ended."""
        then = (
            None if group.then_id is None else self._database.autocommit(reading.get, group.then_id)
        )
        if then is None or then.ended:
            raise GroupNotCancellable(group.id)
        self._canceller.cancel(then, who)

    def _parsed(
        self, group: Group, members: Iterable[Member], options: StartOptions | None
    ) -> Sequence[Batch]:
        return list(MemberParser(self._registry, group.owner, options).batches(members))

    def _group_within(self, session: Within, create: Callable[[Connection], GroupId]) -> Group:
        """Create a group in the caller's transaction; a retry would leave the first attempt's rows
        there.
        """
        connection = self._within(session)
        with conflicts_as_busy():
            group = groups.get(connection, create(connection))
        after_commit(session, partial(self._wakeup.send, work(None)))
        assert group is not None
        return group

    def _insert_rest(
        self, group_id: GroupId, batch: Batch | None, batches: Iterator[Batch]
    ) -> None:
        """Insert the rest of a large group, each batch in a transaction of its own."""
        try:
            while batch is not None:
                add = partial(_add, group_id=group_id, batches=[batch], by_starter=True)
                with_retries(partial(self._database.transact, add), self.limits.contention)
                self._wakeup.send(work(None))
                batch = next(batches, None)
        except BaseException:
            self._cancel_open(
                self._stored_group(group_id, EVERYBODY), "the error that ended its creation"
            )
            raise
        self._database.transact(follow_ups.end_inserting, group_id)

    def _members(self, group_id: GroupId, *, finished: bool) -> Iterator[Job]:
        after = JobId(0)
        while True:
            page = self._database.autocommit(
                groups.members, group_id, after=after, limit=READ_AT_ONCE, finished=finished
            )
            yield from with_live_reports(self._live, page)
            if len(page) < READ_AT_ONCE:
                return
            after = page[-1].id

    def _with_progress(self, group: Group) -> Group:
        if group.unfinished == 0:
            return replace(group, progress_percentage=progress_of(group, ()))
        running = self._database.autocommit(groups.running, group.id)
        return replace(
            group, progress_percentage=progress_of(group, live_percentages(self._live, running))
        )

    def _stored_group(self, group_id: int, whose: Whose) -> Group:
        owner = owner_of(whose)
        of_kind("group id", group_id, int, "a whole number")
        known = abs(group_id) <= LARGEST_ID
        group = self._database.autocommit(groups.get, GroupId(group_id)) if known else None
        if group is None or (owner is not None and group.owner != owner):
            raise GroupDoesNotExist(group_id)
        return group


def _create(
    connection: Connection,
    *,
    owner: str | None,
    on_failure: OnFailure,
    then: NewJob | None,
    batches: Iterable[Batch],
    complete: bool = True,
) -> GroupId:
    """Create a group with these members; `complete`: the same call inserts no others later."""
    then_id = None if then is None else create(connection, then)[0].id
    group_id = groups.create(connection, owner, on_failure, then_id)
    for batch in batches:
        groups.count_added(connection, group_id, size_of(batch), by_starter=True)
        _insert_members(connection, group_id, batch)
    if complete:
        follow_ups.end_inserting(connection, group_id)
    return group_id


def _add(
    connection: Connection,
    *,
    group_id: GroupId,
    batches: Sequence[Batch],
    by_starter: bool = False,
    held: tuple[JobId, int] | None = None,
) -> list[JobId]:
    """Add members to an open group. Raises `GroupNotOpen`."""
    if held is not None and not groups.is_still_held(connection, *held):
        raise GroupNotOpen(
            group_id, f"job {held[0]} does not run any more, or runs on another node now"
        )
    count_members(
        connection, group_id, sum(size_of(batch) for batch in batches), by_starter=by_starter
    )
    return add_members(connection, group_id, batches)


def count_members(
    connection: Connection, group_id: GroupId, size: int, *, by_starter: bool = False
) -> None:
    """Count members that this transaction adds. Raises `GroupNotOpen`."""
    if not groups.count_added(connection, group_id, size, by_starter=by_starter):
        raise GroupNotOpen(group_id, "its last member has ended, or it was cancelled")


def add_members(connection: Connection, group_id: GroupId, batches: Iterable[Batch]) -> list[JobId]:
    """Insert members, which the same transaction counts; return their ids in order."""
    return [job_id for batch in batches for job_id in _insert_members(connection, group_id, batch)]


def _insert_members(connection: Connection, group_id: GroupId, batch: Batch) -> list[JobId]:
    ids = [job_id for new in batch for job_id in create_many(connection, new, group_id)]
    groups.add_part(connection, group_id, ids)
    return ids
