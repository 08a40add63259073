"""What somebody says of a schedule over HTTP: what is not named is left as it is, or as it is by default."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Required

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from horae.api.fields import STORABLE, Storable
from horae.client.schedules.schedules import ScheduleKeywords
from horae.domain.backoff import Growth
from horae.domain.cron.wall_clock import DstFold, DstGap
from horae.domain.names import LONGEST_NAME
from horae.domain.schedules.schedule import CatchUp, Overlap

_Name = Annotated[Storable, Field(min_length=1, max_length=LONGEST_NAME, pattern=STORABLE)]
_Text = Annotated[Storable, Field(min_length=1, max_length=1000, pattern=STORABLE)]
_Moment = Annotated[AwareDatetime, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(2100, 1, 1, tzinfo=UTC))]
_Count = Annotated[int, Field(ge=0, le=1_000_000)]
_Length = Annotated[_Text, Field(description="A length of time.", examples=["90s", "5m", "1 day"])]


class ScheduleOptions(TypedDict, total=False):
    """Everything that may be changed: either `cron` or `every`, and how its runs go."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc] # Pydantic's own way to configure it

    cron: Annotated[_Text, Field(description="When, as a cron expression.", examples=["0 3 * * *"])]
    every: Annotated[_Text, Field(description="How long after the end of a run.", examples=["10m"])]
    timezone: Annotated[_Text, Field(description="IANA name of the zone; UTC if not given.")]
    dst_gap: DstGap
    dst_fold: DstFold
    fixed: Annotated[bool, Field(description="Count `every` on a grid, not from the end of a run.")]
    next_start: Annotated[_Moment, Field(description="Next start of `every`; if it is over, at once.")]
    initial_start: Annotated[_Moment | None, Field(description="First start of `every`, anchor of its grid.")]
    overlap: Overlap
    catch_up: CatchUp
    catch_up_limit: int
    catch_up_window: _Length
    jitter: _Length
    max_runtime: _Length | None
    max_retries: Annotated[
        _Count | None,
        Field(description="Further tries after a failure; one more failure in a row disables it. Null: any."),
    ]
    retry_period: _Length | None
    backoff: Growth
    queue: _Name
    priority: int
    params: Annotated[dict[str, Any], Field(description="The parameters of its jobs, all of them.")]


class NewSchedule(ScheduleOptions, total=False):
    """A schedule to add."""

    job_type: Required[_Name]
    name: Annotated[_Name, Field(description="Its name; the job type's if not given.")]
    enabled: Annotated[bool, Field(description="Whether it begins at once.")]


class Pause(BaseModel):
    """Why no further run is to start."""

    model_config = ConfigDict(extra="forbid")

    note: Storable | None = Field(None, max_length=2000, pattern=STORABLE, description="Why; shown in the list.")


OPTIONS: Final = tuple(ScheduleKeywords.__annotations__)


def options_in(given: Mapping[str, Any]) -> Any:
    """The part of a body that goes to the handler as options."""
    return {name: given[name] for name in OPTIONS if name in given}
