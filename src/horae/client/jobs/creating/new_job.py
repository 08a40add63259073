"""Makes a new job from its type, the options and the parameters of a call, without the database."""

import json
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from itertools import islice
from operator import attrgetter
from typing import Any, Final

from horae.client.jobs.creating.rules import (
    After,
    BeginsBeforeExpiry,
    HasUniqueKey,
    IsDebounced,
    RunsInQueue,
    StartRule,
)
from horae.domain.jobs import Debounce, Job, OnDependencyFailure, UniqueKey, together
from horae.domain.storable import fits, is_storable_json, spelled_out
from horae.domain.times import parse_duration
from horae.errors import InvalidParameters, InvalidRequest
from horae.storage.jobs import NO_META, JobRow
from horae.types import JobType, has_hook, storable_parameters
from horae.types.options import OPTIONS, StartOptions, key_of_retry, limits_of_job, unique_key_in
from horae.types.parameters import (
    CheckedParameters,
    ModelParameters,
    Stored,
    json_problem_of,
    mapping_of,
)

LARGEST_META: Final = 1024 * 1024
"""Maximum number of bytes of `meta` as JSON."""
_COMPUTED: Final = frozenset({"delay", "backoff", "meta", "tags", "unique_key"})
"""Options that are stored in another form."""
_COPIED: Final = tuple(
    each.name for each in fields(JobRow) if each.name in OPTIONS and each.name not in _COMPUTED
)
"""Options that are stored unchanged under their own names."""
_copied_from: Final = attrgetter(*_COPIED)
_OF_TYPE: Final = tuple(name for name in _COPIED if OPTIONS[name].of_type)
"""Those of them that have a default in the type."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that was checked and can be inserted.

    `values`: the parameters as the caller gave them, for `after_creation`; `rules`: the rules that
    the inserting transaction guards, in this order; `max_count`: how many open jobs of the type the
    owner may have.
    """

    job_type: JobType[Any]
    row: JobRow
    values: Mapping[str, Any]
    stored: Stored
    rules: Sequence[StartRule] = ()
    after: After | None = None
    max_count: int | None = None

    @property
    def is_plain(self) -> bool:
        """Return whether the creation is a single INSERT."""
        return (
            self.max_count is None
            and self.after is None
            and self.stored.row is None
            and not (self.row.is_guarded or self.row.tags)
            and not has_hook(self.job_type, "after_creation")
        )

    @property
    def is_free(self) -> bool:
        """Return whether a plain job has no rule either, so that it may share an INSERT."""
        return not self.rules and self.row.limits is None

    @property
    def is_debounced(self) -> bool:
        """Return whether later calls move the job while it is pending."""
        return any(isinstance(rule, IsDebounced) for rule in self.rules)


@dataclass(frozen=True, slots=True)
class NewJobs:
    """Jobs of one type with the same options, which one statement inserts.

    `values`: the parameters of each as the caller gave them, for `after_creation`.
    """

    job_type: JobType[Any]
    options: StartOptions
    in_batch: bool = True
    stored: list[Stored] = field(default_factory=list[Stored])
    values: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def extend(self, values: Sequence[Mapping[str, Any]], name: str, first: int = 0) -> None:
        """Check the parameters of more jobs; `first`: the position of the first of them in `name`.

        Raises `InvalidParameters`, or what `prepare_values` raises.
        """
        kind, declared = self.job_type, self.job_type.parameters
        at_once = None
        if isinstance(declared, ModelParameters) and not (kind.prepares or kind.named_limits):
            at_once = declared.store_at_once
        for position, each in enumerate(values, first):
            stored = None if at_once is None else at_once(each, kind.max_params_bytes)
            if stored is None:
                try:
                    checked = _prepare(kind, self.options.owner, each)
                    stored = _store(kind, self.options, checked)
                except InvalidParameters as error:
                    raise error.within(f"{name}[{position}]") from None
            self.stored.append(stored)
        self.values.extend(values)


