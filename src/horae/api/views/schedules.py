"""Schedules, their ledger and statistics as responses and events say them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from pydantic import BaseModel, Field

from horae.api.views.parameters import shown_parameters
from horae.client.schedules.pages import SchedulePage
from horae.client.schedules.views import ScheduleView
from horae.client.schedules.words import trigger_in_words
from horae.domain.schedules.schedule import Rules
from horae.storage.schedules.rows import FailedRun
from horae.storage.schedules.ticks import StoredTicks
from horae.types.registry import Registry

NEXT_RUNS: Final = 5


class TriggerItem(BaseModel):
    """What makes a schedule due."""

    kind: Literal["cron", "interval"]
    text: str = Field(description="The expression or interval, and after semicolons what differs from the default.")


class StatisticsItem(BaseModel):
    """How the runs of a schedule went that have ended: each was a success, a failure or a crash."""

    last_start_on: datetime | None
    last_finish_on: datetime | None
    last_successful_finish_on: datetime | None
    last_run_success: bool | None
    total_runs: int
    total_successes: int
    total_failures: int
    total_crashes: int
    open_runs: int = Field(description="Runs in progress or pending, which no other count includes.")
    mean_duration_seconds: float | None = Field(description="Mean of the successful runs; null without any.")
    consecutive_failures: int
    consecutive_crashes: int


class ScheduleItem(BaseModel):
    """A schedule as in a list."""

    id: int
    name: str
    module: str = Field(description="The module that declares it; empty for one that was added at run time.")
    job_type: str
    trigger: TriggerItem
    timezone: str
    words: str = Field(description="The trigger in a sentence.", examples=["At 03:00 (Europe/Berlin)."])
    queue: str
    priority: int
    state: str = Field(description="`idle`, `executing`, `terminating` or `disabled`.")
    enabled: bool = Field(description="Whether new runs start; a run in progress continues.")
    disabled_reason: str | None
    pause_note: str | None
    job_id: int | None = Field(description="The job of the run in progress.")
    next_start_on: datetime | None
    version: int = Field(description="Increases with each change, so that clients can order responses.")
    statistics: StatisticsItem


class ScheduleDetail(ScheduleItem):
    """A schedule with what only its own page needs."""

    params: Any = Field(None, description="The parameters of its jobs, secret ones masked; null if unknown here.")
    overlap: str
    catch_up: str
    catch_up_limit: int
    catch_up_window_seconds: float
    jitter_seconds: float
    max_runtime_seconds: float | None
    max_retries: int | None
    retry_period: str | None
    backoff: str
    started_on: datetime | None = Field(description="When the run in progress started.")
    created_on: datetime
    next_runs: list[datetime] = Field(description="The next starts, as far as they are known; none if it is disabled.")


class ScheduleList(BaseModel):
    """A page of schedules, by module and name."""

    schedules: list[ScheduleItem]
    next: str | None = Field(description="The cursor of the next page; null on the last one.")


class TickItem(BaseModel):
    """What was decided about one nominal time, or about several in a row."""

    nominal_time: datetime
    until: datetime = Field(description="The last of the times that it stands for.")
    count: int
    decision: str = Field(description="`fired`, `coalesced`, `skipped` or `missed`.")
    reason: str
    job_id: int | None
    decided_on: datetime
    decided_by: str | None = Field(description="The node that decided; null for a decision by a user.")


class TickList(BaseModel):
    """A part of the ledger, the newest first."""

    ticks: list[TickItem]
    next: datetime | None = Field(description="`before` of the next part; null on the last one.")


class FailedRunItem(BaseModel):
    """An attempt at a run that did not succeed."""

    job_id: int
    nominal_time: datetime | None
    started_on: datetime
    finished_on: datetime
    outcome: str = Field(description="`failed`, `timed_out` or `crashed`.")
    error: str | None
    traceback: str | None


class FailedRunList(BaseModel):
    """Runs that failed or crashed, the newest first."""

    errors: list[FailedRunItem]


class ScheduleItems:
    """Makes views of schedules."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def item(self, view: ScheduleView) -> ScheduleItem:
        """The schedule as in a list."""
        return ScheduleItem.model_validate(_common(view))

    def detail(self, view: ScheduleView) -> ScheduleDetail:
        """The schedule as on its own page."""
        params = shown_parameters(self._registry, view.job_type, view.config)
        return ScheduleDetail.model_validate(
            {
                **_common(view),
                **_rules(view.rules),
                "params": params,
                "started_on": view.started_at,
                "created_on": view.created_at,
                "next_runs": view.upcoming(NEXT_RUNS),
            }
        )

    def page(self, page: SchedulePage) -> ScheduleList:
        """A list of schedules."""
        return ScheduleList(schedules=[self.item(view) for view in page.schedules], next=page.next)


