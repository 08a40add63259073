"""Why a job has not started, in responses."""

from datetime import datetime

from pydantic import Field

from horae.api.models import OptionalSentence, View, without_parts
from horae.domain.jobs import WaitReason, Why


class JobWhyItem(View):
    """Why a job has not started, or what has become of it: the reason that decides first."""

    job_id: int
    state: str
    reason: WaitReason = Field(description="What decides first, for programs.")
    text: str = Field(
        description="The reason in one sentence.", examples=["Queue 'mail' is paused."]
    )
    text_sentence: OptionalSentence = Field(validation_alias="text")
    until: datetime | None = Field(
        description="When the reason ends by itself; null if something has to happen first."
    )
    since: datetime | None = Field(
        description="When a pause began, or when the job started or ended."
    )
    note: str | None = Field(description="The note of a pause; shown to staff.")
    by: str | None = Field(description="Who paused or cancelled; a pause's is shown to staff.")
    ahead: int | None = Field(
        description="How many jobs are claimed before it; null if its place is not known."
    )
    ahead_is_least: bool = Field(description="There may be more than `ahead`.")
    starts_on: datetime | None = Field(
        validation_alias="starts_at",
        description="An estimate of its start; null without ground for one.",
    )
    reckoned: str | None = Field(description="What the estimate follows from.")
    reckoned_sentence: OptionalSentence = Field(validation_alias="reckoned")
    fails_on: datetime | None = Field(
        validation_alias="fails_at", description="When the job fails if it has not begun."
    )
    awaited: list[int] = Field(description="The first few jobs that must end first.")
    group_id: int | None = Field(description="The group whose members must end first.")
    holders: list[int] = Field(
        description="The first few jobs that run under the limit; shown to staff."
    )
    node: str | None = Field(description="The node that runs it.")


def job_why_item(why: Why, *, technical: bool, values: bool) -> JobWhyItem:
    """Return the view.

    `technical`: with what only staff may see of others' jobs and operators; `values`: with what may
    repeat parameters.
    """
    item = JobWhyItem.model_validate(why)
    if not values:
        item.text = without_parts(item.text, why.of_values)
        if why.of_values:
            item.text_sentence = None
    if not technical:
        item.note = None
        item.holders = []
        if why.reason in (WaitReason.QUEUE_PAUSED, WaitReason.EVERYTHING_PAUSED):
            item.by = None
    return item