def new_job(
    job_type: JobType[Any],
    options: StartOptions,
    values: Mapping[str, Any],
    *,
    in_batch: bool = False,
    follows: bool = False,
    elsewhere: bool = True,
) -> NewJob:
    """Check a call, and return the job that it asks for.

    `follows`: it gets the results of others although the options name none; `elsewhere`: its large
    values are put into their store, else the caller has to do so. Raises
    `InvalidParameters`, `InvalidRequest`, or what `prepare_values` raises.
    """
    if job_type.needs_others and not (options.after or follows):
        raise InvalidRequest(
            f"job type {job_type.type!r} takes the results of other jobs: start it with after=, in"
            " a chain or as then= of a group, or give that argument a default"
        )
    checked = _prepare(job_type, options.owner, values)
    stored = _store(job_type, options, checked, elsewhere=elsewhere)
    key, debounce = unique_key_in(job_type, options, checked.value)
    on_failure = OnDependencyFailure(options.on_dependency_failure or OnDependencyFailure.CANCEL)
    return _new_job(
        job_type,
        row_of(job_type, options, stored),
        values,
        stored,
        key=key,
        debounce=debounce,
        after=After(options.after_ids, on_failure) if options.after else None,
        max_count=max_count_of(job_type, options.owner, in_batch=in_batch),
    )


def has_large_values(new: NewJob) -> bool:
    """Return whether values of a job that was made without them belong into their store."""
    declared, text = new.job_type.parameters, new.row.params
    return (
        isinstance(declared, ModelParameters)
        and declared.files is not None
        and text is not None
        and (len(text) > declared.files.over or declared.is_elsewhere(text))
    )


def with_large_values(new: NewJob) -> NewJob:
    """Put the large values of a job into their store, which may take long."""
    stored = _elsewhere(new.job_type, new.stored)
    return replace(new, row=replace(new.row, params=stored.text), stored=stored)


def new_jobs(
    job_type: JobType[Any], options: StartOptions, values: Sequence[Mapping[str, Any]]
) -> list[NewJob]:
    """Check the calls of a batch whose jobs are created one by one, as `new_job` does."""
    made: list[NewJob] = []
    for position, each in enumerate(values):
        try:
            made.append(new_job(job_type, options, each, in_batch=True))
        except InvalidParameters as error:
            raise error.within(f"values[{position}]") from None
    return made


def repetition_of(
    job: Job, job_type: JobType[Any], options: StartOptions, limits: str | None
) -> NewJob:
    """Return the job that repeats an ended one, with the same parameters and these options."""
    stored = replace(job_type.parameters.restore(job.params), limits=limits)
    row = replace(row_of(job_type, options, stored), retry_of=job.id, max_runtime=job.max_runtime)
    # The `after_creation` of the repetition gets the parameters of the job.
    values = stored.row or job.params or {}
    declared = job_type.parameters
    if (
        not stored.row
        and isinstance(declared, ModelParameters)
        and has_hook(job_type, "after_creation")
    ):
        values = declared.opened_value(job.params) or {}
    return _new_job(
        job_type,
        row,
        values,
        stored,
        key=key_of_retry(job_type, job.unique_key),
        max_count=max_count_of(job_type, job.owner),
    )


def _new_job(
    job_type: JobType[Any],
    row: JobRow,
    values: Mapping[str, Any],
    stored: Stored,
    *,
    key: UniqueKey | None,
    debounce: Debounce | None = None,
    after: After | None = None,
    max_count: int | None,
) -> NewJob:
    rules = rules_of(job_type, row, limited=row.limits is not None)
    if key is not None:
        row = replace(
            row,
            unique_key=key.text,
            key_is_shared=True if key.may_be_shared else None,
            delay=row.delay if debounce is None else debounce.seconds,
        )
        rules.append(HasUniqueKey(key) if debounce is None else IsDebounced(key, debounce))
    return NewJob(job_type, row, values, stored, rules, after, max_count)


