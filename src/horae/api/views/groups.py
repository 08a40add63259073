"""Groups of jobs in responses."""

from datetime import datetime

from pydantic import Field

from horae.api.models import View


class GroupView(View):
    """Jobs that are watched and cancelled together."""

    id: int
    state: str = Field(
        description=(
            "`open` while members may be added, `ended` when all have ended, `cancelled` once it is"
            " cancelled."
        )
    )
    progress_percentage: int = Field(
        ge=0, le=100, description="The mean of the members; 100 when all have ended."
    )
    total: int = Field(description="Members.")
    finished: int
    failed: int
    cancelled: int
    owner: str | None
    on_failure: str = Field(
        description="`continue` or `cancel`: what the group does when a member does not finish."
    )
    then_id: int | None = Field(description="The job that runs when all members have ended.")
    created_on: datetime = Field(validation_alias="created_at")
    cancelled_on: datetime | None = Field(validation_alias="cancelled_at")
    cancelled_by: str | None
    ended_on: datetime | None = Field(
        validation_alias="ended_at", description="When the last member ended."
    )