def statistics_item(view: ScheduleView) -> StatisticsItem:
    """How the runs went."""
    statistics = view.statistics
    successes = statistics.total_successes
    return StatisticsItem(
        last_start_on=statistics.last_start,
        last_finish_on=statistics.last_finish,
        last_successful_finish_on=statistics.last_successful_finish,
        last_run_success=statistics.last_run_success,
        total_runs=statistics.total_runs,
        total_successes=successes,
        total_failures=statistics.total_failures,
        total_crashes=statistics.total_crashes,
        open_runs=view.open_runs,
        mean_duration_seconds=statistics.total_duration.total_seconds() / successes if successes else None,
        consecutive_failures=statistics.consecutive_failures,
        consecutive_crashes=statistics.consecutive_crashes,
    )


def tick_list(ticks: Sequence[StoredTicks], limit: int) -> TickList:
    """A part of the ledger; one entry more than `limit` says that there is another part."""
    shown = ticks[:limit]
    items = [
        TickItem(
            nominal_time=each.nominal_time,
            until=each.until,
            count=each.count,
            decision=each.decision,
            reason=each.reason,
            job_id=each.job_id,
            decided_on=each.decided_at,
            decided_by=each.decided_by,
        )
        for each in shown
    ]
    return TickList(ticks=items, next=shown[-1].nominal_time if len(ticks) > limit else None)


def failed_run_list(runs: Sequence[FailedRun]) -> FailedRunList:
    """Runs that failed."""
    return FailedRunList(
        errors=[
            FailedRunItem(
                job_id=each.job_id,
                nominal_time=each.nominal_time,
                started_on=each.started_at,
                finished_on=each.finished_at,
                outcome=each.outcome,
                error=each.error,
                traceback=each.traceback,
            )
            for each in runs
        ]
    )


def _common(view: ScheduleView) -> dict[str, Any]:
    trigger = view.rules.trigger
    return {
        "id": view.id,
        "name": view.name,
        "module": view.module,
        "job_type": view.job_type,
        "trigger": {"kind": trigger.kind, "text": trigger.text},
        "timezone": trigger.timezone,
        "words": trigger_in_words(trigger),
        "queue": view.queue,
        "priority": view.priority,
        "state": view.state,
        "enabled": view.enabled,
        "disabled_reason": view.disabled_reason,
        "pause_note": view.pause_note,
        "job_id": view.job_id,
        "next_start_on": view.next_start,
        "version": view.version,
        "statistics": statistics_item(view),
    }


def _rules(rules: Rules) -> dict[str, Any]:
    return {
        "overlap": rules.overlap.value,
        "catch_up": rules.catch_up.value,
        "catch_up_limit": rules.catch_up_limit,
        "catch_up_window_seconds": rules.catch_up_window.total_seconds(),
        "jitter_seconds": rules.jitter.total_seconds(),
        "max_runtime_seconds": _seconds(rules.max_runtime),
        "max_retries": rules.max_retries,
        "retry_period": None if rules.retry_period is None else str(rules.retry_period),
        "backoff": rules.backoff,
    }


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds()
