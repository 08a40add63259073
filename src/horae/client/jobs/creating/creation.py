"""Creates jobs: checks the values, then counts, inserts and calls the hook in one transaction."""

import json
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields, replace
from datetime import datetime
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection

from horae.client.jobs.creating import duplicates
from horae.client.jobs.creating.startable import check_expiry, check_startable, runs_here
from horae.client.jobs.limits import JobLimits
from horae.domain.jobs.groups import GroupId, OnDependencyFailure
from horae.domain.jobs.job import Job, JobId, JobState, WaitsFor
from horae.domain.jobs.tags import together
from horae.domain.jobs.uniqueness import Debounce, UniqueKey
from horae.domain.storable import fits, is_storable_json, spelled_out
from horae.domain.times.duration import parse_duration
from horae.errors import InvalidRequest, JobDoesNotExist, MaxJobCountExceeded
from horae.storage.jobs import creation, reading
from horae.storage.jobs.creation import Contended, Inserted, NewJob
from horae.storage.jobs.groups import dependencies
from horae.storage.jobs.groups.dependencies import Dependency
from horae.storage.jobs.search import parameters
from horae.storage.outcomes import follow_ups
from horae.types.job_type import JobType, has_hook
from horae.types.rules.limits import limits_of_job
from horae.types.rules.start_options import StartOptions
from horae.types.rules.uniqueness import unique_key_in, uniqueness_in
from horae.types.storing import storable_parameters
from horae.types.values.parameters import CheckedParameters, MappedParameters, Stored
from horae.types.values.plain_data import json_problem_of, mapping_of

LARGEST_META: Final = 1024 * 1024
"""Bytes of JSON that `meta` may have."""


@dataclass(frozen=True, slots=True)
class Creation:
    """A job that was checked and can be inserted."""

    job_type: JobType[Any]
    new: NewJob
    values: Mapping[str, Any]
    stored: Stored
    key: UniqueKey | None = None
    debounce: Debounce | None = None
    in_batch: bool = False
    after: Sequence[JobId] = ()
    on_dependency_failure: OnDependencyFailure = OnDependencyFailure.CANCEL

    @property
    def is_plain(self) -> bool:
        """Return whether the creation is a single INSERT."""
        guarded = self.limit is not None or self.new.is_guarded
        linked = bool(self.after or self.new.tags)
        return (
            not (guarded or linked)
            and self.stored.row is None
            and not has_hook(self.job_type, "after_creation")
        )

    @property
    def limit(self) -> int | None:
        """Return the limit of active jobs, or None if none applies.

        The default of public types is meant for users who start jobs one by one, and does not apply
        to batches.
        """
        if self.new.owner is None or (self.in_batch and not self.job_type.declares_max_count):
            return None
        return self.job_type.max_count


def checked(job_type: JobType[Any], options: StartOptions, values: Mapping[str, Any]) -> Creation:
    """Check a call without using the database.

    Raises `InvalidParameters`, or what `prepare_values` raises.
    """
    parameters = checked_parameters(job_type, options.owner, values)
    stored = _with_limits(job_type, options, parameters)
    rule = uniqueness_in(job_type, options)
    key = unique_key_in(options, rule, parameters.value)
    new = keyed(new_job(job_type, options, stored.text, stored.limits), key)
    on_failure = OnDependencyFailure(options.on_dependency_failure or OnDependencyFailure.CANCEL)
    debounce = rule if isinstance(rule, Debounce) else None
    if debounce is not None:
        if options.after:
            raise InvalidRequest(
                "after and debounce exclude each other: a later call would move the waiting job"
            )
        new = replace(new, delay=debounce.seconds)
    return Creation(
        job_type,
        new,
        values,
        stored,
        key,
        debounce,
        after=options.after_ids,
        on_dependency_failure=on_failure,
    )


def keyed(new: NewJob, key: UniqueKey | None) -> NewJob:
    """Return the job with its unique key, if it has one."""
    if key is None:
        return new
    return replace(new, unique_key=key.text, key_is_shared=True if key.may_be_shared else None)


def stored_parameters(
    job_type: JobType[Any], options: StartOptions, values: Mapping[str, Any]
) -> Stored:
    """Return the parameters in their stored form, with the limits that follow from them.

    Raises `InvalidParameters`.
    """
    return _with_limits(job_type, options, checked_parameters(job_type, options.owner, values))


def _with_limits(
    job_type: JobType[Any], options: StartOptions, checked: CheckedParameters
) -> Stored:
    stored = storable_parameters(job_type, checked)
    if not job_type.named_limits:
        return stored
    weight = options.weight or 1
    return replace(
        stored,
        limits=limits_of_job(
            job_type.type, job_type.named_limits, checked.value, options.owner, weight
        ),
    )


