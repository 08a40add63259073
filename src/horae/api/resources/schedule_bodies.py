"""Bodies of requests about schedules.

An omitted option keeps its value, or has its default in a new schedule.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Required

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from horae.api.models import Moment, Name, RequestModel, Storable
from horae.client.schedules import DEFAULT_LIMIT, LARGEST_LIMIT, ScheduleKeywords
from horae.client.schedules.preview import MOST_TIMES
from horae.domain.cron import DstFold, DstGap
from horae.domain.schedules import RULE_OPTIONS, RuleOption, ValueKind
from horae.types import LONGEST_NOTE, RuleKeywords

_Text = Annotated[Storable, Field(min_length=1, max_length=1000)]
_Duration = Annotated[_Text, Field(description="A duration.", examples=["90s", "5m", "1 day"])]


_BODIES: Final[Mapping[ValueKind, Any]] = {
    ValueKind.NUMBER: int,
    ValueKind.RETRIES: Annotated[int, Field(ge=0, le=1_000_000)],
    ValueKind.LENGTH: _Duration,
    ValueKind.INTERVAL: _Duration,
    ValueKind.EXCLUSIONS: Annotated[list[_Text], Field(max_length=1000)],
}
"""The type of an option in a request by kind of value; a choice has its own type."""


def in_body(option: RuleOption) -> Any:
    """Return the type of an option in a request."""
    kind = option.choices or _BODIES[option.kind]
    if option.may_be_none:
        kind = kind | None
    if option.description is None:
        return kind
    return Annotated[
        kind, Field(description=option.description, examples=list(option.examples) or None)
    ]


_RULES: Final = {name: in_body(option) for name, option in RULE_OPTIONS.items()}

if TYPE_CHECKING:
    _RuleBody = RuleKeywords
else:
    _RuleBody = TypedDict("_RuleBody", _RULES, total=False)


class _TriggerBody(TypedDict, total=False):
    """When a schedule is due."""

    cron: Annotated[_Text, Field(description="When, as a cron expression.", examples=["0 3 * * *"])]
    every: Annotated[
        _Text, Field(description="How long after the end of the previous run.", examples=["10m"])
    ]
    timezone: Annotated[_Text, Field(description="IANA name of the zone; UTC if not given.")]
    dst_gap: DstGap
    dst_fold: DstFold
    fixed: Annotated[bool, Field(description="Count `every` on a grid, not from the end of a run.")]
    initial_start: Annotated[
        Moment | None, Field(description="First start of `every`, anchor of its grid.")
    ]


class ScheduleOptions(_TriggerBody, _RuleBody, total=False):
    """The options of a schedule: either `cron` or `every`, and how runs are started and
    repeated.
    """

    # Pydantic reads its configuration from this name.
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    next_start: Annotated[
        Moment, Field(description="Moves the next start, once; a time in the past means at once.")
    ]
    queue: Name
    priority: int
    params: Annotated[dict[str, Any], Field(description="All parameters of its jobs.")]


class NewSchedule(ScheduleOptions, total=False):
    """A schedule to add."""

    job_type: Required[Name]
    name: Annotated[Name, Field(description="Its name; by default that of the job type.")]
    enabled: Annotated[bool, Field(description="Whether it is enabled from the start.")]


class AlteredSchedule(ScheduleOptions, total=False):
    """What to change of a schedule."""

    revision: Annotated[
        Name,
        Field(
            description=(
                "`revision` of the schedule as it was read: the change is refused if another one"
                " was made since."
            )
        ),
    ]


class SchedulePreview(_TriggerBody, total=False):
    """A trigger to look at: either `cron` or `every`, and the days without a run."""

    # Pydantic reads its configuration from this name.
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    exclude: Annotated[list[_Text], Field(max_length=1000)]
    after: Annotated[Moment, Field(description="From when on; now if not given.")]
    count: Annotated[int, Field(ge=1, le=MOST_TIMES, description="How many times; 10.")]


class WantedSchedule(ScheduleOptions, total=False):
    """What a schedule is to be."""

    job_type: Required[Name]
    enabled: Annotated[
        bool,
        Field(description="Whether it is enabled; if not given, a paused schedule stays paused."),
    ]


class BackfillRange(RequestModel):
    """A range of past nominal times, `start <= time < end`."""

    start: Moment
    end: Moment
    limit: int = Field(
        DEFAULT_LIMIT, ge=1, le=LARGEST_LIMIT, description="Times that it may have at most."
    )
    dry_run: bool = Field(default=False, description="Count the times and add none.")
    failed: bool = Field(
        default=False, description="Also run times again whose last run failed or crashed."
    )


class SchedulePause(RequestModel):
    """Why a schedule is paused."""

    note: Storable | None = Field(
        None, max_length=LONGEST_NOTE, description="Why; shown in the list."
    )


OPTIONS: Final = tuple(ScheduleKeywords.__annotations__)


def options_in(given: Mapping[str, Any]) -> Any:
    """Return the options among the values of a body."""
    return {name: given[name] for name in OPTIONS if name in given}
