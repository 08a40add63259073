"""What a caller may decide about one job beyond its parameters.

An option is declared once, as a field of `StartOptions` that says how it is parsed and how the
command line shows it. `StartKeywords` repeats its name and type for type checkers, which is checked
at import.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    TypeAlias,
    TypedDict,
    cast,
    get_args,
)

from horae.domain.arguments import has_zone, of_kind, whole_number
from horae.domain.backoff import Backoff
from horae.domain.jobs import (
    Debounce,
    Job,
    JobId,
    OnDependencyFailure,
    OnDuplicate,
    Unique,
    check_on_duplicate,
    debounce_of,
    parse_tags,
)
from horae.domain.names import foreign_id, owner_id, queue_name
from horae.domain.storable import LARGEST_ID, LARGEST_NUMBER
from horae.domain.times import LONGEST_DURATION, Duration, bounded_duration, parse_duration
from horae.errors import InvalidRequest, JobDoesNotExist
from horae.quoting import quoted
from horae.sentences import SentenceCode

if TYPE_CHECKING:  # the ORM is a third of the time of `import horae`
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session

DependencyFailure: TypeAlias = Literal["cancel", "fail", "run"]

TextForm: TypeAlias = Literal[
    "text", "number", "duration", "moment", "names", "backoff", "json", "texts", "ids"
]
"""The textual form of a value on the command line."""
_YEARS: Final = range(2, 9999)
"""Years of `run_at`: in no time zone does a moment of them leave the range of a datetime."""


@dataclass(frozen=True, slots=True)
class StartOption:
    """An option of a start.

    `parse`: returns the checked value, or raises `InvalidRequest`; `of_type`: without a value the
    job has that of its type; `metavar`, `least` and `flag`: on the command line, where the flag is
    the name of the option unless it says otherwise.
    """

    parse: Callable[[Any], Any]
    help: str
    form: TextForm = "text"
    metavar: str | None = None
    least: int | None = None
    flag: str | None = None
    of_type: bool = False


def _moment(name: str, given: Any) -> datetime:
    """Parse a moment; one that could be stored and not read again would spoil every list."""
    moment: datetime = of_kind(name, given, datetime, "an aware datetime")
    if not has_zone(moment):
        raise InvalidRequest(f"{name} {quoted(moment)} has no time zone; use an aware datetime")
    if moment.year not in _YEARS:
        raise InvalidRequest(
            f"{name} {moment}: expected a year from {_YEARS[0]} to {_YEARS[-1]}",
            SentenceCode.VALUE_YEAR,
            least=_YEARS[0],
            most=_YEARS[-1],
        )
    return moment


def _expiry(given: Any) -> datetime | timedelta:
    """Parse until when, or for how long, a job may wait to begin."""
    if isinstance(given, datetime):
        return _moment("expires", given)
    return bounded_duration("expires", given, "a duration of more than zero")


def _delay(given: Any) -> Duration:
    delay = parse_duration("delay", given)
    if abs(delay) > LONGEST_DURATION:
        raise InvalidRequest(
            f"delay {delay}: it must not be longer than 100 years",
            SentenceCode.VALUE_INTERVAL_TOO_LONG,
            text=str(given),
        )
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """The options of one job; None takes the value of its type. Raises `InvalidRequest`.

    `run_at` (a datetime with a time zone) and `delay` (a timedelta, or a text such as `"5m"`)
    exclude each other. `unique`, or a `unique_key` of the caller's own, allows one such job at a
    time; `on_duplicate` is what happens to a second one, in place of what `unique` says.
    `debounce`: a `Debounce`, or its wait alone. `expires`: how long after it was due the job may
    begin, or until when. `after`: jobs, or their ids, that must end before this one may start;
    `on_dependency_failure`: what it does if one of them fails or is cancelled: `"cancel"` (the
    default) and `"fail"` end it at once, `"run"` starts it when all have ended. `weight`: how much
    the job counts under the limits of its type, 1 as a rule. `tags`: added to those of the type.
    """

    owner: Annotated[str | None, StartOption(owner_id, "Owner of the job.", metavar="TEXT")] = None
    queue: Annotated[
        str | None,
        StartOption(
            queue_name, "Queue, instead of that of its type.", metavar="NAME", of_type=True
        ),
    ] = None
    priority: Annotated[
        int | None,
        StartOption(
            partial(whole_number, "priority", least=-LARGEST_NUMBER),
            "Priority; higher runs first.",
            "number",
            of_type=True,
        ),
    ] = None
    delay: Annotated[
        Duration | None,
        StartOption(_delay, "Delay before it may start, such as 10m.", "duration", metavar="TIME"),
    ] = None
    run_at: Annotated[
        datetime | None,
        StartOption(partial(_moment, "run_at"), "Earliest start.", "moment", metavar="ISO"),
    ] = None
    tags: Annotated[
        Collection[str] | None,
        StartOption(
            parse_tags,
            "A tag, by which the job can be found. Repeatable.",
            "texts",
            metavar="TEXT",
            flag="tag",
        ),
    ] = None
    unique_key: Annotated[
        str | None,
        StartOption(
            partial(foreign_id, "unique_key"),
            "Refuse if an unfinished job of the type has the same key.",
            metavar="TEXT",
        ),
    ] = None
    unique: Annotated[
        Unique | None,
        StartOption(
            partial(of_kind, "unique", kind=Unique, expected="a Unique"),
            "Refuse if an unfinished job has the same values of these; * for all.",
            "names",
            metavar="NAMES",
        ),
    ] = None
    on_duplicate: Annotated[
        OnDuplicate | None,
        StartOption(
            check_on_duplicate, "If there is such a job: refuse, return or replace.", metavar="WHAT"
        ),
    ] = None
    debounce: Annotated[
        Duration | Debounce | None,
        StartOption(
            debounce_of,
            "Wait for further starts, and run once with the last parameters.",
            "duration",
            metavar="TIME",
        ),
    ] = None
    expires: Annotated[
        Duration | datetime | None,
        StartOption(
            _expiry,
            "Fail the job if it has not begun so long after it was due.",
            "duration",
            metavar="TIME",
        ),
    ] = None
    max_attempts: Annotated[
        int | None,
        StartOption(
            partial(whole_number, "max_attempts", least=1),
            "Maximum number of attempts.",
            "number",
            least=1,
            of_type=True,
        ),
    ] = None
    backoff: Annotated[
        Backoff | None,
        StartOption(
            partial(of_kind, "backoff", kind=Backoff, expected="a Backoff"),
            "Waits between attempts, such as base=10s,cap=5m,factor=linear,jitter=0.1.",
            "backoff",
            metavar="TEXT",
        ),
    ] = None
    weight: Annotated[
        int | None,
        StartOption(
            partial(whole_number, "weight", least=1),
            "How much it counts under the limits of its type.",
            "number",
            metavar="N",
            least=1,
        ),
    ] = None
    after: Annotated[
        Iterable[Job | int] | None,
        StartOption(
            _after, "Start only after this job has ended. Repeatable.", "ids", metavar="ID"
        ),
    ] = None
    on_dependency_failure: Annotated[
        DependencyFailure | None,
        StartOption(
            _on_dependency_failure,
            "If such a job does not finish: cancel (default), fail or run.",
            metavar="WHAT",
        ),
    ] = None
    meta: Annotated[
        Mapping[str, Any] | None,
        StartOption(
            partial(of_kind, "meta", kind=Mapping, expected="a mapping"),
            "Data besides the parameters, as one JSON object.",
            "json",
            metavar="JSON",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Parse each option that was given."""
        for name, parse in _PARSERS:
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


