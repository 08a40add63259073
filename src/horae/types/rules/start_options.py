"""What a caller may decide about one job beyond its parameters: each option declared and checked
here, once.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from horae.domain.backoff import Backoff
from horae.domain.jobs.groups import OnDependencyFailure
from horae.domain.jobs.job import Job, JobId
from horae.domain.jobs.tags import parse_tags
from horae.domain.jobs.uniqueness import (
    Debounce,
    OnDuplicate,
    Unique,
    check_on_duplicate,
    debounce_of,
)
from horae.domain.names import foreign_id, owner_id, queue_name
from horae.domain.times.duration import LONGEST_DURATION, Duration, parse_duration
from horae.errors import InvalidRequest, JobDoesNotExist
from horae.quoting import quoted
from horae.types.arguments import LARGEST_ID, LARGEST_NUMBER, has_zone, of_kind, whole_number

DependencyFailure: TypeAlias = Literal["cancel", "fail", "run"]

_YEARS: Final = range(2, 9999)
"""Of `run_at`: in no time zone does a moment of these years leave the range of a datetime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """The options of one job; None takes the value of its type. Raises `InvalidRequest`.

    `run_at` (a datetime with a time zone) and `delay` (a timedelta, or a text such as `"5m"`)
    exclude each other. `unique`, or a `unique_key` of the caller's own, allows one such job at a
    time; `on_duplicate` is what happens to a second one, in place of what `unique` says.
    `debounce`: as `Debounce`, or its wait alone. `expires`: how long after it was due the job may
    begin, or until when. `after`: jobs, or their ids, that must end before this one may start;
    `on_dependency_failure`: what it does if one of them fails or is cancelled: `"cancel"` (the
    default) and `"fail"` end it at once, `"run"` starts it when all have ended. `weight`: how much
    the job counts under the limits of its type, 1 as a rule. `tags`: beside those of the type.
    """

    owner: str | None = None
    run_at: datetime | None = None
    delay: Duration | None = None
    priority: int | None = None
    queue: str | None = None
    unique_key: str | None = None
    on_duplicate: OnDuplicate | None = None
    unique: Unique | None = None
    debounce: Duration | Debounce | None = None
    expires: Duration | datetime | None = None
    max_attempts: int | None = None
    backoff: Backoff | None = None
    meta: Mapping[str, Any] | None = None
    after: Iterable[Job | int] | None = None
    on_dependency_failure: DependencyFailure | None = None
    weight: int | None = None
    tags: Collection[str] | None = None

    def __post_init__(self) -> None:
        """Parse each option that was given."""
        for name, parse in _PARSERS.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, parse(value))
        for one, other in _EXCLUDE:
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise InvalidRequest(f"{one} and {other} exclude each other")
        if self.on_dependency_failure is not None and self.after is None:
            raise InvalidRequest("on_dependency_failure needs after=[...], the jobs that may fail")
        if (
            isinstance(self.expires, datetime)
            and self.run_at is not None
            and self.expires <= self.run_at
        ):
            raise InvalidRequest(
                f"expires {self.expires} is not after run_at {self.run_at}, so the job could"
                " never run"
            )

    @property
    def delay_seconds(self) -> float | None:
        """The delay in seconds, as it is stored."""
        return None if self.delay is None else parse_duration("delay", self.delay).total_seconds()

    @property
    def after_ids(self) -> Sequence[JobId]:
        """The ids of the jobs that it waits for."""
        return cast("tuple[JobId, ...]", self.after or ())


def _moment(name: str, given: Any) -> datetime:
    """Parse a moment; one that is stored but cannot be read again would keep every list from being
    read.
    """
    moment: datetime = of_kind(name, given, datetime, "an aware datetime")
    if not has_zone(moment):
        raise InvalidRequest(f"{name} {quoted(moment)} has no time zone; use an aware datetime")
    if moment.year not in _YEARS:
        raise InvalidRequest(f"{name} {moment}: expected a year from {_YEARS[0]} to {_YEARS[-1]}")
    return moment


def _expires(given: Any) -> datetime | timedelta:
    return _moment("expires", given) if isinstance(given, datetime) else expiry_of(given)


def expiry_of(given: Any) -> timedelta:
    """Parse how long a job may wait to begin. Raises `InvalidRequest`."""
    duration = parse_duration("expires", given)
    if not timedelta(0) < duration <= LONGEST_DURATION:
        raise InvalidRequest(f"expires is {quoted(given)}, expected a duration of more than zero")
    return duration


def _delay(given: Any) -> Duration:
    delay = parse_duration("delay", given)
    if abs(delay) > LONGEST_DURATION:
        raise InvalidRequest(f"delay {delay}: it must not be longer than 100 years")
    return delay


def _after(given: Any) -> tuple[JobId, ...]:
    """Parse the jobs to wait for; each once."""
    expected = "a list of jobs or of their ids"
    if isinstance(given, Job | str | Mapping) or not isinstance(given, Iterable):
        raise InvalidRequest(f"after {quoted(given)}: expected {expected}")
    ids = [
        each.id if isinstance(each, Job) else of_kind("after", each, int, expected)
        for each in given
    ]
    if (unknown := next((each for each in ids if not 0 < each <= LARGEST_ID), None)) is not None:
        raise JobDoesNotExist(unknown)
    return tuple(dict.fromkeys(JobId(each) for each in ids))


def _on_dependency_failure(given: Any) -> OnDependencyFailure:
    if given not in get_args(DependencyFailure):
        raise InvalidRequest(
            f"on_dependency_failure {quoted(given)}: expected 'cancel', 'fail' or 'run'"
        )
    return OnDependencyFailure(given)


_EXCLUDE: Final = (
    ("run_at", "delay"),
    ("unique", "unique_key"),
    ("unique", "debounce"),
    ("debounce", "on_duplicate"),
    ("debounce", "run_at"),
    ("debounce", "delay"),
    ("debounce", "after"),
)
"""Options of which a call gives at most one."""

_PARSERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "owner": owner_id,
    "run_at": partial(_moment, "run_at"),
    "delay": _delay,
    "priority": partial(whole_number, "priority", least=-LARGEST_NUMBER),
    "queue": queue_name,
    "unique_key": partial(foreign_id, "unique_key"),
    "on_duplicate": check_on_duplicate,
    "unique": partial(of_kind, "unique", kind=Unique, expected="a Unique"),
    "debounce": debounce_of,
    "expires": _expires,
    "max_attempts": partial(whole_number, "max_attempts", least=1),
    "backoff": partial(of_kind, "backoff", kind=Backoff, expected="a Backoff"),
    "weight": partial(whole_number, "weight", least=1),
    "meta": partial(of_kind, "meta", kind=Mapping, expected="a mapping"),
    "after": _after,
    "on_dependency_failure": _on_dependency_failure,
    "tags": parse_tags,
}

START_OPTIONS: Final = frozenset(
    {"job_type", "session", "sync"} | {field.name for field in fields(StartOptions)}
)
"""The arguments of `Jobs.start` that are no parameter of the job; no parameter may have one of
these names.
"""
