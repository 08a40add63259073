"""A schedule as callers see it."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.statistics import Statistics
from horae.domain.schedules.timeline import upcoming
from horae.storage.schedules.reading import OpenRuns
from horae.storage.schedules.row_mapping import rules_of, statistics_of
from horae.storage.schedules.rows import StoredSchedule


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """A schedule as it was stored when it was read.

    `module` is empty for a schedule that was added at run time. `job_id`: the job of the executing run. `statistics`
    cover the ended runs. `open_runs`: the number of runs that execute or wait to begin. `read_at`: by the database's
    clock.
    """

    id: int
    name: str
    module: str
    deployment_id: int | None
    job_type: str
    config: Any
    rules: Rules
    queue: str
    priority: int
    state: str
    enabled: bool
    disabled_reason: str | None
    pause_note: str | None
    partition: int
    job_id: int | None
    started_at: datetime | None
    next_start: datetime | None
    last_tick: datetime | None
    created_at: datetime
    version: int
    statistics: Statistics
    open_runs: int
    read_at: datetime = field(compare=False)

    def upcoming(self, count: int) -> list[datetime]:
        """Return the next starts, as far as they are known; none for a disabled schedule."""
        running = self.started_at is not None
        return upcoming(self.rules, self.next_start, self.read_at, count, executing=running) if self.enabled else []


def view_of(row: StoredSchedule, open_runs: OpenRuns | None = None) -> ScheduleView:
    """Return the view of a stored schedule with its open runs."""
    if open_runs is None:
        open_runs = OpenRuns(0 if row.run_token is None else 1)
    return ScheduleView(
        id=row.id,
        name=row.name,
        module=row.module,
        deployment_id=row.deployment_id,
        job_type=row.job_type,
        config=None if row.params is None else json.loads(row.params),
        rules=rules_of(row),
        queue=row.queue,
        priority=row.priority,
        state=row.state,
        enabled=row.enabled,
        disabled_reason=row.disabled_reason,
        pause_note=row.pause_note,
        partition=row.partition,
        job_id=row.run_token,
        started_at=row.started_at,
        next_start=row.next_start,
        last_tick=row.last_tick,
        created_at=row.created_at,
        version=row.version,
        statistics=statistics_of(row).without_open(open_runs.count, open_runs.began),
        open_runs=open_runs.count,
        read_at=row.now,
    )