_EXCLUDE: Final = (
    ("run_at", "delay"),
    ("unique", "unique_key"),
    ("unique", "debounce"),
    ("debounce", "on_duplicate"),
    ("debounce", "run_at"),
    ("debounce", "delay"),
    ("debounce", "after"),
)
"""Pairs of options of which a call gives at most one."""
OPTIONS: Final[Mapping[str, StartOption]] = {
    name: get_args(annotation)[1] for name, annotation in StartOptions.__annotations__.items()
}
"""All options of a start by name, in the order in which the command line shows them."""


class StartKeywords(TypedDict, total=False):
    """The keywords of `Jobs.start`, and of the `with_options` of a function."""

    owner: str | None
    queue: str | None
    priority: int | None
    delay: Duration | None
    run_at: datetime | None
    tags: Collection[str] | None
    unique_key: str | None
    unique: Unique | None
    on_duplicate: OnDuplicate | None
    debounce: Duration | Debounce | None
    expires: Duration | datetime | None
    max_attempts: int | None
    backoff: Backoff | None
    weight: int | None
    after: Iterable[Job | int] | None
    on_dependency_failure: DependencyFailure | None
    meta: Mapping[str, Any] | None
    session: "Session | Connection | AsyncSession | AsyncConnection | None"
    sync: bool


_PARSERS: Final = tuple((name, option.parse) for name, option in OPTIONS.items())
NO_OPTIONS: Final = StartOptions()
"""The options of a call that gives none."""
START_OPTIONS: Final = frozenset({"job_type", "session", "sync"} | OPTIONS.keys())
"""The arguments of `Jobs.start` that no parameter of a job may have the name of."""


def options_in(keywords: Mapping[str, Any]) -> tuple[StartOptions, Mapping[str, Any]]:
    """Return the options among the keywords of a start, and the others: the job's parameters."""
    values = {name: value for name, value in keywords.items() if name not in OPTIONS}
    if len(values) == len(keywords):
        return NO_OPTIONS, values
    named = {name: keywords[name] for name in keywords.keys() - values.keys()}
    return StartOptions(**named), values


if unlike := StartKeywords.__annotations__.keys() ^ (START_OPTIONS - {"job_type"}):
    raise TypeError(f"StartKeywords differs from the options of a start: {sorted(unlike)}")
