"""Bodies of requests about schedules.

An omitted option keeps its value, or has its default in a new schedule.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Required

from pydantic import AwareDatetime, ConfigDict, Field
from typing_extensions import TypedDict

from horae.api.models import LONGEST_NOTE, RequestModel, Storable
from horae.client.schedules.backfill import DEFAULT_LIMIT, LARGEST_LIMIT
from horae.client.schedules.schedules import ScheduleKeywords
from horae.domain.backoff import Growth
from horae.domain.cron.wall_clock import DstFold, DstGap
from horae.domain.names import LONGEST_NAME
from horae.domain.schedules.schedule import CatchUp, Overlap

_Name = Annotated[Storable, Field(min_length=1, max_length=LONGEST_NAME)]
_Text = Annotated[Storable, Field(min_length=1, max_length=1000)]
_Time = Annotated[
    AwareDatetime, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(2100, 1, 1, tzinfo=UTC))
]
_Count = Annotated[int, Field(ge=0, le=1_000_000)]
_Duration = Annotated[_Text, Field(description="A duration.", examples=["90s", "5m", "1 day"])]


class ScheduleOptions(TypedDict, total=False):
    """The options of a schedule: either `cron` or `every`, and how runs are started and
    repeated.
    """

    # Pydantic's own way to configure it
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    cron: Annotated[_Text, Field(description="When, as a cron expression.", examples=["0 3 * * *"])]
    every: Annotated[
        _Text, Field(description="How long after the end of the previous run.", examples=["10m"])
    ]
    timezone: Annotated[_Text, Field(description="IANA name of the zone; UTC if not given.")]
    dst_gap: DstGap
    dst_fold: DstFold
    fixed: Annotated[bool, Field(description="Count `every` on a grid, not from the end of a run.")]
    next_start: Annotated[
        _Time, Field(description="Moves the next start, once; a time in the past means at once.")
    ]
    initial_start: Annotated[
        _Time | None, Field(description="First start of `every`, anchor of its grid.")
    ]
    overlap: Overlap
    catch_up: CatchUp
    catch_up_limit: int
    catch_up_window: _Duration
    jitter: _Duration
    max_runtime: _Duration | None
    max_retries: Annotated[
        _Count | None,
        Field(
            description=(
                "Retries after a failure; one more failure in a row disables it. Null for no limit."
            )
        ),
    ]
    retry_period: _Duration | None
    backoff: Growth
    exclude: Annotated[
        list[_Text],
        Field(
            description=(
                "Days on which it does not run, by the clock of its zone: dates, ranges, calendar"
                " functions."
            ),
            examples=[["2026-12-24..2026-12-26", "calendar:shop.holidays"]],
            max_length=1000,
        ),
    ]
    queue: _Name
    priority: int
    params: Annotated[dict[str, Any], Field(description="All parameters of its jobs.")]


class NewSchedule(ScheduleOptions, total=False):
    """A schedule to add."""

    job_type: Required[_Name]
    name: Annotated[_Name, Field(description="Its name; by default that of the job type.")]
    enabled: Annotated[bool, Field(description="Whether it is enabled from the start.")]


class WantedSchedule(ScheduleOptions, total=False):
    """What a schedule is to be."""

    job_type: Required[_Name]
    enabled: Annotated[
        bool,
        Field(description="Whether it is enabled; if not given, a paused schedule stays paused."),
    ]


class BackfillRange(RequestModel):
    """A range of past nominal times, `start <= time < end`."""

    start: _Time
    end: _Time
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
