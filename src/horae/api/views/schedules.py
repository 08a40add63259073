"""Schedules, their ledger and statistics in responses and events."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AliasPath, BeforeValidator, Field, create_model

from horae.api.models import (
    AnyOfValues,
    HiddenText,
    OfValues,
    OptionalSentence,
    SentenceOfValues,
    TextOfValues,
    View,
    attributes,
    without_parts,
)
from horae.client.schedule_words import trigger_in_words, words_in_languages
from horae.client.schedules import ScheduleView
from horae.client.schedules.lanes import LaneOutcome
from horae.client.schedules.why_answer import ScheduleWhy
from horae.client.shown_parameters import shown_parameters
from horae.domain.schedules import RULE_OPTIONS, RuleOption, ValueKind
from horae.domain.schedules.why import WhyKind
from horae.types import Registry

Seconds = Annotated[float, BeforeValidator(timedelta.total_seconds)]


class TriggerItem(View):
    """What makes a schedule due."""

    kind: Literal["cron", "interval"]
    text: str = Field(
        description=(
            "The expression or interval, and after semicolons what differs from the default."
        )
    )


class StatisticsItem(View):
    """The statistics of the ended runs of a schedule: each was a success, a failure or a crash."""

    last_start_on: datetime | None = Field(validation_alias="last_start")
    last_finish_on: datetime | None = Field(validation_alias="last_finish")
    last_successful_finish_on: datetime | None = Field(validation_alias="last_successful_finish")
    last_run_success: bool | None
    total_runs: int
    total_successes: int
    total_failures: int
    total_crashes: int
    open_runs: int = Field(
        description="Runs in progress or pending, which no other count includes."
    )
    mean_duration_seconds: float | None = Field(
        description="Mean of the successful runs; null without any."
    )
    consecutive_failures: int
    consecutive_crashes: int


WORDS_IN: Final[Any] = Field(
    description="The same sentence in other languages, by their tags.",
    examples=[{"de": "Um 03:00 (Europe/Berlin)."}],
)


class ScheduleItem(View):
    """A schedule as in a list."""

    id: int
    name: str
    module: str = Field(
        description="The module that declares it; empty for one that was added at run time."
    )
    job_type: str
    trigger: TriggerItem
    timezone: str
    words: str = Field(
        description="The trigger in a sentence.", examples=["At 03:00 (Europe/Berlin)."]
    )
    words_in: dict[str, str] = WORDS_IN
    queue: str
    priority: int
    state: str = Field(description="`idle`, `executing`, `terminating` or `disabled`.")
    enabled: bool = Field(description="Whether new runs start; a run in progress continues.")
    disabled_reason: str | None
    pause_note: str | None
    job_id: int | None = Field(description="The job of the run in progress.")
    runs_wait: bool = Field(description="Whether a run is open, and none has begun.")
    next_start_on: datetime | None = Field(validation_alias="next_start")
    version: int = Field(
        description="Increases with each change, so that clients can order responses."
    )
    statistics: StatisticsItem


class SkipItem(View):
    """Nominal times in a row that will be skipped."""

    nominal_time: datetime = Field(validation_alias="first")
    until: datetime = Field(validation_alias="last", description="The last of these nominal times.")
    count: int
    reason: str = Field(description="`excluded`, `requested` or `replaced`.")


class _WithParameters(ScheduleItem):
    """A schedule with the parameters of its jobs."""

    params: AnyOfValues = Field(
        None, description="The parameters of its jobs, secret ones masked; null if unknown here."
    )


_SHOWN: Final[Mapping[ValueKind, Any]] = {
    ValueKind.CHOICE: str,
    ValueKind.NUMBER: int,
    ValueKind.RETRIES: int,
    ValueKind.LENGTH: Seconds,
    ValueKind.INTERVAL: Annotated[str, BeforeValidator(str)],
    ValueKind.EXCLUSIONS: list[str],
}
"""The types of the options in a response."""


def in_response(name: str, option: RuleOption) -> tuple[str, Any]:
    """Return the field that shows an option; names of durations say that they are in seconds."""
    kind = _SHOWN[option.kind]
    is_length = option.kind is ValueKind.LENGTH
    shown = Field(validation_alias=name if is_length else None, description=option.description)
    own_name = f"{name}_seconds" if is_length else name
    return own_name, (kind | None if option.may_be_none else kind, shown)


if TYPE_CHECKING:
    _WithRules = _WithParameters
else:
    _WithRules = create_model(
        "_WithRules",
        __base__=_WithParameters,
        **dict(in_response(name, option) for name, option in RULE_OPTIONS.items()),
    )


class ScheduleDetail(_WithRules):
    """A schedule as on its own page."""

    revision: str = Field(
        description=(
            "Another text as soon as the definition is changed; send it with a change, so that it"
            " does not undo that of somebody else."
        )
    )
    overrides: Annotated[dict[str, Any], OfValues({})] = Field(
        description=(
            "What was changed of a declared schedule at run time: the declared value of each"
            " changed field."
        )
    )
    started_on: datetime | None = Field(description="When the run in progress started.")
    created_on: datetime
    next_runs: list[datetime] = Field(
        description="The next starts, as far as they are known; none if it is disabled."
    )
    next_skips: list[SkipItem] = Field(
        description="The nominal times up to the last of these that will be skipped."
    )
    skip_reason: Literal["requested", "replaced"] | None = Field(
        description=(
            "Why a nominal time is skipped once: on request, or because the next start was moved."
        )
    )
    skip_until: datetime | None = Field(
        description="The last nominal time that is skipped for this reason."
    )
    moved_start: datetime | None = Field(description="When the next run starts once, instead.")
    backfill_next: datetime | None = Field(description="The first past time that waits to be run.")
    waiting_reason: HiddenText = Field(
        description="Why the run in progress has not started, if it is pending."
    )
    waiting_reason_sentence: SentenceOfValues


class BackfillResult(View):
    """What a backfill added, or would add."""

    times: int = Field(description="The nominal times in the range that are to be run.")
    added: int
    known: int = Field(description="Those that were run before, or wait already.")
    excluded: int = Field(description="Further times, which the exclusion calendar leaves out.")
    first: datetime | None
    last: datetime | None


class BackfillRemoved(View):
    """How many past times are no longer to be run."""

    removed: int


class PutResult(View):
    """A schedule that was put."""

    outcome: Literal["created", "changed", "unchanged"]
    schedule: ScheduleDetail


class ScheduleList(View):
    """A page of schedules, by module and name."""

    schedules: list[ScheduleItem]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class TickItem(View):
    """What was decided about one nominal time, or about several in a row."""

    nominal_time: datetime
    until: datetime = Field(description="The last of these nominal times.")
    count: int
    decision: str = Field(description="`fired`, `coalesced`, `skipped` or `missed`.")
    reason: str
    job_id: int | None
    retried_as: int | None = Field(description="The newest job that repeats its run.")
    decided_on: datetime
    decided_by: str | None = Field(
        description="The node that decided; null for a decision by a user."
    )
    waiting_reason: HiddenText = Field(description="Why its run has not started, if it is pending.")
    waiting_reason_sentence: SentenceOfValues


class TickList(View):
    """A part of the ledger, the newest first."""

    ticks: list[TickItem]
    next: datetime | None = Field(description="`before` of the next part; null on the last one.")


class MarkItem(View):
    """One or several times of a schedule with one outcome."""

    first: datetime
    last: datetime
    count: int
    outcome: LaneOutcome
    reason: str | None = Field(description="As in the ledger; null without a decision.")
    job_id: int | None


class LaneItem(View):
    """The lane of one schedule."""

    schedule_id: int
    marks: list[MarkItem] = Field(
        description="What became of its times; those close to each other are put together."
    )
    complete_from: datetime | None = Field(
        description="Earlier times are left out, because there are too many; null if all are here."
    )
    coming: list[datetime] = Field(description="The next starts up to the end of the lanes.")
    durations: list[float] = Field(
        description="Of the last ended runs, in seconds, the oldest first."
    )


class LaneList(View):
    """The lanes of some schedules, from `start_on` over `now` to `end_on`."""

    start_on: datetime = Field(validation_alias="start")
    now: datetime
    end_on: datetime = Field(validation_alias="end")
    lanes: list[LaneItem]


class NodeLifeItem(View):
    """A node that was up at a moment."""

    id: str
    name: str
    host: str
    pid: int
    started_on: datetime
    ended_on: datetime | None
    died: bool = Field(description="Whether it ended without unregistering.")


class WhyItem(View):
    """Why a schedule did or did not run at a moment."""

    schedule_id: int
    name: str
    timezone: str
    moment: datetime
    kind: WhyKind
    text: str = Field(description="The reason in a sentence or two.")
    nominal_time: datetime | None = Field(
        description="Of the row of the ledger, as are the fields up to `decided_by`."
    )
    until: datetime | None
    count: int | None
    decision: str | None
    reason: str | None = Field(description="Also why a time to come will be skipped.")
    decided_on: datetime | None
    decided_by: str | None
    job_id: int | None
    job_state: str | None
    job_error: HiddenText
    waiting_reason: HiddenText
    waiting_reason_sentence: SentenceOfValues
    blocked_by: int | None = Field(description="The job of the run that was in progress.")
    disabled_reason: str | None
    paused_by: str | None
    paused_on: datetime | None
    note: str | None = Field(description="Why it is, or was, paused.")
    start_on: datetime | None = Field(
        validation_alias="start", description="When a time that is due or to come starts."
    )
    before: datetime | None = Field(description="The nearest time before the moment.")
    after: datetime | None = Field(description="The nearest time after it.")
    nodes: list[NodeLifeItem] = Field(
        description="The nodes that were up, where the answer depends on them."
    )
    no_node_from: datetime | None = Field(
        description="When the last node ended, if none was up at the moment."
    )
    no_node_until: datetime | None


class ClockChangeItem(View):
    """A change of the clocks of a zone."""

    at: datetime
    offset_before: Seconds = Field(
        validation_alias="before", description="Seconds ahead of UTC before the change."
    )
    offset_after: Seconds = Field(validation_alias="after")
    text: str | None = Field(
        description="What it does to times of the schedule; null if it concerns none."
    )
    text_sentence: OptionalSentence


class PreviewItem(View):
    """What a trigger means."""

    trigger: TriggerItem
    timezone: str = Field(validation_alias=AliasPath("trigger", "timezone"))
    instead: str | None = Field(
        description=(
            "The expression to store in place of one with names, such as `@daily` or `MON-FRI`."
        )
    )
    words: str
    words_in: dict[str, str] = WORDS_IN
    daylight_saving: str | None = Field(
        description="What happens to times that daylight saving skips or repeats."
    )
    daylight_saving_sentence: OptionalSentence
    times: list[datetime] = Field(
        description=(
            "The next starts, with the offset of the zone; for an interval that is counted from the"
            " end of a run only the first."
        )
    )
    skipped: int = Field(description="How many times between them the calendar excludes.")
    clock_changes: list[ClockChangeItem] = Field(
        description="The changes of the clocks up to the last of these times."
    )
    next_clock_change: datetime | None


class FailedRunItem(View):
    """An attempt at a run that did not succeed."""

    job_id: int
    nominal_time: datetime | None
    started_on: datetime
    finished_on: datetime
    outcome: str = Field(description="`failed`, `timed_out` or `crashed`.")
    error: TextOfValues
    traceback: TextOfValues


class FailedRunList(View):
    """Runs that failed or crashed, the newest first."""

    errors: list[FailedRunItem]


def schedule_item(view: ScheduleView) -> ScheduleItem:
    """Return a schedule as in a list."""
    return ScheduleItem.model_validate(_values(view))


def schedule_detail(registry: Registry, view: ScheduleView) -> ScheduleDetail:
    """Return a schedule as on its own page."""
    overrides = dict(view.overrides)
    if "params" in overrides:
        overrides["params"] = shown_parameters(registry, view.job_type, overrides["params"])
    next_runs, change = view.upcoming(5), view.change
    more = {
        "params": shown_parameters(registry, view.job_type, view.config),
        "overrides": overrides,
        "next_runs": next_runs,
        "next_skips": view.skips(next_runs[-1] if next_runs else None),
        "skip_reason": None if change is None else change.reason,
        "skip_until": None if change is None else change.skip_until,
        "moved_start": None if change is None else change.start,
    }
    return ScheduleDetail.model_validate({**attributes(view.rules), **_values(view), **more})


def statistics_item(view: ScheduleView) -> StatisticsItem:
    """Return the statistics of a schedule."""
    found = view.statistics
    mean = (
        found.total_duration.total_seconds() / found.total_successes
        if found.total_successes
        else None
    )
    more = {"open_runs": view.open_runs, "mean_duration_seconds": mean}
    return StatisticsItem.model_validate({**attributes(found), **more})


def why_item(why: ScheduleWhy, *, values: bool) -> WhyItem:
    """Return the view of an answer; `values`: with what may repeat parameters."""
    item = WhyItem.model_validate(why)
    if not values:
        item.text = without_parts(item.text, why.of_values)
    return item


def _values(view: ScheduleView) -> dict[str, Any]:
    trigger = view.rules.trigger
    words: dict[str, Any] = {
        "trigger": trigger,
        "timezone": trigger.timezone,
        "words": trigger_in_words(trigger),
        "words_in": words_in_languages(trigger),
    }
    return {**attributes(view), **words, "statistics": statistics_item(view)}
