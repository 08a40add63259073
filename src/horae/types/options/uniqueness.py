"""The uniqueness of a job: the options of the call precede those of its type."""

from typing import Any, Final

from pydantic import BaseModel

from horae.domain.jobs import ACTIVE, Debounce, JobState, Unique, UniqueKey, debounce_of
from horae.domain.times import parse_duration
from horae.errors import InvalidJobType, InvalidRequest
from horae.quoting import quoted
from horae.types.options.start_options import StartOptions
from horae.types.parameters import MappedParameters, check_names, is_computed, key_of

MOST_COMPARED: Final = 1_000
"""Maximum number of compared jobs in a batch: PostgreSQL locks each until the transaction ends."""


def uniqueness_of(job_type: Any) -> Unique | Debounce | None:
    """Return the rule that a job type declares. Raises `InvalidJobType`."""
    rule: Unique | Debounce | None = job_type.unique
    debounce = job_type.debounce
    name = f"job type {job_type.type!r}"
    if rule is not None and debounce is not None:
        raise InvalidJobType(
            f"{name}: unique and debounce exclude each other; debounce has its own `by`"
        )
    if rule is not None and not isinstance(rule, Unique):
        raise InvalidJobType(f"{name}: unique is {quoted(rule)}, expected a Unique")
    try:
        if debounce is not None:
            rule = debounce_of(debounce)
        if rule is not None:
            _check(job_type, rule)
    except InvalidRequest as error:
        raise InvalidJobType(f"{name}: {error}") from None
    return rule


def check_batch(job_type: Any, options: StartOptions, count: int) -> None:
    """Raise `InvalidRequest` for options that concern one job, and for a batch that is too long to
    compare.
    """
    for name in ("unique_key", "unique", "debounce"):
        if getattr(options, name) is not None:
            raise InvalidRequest(f"{name} concerns one job; start_many starts many")
    _check_on_duplicate(job_type, options)
    if job_type.uniqueness is not None and count > MOST_COMPARED:
        raise InvalidRequest(
            f"{count:,} jobs at once are too many for type {job_type.type!r}, whose jobs are unique"
            f" or debounced and compared one by one; start at most {MOST_COMPARED:,} at a time"
        )


def _check_on_duplicate(job_type: Any, options: StartOptions) -> None:
    """Raise `InvalidRequest` for a reaction to duplicates where there can be none."""
    if options.on_duplicate is None:
        return
    if isinstance(job_type.uniqueness, Debounce):
        raise InvalidRequest(
            f"on_duplicate: job type {job_type.type!r} has a debounce, which returns the"
            " pending job"
        )
    if options.unique_key is not None or job_type.uniqueness is not None:
        return
    raise InvalidRequest(
        f"on_duplicate needs unique= or unique_key=: job type {job_type.type!r} allows any number"
        " of the same job"
    )


def unique_key_in(
    job_type: Any, options: StartOptions, value: BaseModel
) -> tuple[UniqueKey | None, Debounce | None]:
    """Return the key of one job with these checked parameters, and the debounce that moves a
    pending job with this key.

    The key is None if any number of such jobs may exist. Raises `InvalidRequest`.
    """
    rule, given = _rule_in(job_type, options), options.unique_key
    if rule is None:
        chosen = options.on_duplicate or "refuse"
        return (UniqueKey(given, _same(given), on_duplicate=chosen) if given else None), None
    text = key_of(options.owner, value, rule.by) if given is None else given
    same = _same(given) if given is not None else _compared(rule.by)
    if isinstance(rule, Debounce):
        return UniqueKey(text, same, frozenset({JobState.PENDING})), rule
    within = None if rule.within is None else parse_duration("within", rule.within).total_seconds()
    on_duplicate = options.on_duplicate or rule.on_duplicate
    return UniqueKey(text, same, rule.blocking_states, within, on_duplicate), None


def _rule_in(job_type: Any, options: StartOptions) -> Unique | Debounce | None:
    """Return the rule of one job; with a `unique_key` only a `Debounce`, which then has this key.

    Raises `InvalidRequest`.
    """
    rule: Unique | Debounce | None = options.unique
    if options.debounce is not None:
        rule = debounce_of(options.debounce)
    if rule is not None:
        _check(job_type, rule)
        return rule
    _check_on_duplicate(job_type, options)
    declared: Unique | Debounce | None = job_type.uniqueness
    if isinstance(declared, Debounce) and any(
        getattr(options, name) is not None for name in ("run_at", "delay", "after")
    ):
        raise InvalidRequest(
            f"job type {job_type.type!r} has a debounce, which sets the time itself"
        )
    return None if isinstance(declared, Unique) and options.unique_key is not None else declared


def key_of_retry(job_type: Any, unique_key: str | None) -> UniqueKey | None:
    """Return the key of a job that repeats one with this key: only active jobs block what a person
    asked for.
    """
    if unique_key is None:
        return None
    rule: Unique | Debounce | None = job_type.uniqueness
    if rule is None or not is_computed(unique_key):
        return UniqueKey(unique_key, _same(unique_key))
    states = (
        frozenset({JobState.PENDING})
        if isinstance(rule, Debounce)
        else rule.blocking_states & ACTIVE
    )
    return UniqueKey(unique_key, _compared(rule.by), states)


def _check(job_type: Any, rule: Unique | Debounce) -> None:
    check_names(rule.by, job_type.parameters.model)
    if isinstance(rule, Debounce) and isinstance(job_type.parameters, MappedParameters):
        raise InvalidRequest(
            "debounce is not possible with parameters in a table of the application; "
            "use unique=Unique(on_duplicate='replace')"
        )


def _same(unique_key: str) -> str:
    return f"unique key {unique_key!r}"


def _compared(by: tuple[str, ...] | None) -> str:
    return "parameters" if by is None else ", ".join(by) or "owner"
