"""Schedules as they are stored, read and written.

They are tuples, because thousands may be copied with small changes at once, which takes a dataclass five times as long.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple


class NewSchedule(NamedTuple):
    """A schedule to insert; `params` and `rules` are JSON text. One without a next start begins disabled."""

    name: str
    job_type: str
    params: str | None
    trigger_kind: str
    trigger: str
    timezone: str
    queue: str
    priority: int
    rules: str
    partition: int
    next_start: datetime | None
    last_tick: datetime | None
    module: str = ""
    deployment_id: int | None = None
    enabled: bool = True
    disabled_reason: str | None = None
    pause_note: str | None = None
    state: str = "idle"


class StoredSchedule(NamedTuple):
    """A stored schedule with its statistics. `now` is the database's clock when it was read."""

    id: int
    name: str
    module: str
    deployment_id: int | None
    job_type: str
    params: str | None
    trigger_kind: str
    trigger: str
    timezone: str
    queue: str
    priority: int
    rules: str
    enabled: bool
    disabled_reason: str | None
    pause_note: str | None
    partition: int
    state: str
    run_token: int | None
    started_at: datetime | None
    next_start: datetime | None
    last_tick: datetime | None
    created_at: datetime
    version: int
    last_start: datetime | None
    last_finish: datetime | None
    last_successful_finish: datetime | None
    last_run_success: bool | None
    total_runs: int
    total_successes: int
    total_failures: int
    total_crashes: int
    total_duration: float
    total_duration_failures: float
    consecutive_failures: int
    consecutive_crashes: int
    now: datetime


class DueSchedule(NamedTuple):
    """What a controller remembers of a schedule. `due_in`: seconds by the database's clock; negative if it is late."""

    id: int
    partition: int
    priority: int
    due_in: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRun:
    """An attempt at a run that failed, exceeded its time limit or crashed."""

    schedule_id: int
    job_id: int
    nominal_time: datetime | None
    started_at: datetime
    finished_at: datetime
    outcome: str
    error: str | None
    traceback: str | None