def checked_parameters(
    job_type: JobType[Any], owner: str | None, values: Mapping[str, Any]
) -> CheckedParameters:
    """Return the checked parameters, as `prepare_values` leaves them.

    Raises `InvalidParameters`.
    """
    checked = job_type.request.check(job_type.type, values)
    if not job_type.prepares:
        return checked
    found = checked.value
    given = {name: getattr(found, name) for name in found.model_fields_set}
    prepared = job_type.prepare_values(dict(given), owner)
    if job_type.request is not job_type.parameters:
        return job_type.parameters.check(job_type.type, prepared)
    untouched = {name for name in given if name in prepared and prepared[name] is given[name]}
    if len(untouched) == len(given) == len(prepared):
        return checked
    # Validators get what the caller gave, not what they have made of it.
    wanted = {
        name: values[name] if name in untouched and name in values else value
        for name, value in prepared.items()
    }
    return job_type.parameters.check(job_type.type, wanted)


def counted(values: Iterable[Mapping[str, Any]], limits: JobLimits) -> list[Mapping[str, Any]]:
    """Return the parameters of each job of a batch.

    Raises `InvalidRequest` for an iterator that is too long.
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise InvalidRequest(f"the batch is a {type(values).__name__}, expected a list of mappings")
    most = len(values) if isinstance(values, Sized) else limits.uncounted_jobs
    given = list(islice(values, most + 1))
    if len(given) > most:
        raise InvalidRequest(
            f"the iterator gives more than {most:,} jobs; pass a list, or start them in parts"
        )
    return given


def create(connection: Connection, wanted: Creation) -> tuple[Job, bool]:
    """Insert the job; return it and whether it is new.

    Raises `MaxJobCountExceeded` or `DuplicateJob`.
    """
    new = wanted.new
    check_startable(connection, wanted.job_type, new.queue, limited=new.limits is not None)
    check_expiry(connection, new)
    if (
        wanted.key is not None
        and (found := _found_before(connection, wanted, wanted.key)) is not None
    ):
        return found, False
    after = _dependencies(connection, wanted) if wanted.after else ()
    if wanted.limit is None and not new.is_guarded:
        inserted: Inserted | None = creation.add(connection, new)
    else:
        inserted = creation.add_guarded(connection, new, wanted.limit)
    if inserted is None:
        found = _blocking_job(connection, wanted)
        if found is None:
            raise Contended(f"a {new.type!r} job was in the way, which has ended meanwhile,")
        return found, False
    if isinstance(wanted.job_type.parameters, MappedParameters):
        _add_rows(connection, wanted.job_type.parameters, [(inserted.id, wanted.stored.row or {})])
    job = job_of(new, inserted)
    if after:
        job = _held_back(connection, wanted, job, after)
    wanted.job_type.after_creation(job, wanted.values, connection)
    return job, True


def _found_before(connection: Connection, wanted: Creation, key: UniqueKey) -> Job | None:
    """Return the job that answers the start, where the insert with its unique index cannot
    find it.
    """
    if wanted.debounce is not None:
        return duplicates.moved(connection, wanted.new, wanted.debounce)
    if key.needs_latest_rows or key.on_duplicate == "replace":
        return duplicates.existing(connection, wanted.new.type, key)
    return None


def _dependencies(connection: Connection, wanted: Creation) -> Sequence[Dependency]:
    """Lock the jobs that the new one waits for.

    Raises `JobDoesNotExist`, also for another owner's job.
    """
    found = dependencies.await_jobs(connection, wanted.after)
    owner = wanted.new.owner
    seen = {each.id for each in found if owner is None or each.owner == owner}
    if (
        missing := next((job_id for job_id in wanted.after if job_id not in seen), None)
    ) is not None:
        raise JobDoesNotExist(missing)
    return found


def _held_back(
    connection: Connection, wanted: Creation, job: Job, after: Sequence[Dependency]
) -> Job:
    """Let a new job wait; if the jobs before it have ended already, decide about it at once."""
    on_failure = wanted.on_dependency_failure
    dependencies.hold_back(connection, job.id, after, on_failure)
    follow_ups.resolve(connection, job.id, [each.state for each in after], on_failure)
    return reading.get(connection, job.id) or job


def create_once(connection: Connection, wanted: Creation) -> tuple[Job, bool]:
    """Insert the repetition of a job unless it exists; return it and whether it is new."""
    if wanted.new.retry_of is not None:
        found = creation.latest_retry(connection, wanted.new.retry_of)
        job = None if found is None else reading.get(connection, found)
        if job is not None:
            return job, False
    return create(connection, wanted)


def create_plain(connection: Connection, wanted: Creation) -> Job:
    """Insert a job that needs neither a count limit, a unique key nor a hook."""
    new, limited = wanted.new, wanted.new.limits is not None
    if (
        limited
        and runs_here(wanted.job_type, new.queue)
        and (added := creation.add_limited(connection, new))
    ):
        return job_of(new, added)
    check_startable(connection, wanted.job_type, new.queue, limited=limited)
    return job_of(new, creation.add(connection, new))


def create_many(
    connection: Connection,
    template: Creation,
    stored: Sequence[Stored],
    values: Sequence[Mapping[str, Any]],
    group_id: GroupId | None = None,
) -> list[JobId]:
    """Insert a batch in one statement, all or none; `values` are the caller's parameters, for
    `after_creation`.

    `group_id`: the group of which they become members.
    """
    new, limit = template.new, template.limit
    limited = any(item.limits is not None for item in stored)
    check_startable(connection, template.job_type, new.queue, limited=limited)
    check_expiry(connection, new)
    if limit is not None and new.owner is not None:
        creation.lock_limit(connection, new.owner, new.type)
        if creation.count_open(connection, new.owner, new.type) + len(stored) > limit:
            raise MaxJobCountExceeded(new.type, new.owner, limit)
    limits = [item.limits for item in stored] if template.job_type.named_limits else None
    params = [item.text for item in stored]
    ids = creation.add_many(connection, new, params, group_id, limits=limits)
    if isinstance(template.job_type.parameters, MappedParameters):
        rows = [(job_id, item.row or {}) for job_id, item in zip(ids, stored, strict=True)]
        _add_rows(connection, template.job_type.parameters, rows)
    if has_hook(template.job_type, "after_creation"):
        jobs = {job.id: job for job in reading.get_many(connection, ids)}
        for job_id, given in zip(ids, values, strict=True):
            template.job_type.after_creation(jobs[job_id], given, connection)
    return ids


_UNBEGUN: Final[Mapping[str, Any]] = {
    **dict.fromkeys((field.name for field in fields(Job)), None),
    "state": JobState.PENDING,
    "progress_percentage": 0,
    "attempt": 0,
    "lease": 0,
    "tags": (),
}
_GIVEN: Final = tuple(field.name for field in fields(NewJob) if field.name in _UNBEGUN)


def job_of(new: NewJob, inserted: Inserted) -> Job:
    """Return the job as it was just stored."""
    values = dict(_UNBEGUN)
    for name in _GIVEN:
        values[name] = getattr(new, name)
    values |= inserted._asdict()
    values["params"] = None if new.params is None else json.loads(new.params)
    values["meta"] = json.loads(new.meta)
    values["waits_for"] = None if new.limits is None else WaitsFor.LIMIT
    return Job(**values)


def new_job(
    job_type: JobType[Any], options: StartOptions, params: str | None, limits: str | None = None
) -> NewJob:
    """Return the row to insert: the options of the caller, else those of the type."""
    return NewJob(
        type=job_type.type,
        queue=job_type.queue if options.queue is None else options.queue,
        priority=job_type.priority if options.priority is None else options.priority,
        params=params,
        owner=options.owner,
        max_attempts=job_type.max_attempts
        if options.max_attempts is None
        else options.max_attempts,
        backoff=None if options.backoff is None else json.dumps(options.backoff.to_json()),
        run_at=options.run_at,
        delay=options.delay_seconds,
        meta=_meta(options.meta),
        limits=limits,
        **_expiry(job_type, options),
        tags=together(job_type.tags, options.tags) if options.tags else tuple(job_type.tags),
    )


def _expiry(job_type: JobType[Any], options: StartOptions) -> dict[str, Any]:
    given = job_type.time_limits.expires if options.expires is None else options.expires
    if isinstance(given, datetime):
        return {"expires_at": given}
    return (
        {} if given is None else {"expires_after": parse_duration("expires", given).total_seconds()}
    )


def _meta(meta: Mapping[str, Any] | None) -> str:
    if not meta:
        return "{}"
    plain = mapping_of(meta)
    if (problem := json_problem_of(plain)) is not None:
        raise InvalidRequest(f"meta cannot be stored: {problem.where or 'meta'}: {problem.what}")
    try:
        text = spelled_out(json.dumps(plain, allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError) as error:
        raise InvalidRequest(f"meta cannot be stored as JSON: {error}") from error
    if not is_storable_json(text):
        raise InvalidRequest("meta has a character that cannot be stored")
    if not fits(text, LARGEST_META):
        raise InvalidRequest(f"meta is longer than {LARGEST_META:,} bytes of JSON")
    return text


def _add_rows(
    connection: Connection,
    mapped: MappedParameters,
    rows: Sequence[tuple[JobId, Mapping[str, Any]]],
) -> None:
    parameters.add(connection, mapped.joined, rows)


def _blocking_job(connection: Connection, wanted: Creation) -> Job | None:
    """Return the active job that blocks the creation, None if it has ended meanwhile; raise if that
    is an error.
    """
    new = wanted.new
    job_id = (
        creation.active_with_key(connection, new.type, new.unique_key)
        if new.unique_key is not None
        else None
    )
    if job_id is not None and wanted.key is not None and wanted.key.on_duplicate != "return":
        raise duplicates.blocked_by(new.type, wanted.key, job_id)
    if job_id is not None:
        return reading.get(connection, job_id)
    if (
        wanted.limit is not None
        and creation.count_open(connection, new.owner, new.type) >= wanted.limit
    ):
        raise MaxJobCountExceeded(new.type, new.owner or "", wanted.limit)
    return None