def rules_of(job_type: JobType[Any], row: JobRow, *, limited: bool) -> list[StartRule]:
    """Return the rules that a job shares with its batch; `limited`: limits by key apply to it."""
    rules: list[StartRule] = []
    if limited or job_type.address is not None:
        rules.append(RunsInQueue(job_type, limited))
    if row.expires_at is not None:
        rules.append(BeginsBeforeExpiry(row.expires_at))
    return rules


def max_count_of(
    job_type: JobType[Any], owner: str | None, *, in_batch: bool = False
) -> int | None:
    """Return the maximum number of open jobs of the type for each owner; None: no limit.

    The default of public types is meant for users who start jobs one by one, and does not apply to
    batches.
    """
    if owner is None or (in_batch and not job_type.declares_max_count):
        return None
    return job_type.max_count


def _elsewhere(job_type: JobType[Any], stored: Stored) -> Stored:
    """Return stored parameters with references to the values that are large."""
    declared = job_type.parameters
    if declared.files is None or stored.text is None or not isinstance(declared, ModelParameters):
        return stored
    text = declared.stored_elsewhere(job_type.type, stored.text, declared.files)
    return replace(stored, text=text)


def _store(
    job_type: JobType[Any],
    options: StartOptions,
    checked: CheckedParameters,
    *,
    elsewhere: bool = True,
) -> Stored:
    """Return checked parameters in their stored form, with the limits that they imply."""
    stored = storable_parameters(job_type, checked)
    if elsewhere:
        stored = _elsewhere(job_type, stored)
    if not job_type.named_limits:
        return stored
    weight = options.weight or 1
    return replace(
        stored,
        limits=limits_of_job(
            job_type.type, job_type.named_limits, checked.value, options.owner, weight
        ),
    )


def _prepare(
    job_type: JobType[Any], owner: str | None, values: Mapping[str, Any]
) -> CheckedParameters:
    """Check the parameters, and return them as `prepare_values` leaves them."""
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
    # Validators get the caller's values, not values that were converted before.
    wanted = {
        name: values[name] if name in untouched and name in values else value
        for name, value in prepared.items()
    }
    return job_type.parameters.check(job_type.type, wanted)


def take_batch(values: Iterable[Mapping[str, Any]], uncounted: int) -> list[Mapping[str, Any]]:
    """Return the parameters of each job of a batch.

    `uncounted`: how many an iterator may give. Raises `InvalidRequest` if it gives more.
    """
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise InvalidRequest(f"the batch is a {type(values).__name__}, expected a list of mappings")
    most = len(values) if isinstance(values, Sized) else uncounted
    given = list(islice(values, most + 1))
    if len(given) > most:
        raise InvalidRequest(
            f"the iterator gives more than {most:,} jobs; pass a list, or start them in parts"
        )
    return given


def row_of(job_type: JobType[Any], options: StartOptions, stored: Stored) -> JobRow:
    """Return the row to insert; options that the caller does not give are those of the type."""
    values: dict[str, Any] = dict(zip(_COPIED, _copied_from(options), strict=True))
    for name in _OF_TYPE:
        if values[name] is None:
            values[name] = getattr(job_type, name)
    expires = job_type.time_limits.expires if options.expires is None else options.expires
    if isinstance(expires, datetime):
        values["expires_at"] = expires
    elif expires is not None:
        values["expires_after"] = parse_duration("expires", expires).total_seconds()
    return JobRow(
        type=job_type.type,
        params=stored.text,
        limits=stored.limits,
        delay=options.delay_seconds,
        backoff=None if options.backoff is None else json.dumps(options.backoff.to_json()),
        meta=_meta_text(options.meta),
        tags=together(job_type.tags, options.tags) if options.tags else tuple(job_type.tags),
        **values,
    )


def _meta_text(meta: Mapping[str, Any] | None) -> str:
    if not meta:
        return NO_META
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
