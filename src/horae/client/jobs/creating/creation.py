"""Creates jobs in a transaction: guards their rules, inserts them and calls `after_creation`."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

from sqlalchemy import Connection

from horae.client.jobs.creating.new_job import NewJob, NewJobs, max_count_of, row_of, rules_of
from horae.domain.jobs import OWN_BACKEND, GroupId, Job, JobId, JobState, WaitsFor
from horae.errors import MaxJobCountExceeded
from horae.storage.engine import sees_what_others_commit
from horae.storage.jobs import NO_META, Contended, Inserted, JobRow, creation, reading
from horae.storage.jobs.search import parameters
from horae.types import has_hook
from horae.types.parameters import MappedParameters

T = TypeVar("T")


def create(connection: Connection, new: NewJob) -> tuple[Job, bool]:
    """Insert the job; return it, or the job that answers the start in its place, and whether it is
    new.

    Raises `MaxJobCountExceeded`, `DuplicateJob`, or what another rule of the job raises.
    """
    row = new.row
    for rule in new.rules:
        if (found := rule.guard(connection, row)) is not None:
            return found, False
    locked = () if new.after is None else new.after.lock(connection, row.owner)
    inserted, contended = None, None
    if row.is_guarded or new.max_count is not None:
        add = partial(creation.add_guarded, connection, row, new.max_count)
        inserted, contended = _in_turn(connection, add)
    else:
        inserted = creation.add(connection, row)
    if inserted is None:
        # The count comes first, so that a job of another transaction that commits in between is
        # found by its key, and not only counted.
        count = 0 if new.max_count is None else creation.count_open(connection, row.owner, row.type)
        for rule in new.rules:
            if (found := rule.explain(connection, row)) is not None:
                return found, False
        if new.max_count is not None and count >= new.max_count:
            raise MaxJobCountExceeded(row.type, row.owner or "", new.max_count)
        raise contended or Contended(
            f"a {row.type!r} job was in the way, which has ended meanwhile,"
        )
    if isinstance(new.job_type.parameters, MappedParameters):
        parameters.add(
            connection, new.job_type.parameters.joined, [(inserted.id, new.stored.row or {})]
        )
    job = job_of(row, inserted)
    if new.after is not None:
        job = new.after.hold_back(connection, job, locked)
    new.job_type.after_creation(job, new.values, connection)
    return job, True


def _in_turn(connection: Connection, call: Callable[[], T]) -> tuple[T | None, Contended | None]:
    """Return the result of a call that takes a lock, or its error.

    A job that is already committed decides without a turn at the lock, so that any number of
    callers can be refused at once.
    """
    try:
        return call(), None
    except Contended as error:
        if not sees_what_others_commit(connection):
            raise
        return None, error


def create_once(connection: Connection, new: NewJob) -> tuple[Job, bool]:
    """Insert the repetition of a job unless it exists; return it and whether it is new."""
    if new.row.retry_of is not None:
        found = creation.latest_retry(connection, new.row.retry_of)
        job = None if found is None else reading.get(connection, found)
        if job is not None:
            return job, False
    return create(connection, new)


def create_plain(connection: Connection, new: NewJob) -> Job:
    """Insert a job by one statement; only its queue is checked."""
    row = new.row
    runs_here = new.job_type.queue_backends.get(row.queue, OWN_BACKEND) == OWN_BACKEND
    if row.limits is not None and runs_here and (added := creation.add_limited(connection, row)):
        return job_of(row, added)
    for rule in new.rules:
        rule.guard(connection, row)
    return job_of(row, creation.add_alone(connection, row))


def create_many(
    connection: Connection, new: NewJobs, group_id: GroupId | None = None
) -> list[JobId]:
    """Insert jobs in one statement, all or none; return their ids in order.

    `group_id`: the group whose members they become.
    """
    kind, stored = new.job_type, new.stored
    template = row_of(kind, new.options, stored[0])
    limited = any(each.limits is not None for each in stored)
    for rule in rules_of(kind, template, limited=limited):
        rule.guard(connection, template)
    max_count = max_count_of(kind, template.owner, in_batch=new.in_batch)
    if max_count is not None and template.owner is not None:
        lock = partial(creation.lock_limit, connection, template.owner, kind.type)
        _, contended = _in_turn(connection, lock)
        if creation.count_open(connection, template.owner, kind.type) + len(stored) > max_count:
            raise MaxJobCountExceeded(kind.type, template.owner, max_count)
        if contended is not None:
            raise contended
    ids = creation.add_many(
        connection,
        template,
        [each.text for each in stored],
        group_id,
        limits=[each.limits for each in stored] if limited else None,
    )
    if isinstance(kind.parameters, MappedParameters):
        rows = [(job_id, each.row or {}) for job_id, each in zip(ids, stored, strict=True)]
        parameters.add(connection, kind.parameters.joined, rows)
    if has_hook(kind, "after_creation"):
        jobs = {job.id: job for job in reading.get_many(connection, ids)}
        for job_id, values in zip(ids, new.values, strict=True):
            kind.after_creation(jobs[job_id], values, connection)
    return ids


_UNBEGUN: Final[Mapping[str, Any]] = {
    **dict.fromkeys((field.name for field in fields(Job)), None),
    "state": JobState.PENDING,
    "progress_percentage": 0,
    "attempt": 0,
    "lease": 0,
    "tags": (),
}
_GIVEN: Final = tuple(field.name for field in fields(JobRow) if field.name in _UNBEGUN)
_given_in: Final = attrgetter(*_GIVEN)


def job_of(row: JobRow, inserted: Inserted) -> Job:
    """Return the job as it was just stored."""
    values = dict(_UNBEGUN)
    values.update(zip(_GIVEN, _given_in(row), strict=True))
    values.update(zip(Inserted._fields, inserted, strict=True))
    values["params"] = None if row.params is None else json.loads(row.params)
    values["meta"] = {} if row.meta == NO_META else json.loads(row.meta)
    values["waits_for"] = None if row.limits is None else WaitsFor.LIMIT
    return Job(**values)
