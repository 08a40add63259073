"""The members of a group: parsed as callers write them, and inserted in batches of bounded size."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection

from horae.client.jobs.creating.creation import create, create_many
from horae.client.jobs.creating.new_job import NewJob, NewJobs, new_job
from horae.client.jobs.creating.observing import with_meta_of
from horae.client.jobs.creating.rules import After
from horae.domain.jobs import GroupId, Job, JobId, OnDependencyFailure, OnFailure
from horae.errors import GroupNotOpen, InvalidParameters, InvalidRequest
from horae.quoting import quoted
from horae.storage.jobs.groups import groups
from horae.storage.outcomes import follow_ups
from horae.types import JobType, JobTypeReference, Registry, Starting, of_kind
from horae.types.options import NO_OPTIONS, StartOptions

Member: TypeAlias = (
    JobTypeReference
    | tuple[JobTypeReference, Mapping[str, Any]]
    | tuple[JobTypeReference, Mapping[str, Any], StartOptions]
)
"""A job type, or a tuple of a job type, its parameters and optionally its own options."""

LONGEST_CHAIN: Final = 1_000
"""Maximum number of jobs that one call starts one after another."""
INSERTED_AT_ONCE: Final = 1_000
"""Members of one batch; those with the same type and options need only one statement."""
_EXPECTED: Final = "a job type, (job type, parameters), or (job type, parameters, StartOptions)"


Batch: TypeAlias = Sequence[NewJobs]
"""Members in their order; consecutive ones with the same type and options are one `NewJobs`."""


class MemberParser:
    """Parses members. Raises `InvalidRequest`, `InvalidParameters`, `UnknownJobType`."""

    def __init__(
        self,
        registry: Registry,
        owner: str | None,
        options: StartOptions | None,
        *,
        in_batch: bool = True,
        starting: Starting | None = None,
    ) -> None:
        """`owner`: the owner of the group and all its members; `options`: the options of members
        that have none of their own; `starting`: the call, as observers see it.

        `in_batch`: members are exempt from the `max_count` that public types have by default.
        """
        self._registry, self._in_batch = registry, in_batch
        self._owner, self._starting = owner, starting
        self._options = self._of_member(options or NO_OPTIONS)

    def then(self, given: Any) -> NewJob:
        """Parse the job that runs after the members."""
        kind, values, options = self._parts("then", given)
        return new_job(kind, options, values, follows=True)

    def chain(self, given: Iterable[Any]) -> list[NewJob]:
        """Parse jobs that run one after another."""
        if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
            raise InvalidRequest(
                f"the chain is a {type(given).__name__}, expected a list of (job type, parameters)"
            )
        links: list[NewJob] = []
        for position, link in enumerate(given):
            if position == LONGEST_CHAIN:
                raise InvalidRequest(f"a chain has at most {LONGEST_CHAIN:,} jobs")
            kind, values, options = self._parts(f"job {position} of the chain", link)
            try:
                new = new_job(kind, options, values, follows=position > 0)
            except InvalidParameters as error:
                raise error.within(f"chain[{position}]") from None
            if position > 0:
                failure = options.on_dependency_failure or OnDependencyFailure.CANCEL
                new = replace(new, after=After((), OnDependencyFailure(failure)))
            links.append(new)
        if not links:
            raise InvalidRequest("the chain has no job")
        return links

    def batches(self, members: Iterable[Any]) -> Iterator[Batch]:
        """Yield the members in batches."""
        if not isinstance(members, Iterable) or isinstance(members, str | bytes | Mapping):
            raise InvalidRequest(
                f"members is a {type(members).__name__}, expected a list of (job type, parameters)"
            )
        batch: list[NewJobs] = []
        size = 0
        for position, given in enumerate(members):
            kind, values, options = self._parts(f"member {position}", given)
            if not batch or batch[-1].job_type is not kind or batch[-1].options is not options:
                batch.append(NewJobs(kind, options, self._in_batch))
            batch[-1].extend([values], "members", position)
            size += 1
            if size == INSERTED_AT_ONCE:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _parts(self, name: str, given: Any) -> tuple[JobType[Any], Mapping[str, Any], StartOptions]:
        """Return the type, the parameters and the options of a member. Raises `InvalidRequest`."""
        parts = given if isinstance(given, tuple) else (given,)
        if len(parts) not in (1, 2, 3):
            raise InvalidRequest(f"{name} is a tuple of {len(parts)}, expected {_EXPECTED}")
        reference, values, *own = parts if len(parts) > 1 else (*parts, {})
        if not isinstance(values, Mapping):
            raise InvalidRequest(f"{name}: the parameters are {quoted(values)}, expected a mapping")
        options = self._options
        if own:
            options = self._of_member(of_kind(name, own[0], StartOptions, _EXPECTED))
        kind = self._registry.resolve(reference)
        if kind.uniqueness is not None:
            rule = "unique" if kind.debounce is None else "debounce"
            raise InvalidRequest(
                f"{name}: type {kind.type!r} has {rule}, but each job of a group is a new one"
            )
        return kind, values, options

    def _of_member(self, options: StartOptions) -> StartOptions:
        """Return the options with the group's owner. Raises `InvalidRequest` for options that no
        member may have.
        """
        of_kind("options", options, StartOptions, "StartOptions")
        owner = self._owner
        if options.owner not in (None, owner):
            raise InvalidRequest(
                f"the owner of the group is {quoted(owner)}, not {quoted(options.owner)}; name it"
                " once"
            )
        for name in ("unique_key", "unique", "debounce"):
            if getattr(options, name) is not None:
                raise InvalidRequest(
                    f"{name} is not supported in a group: each of its jobs is a new one"
                )
        if options.after is not None:
            # A member may not wait for other jobs, so none can wait for what runs after its group.
            raise InvalidRequest(
                "after is not supported in a group: all of its members may start at once"
            )
        if owner is not None:
            options = replace(options, owner=owner)
        return options if self._starting is None else with_meta_of(self._starting, options)


def size_of(batch: Batch) -> int:
    """Return the number of members of a batch."""
    return sum(len(new.stored) for new in batch)


def create_group(
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


def create_chain(connection: Connection, links: Sequence[NewJob]) -> list[Job]:
    """Create jobs of which each waits for the one before it."""
    jobs: list[Job] = []
    for new in links:
        if new.after is not None:
            new = replace(new, after=replace(new.after, job_ids=(jobs[-1].id,)))  # noqa: PLW2901 - the same job, now that the id before it is known
        jobs.append(create(connection, new)[0])
    return jobs


def add_to_open(
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
