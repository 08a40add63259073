"""The tables of schedules, ticks and deployments, and statements that plan, start and read them.

Invariants: (schedule, nominal time) is unique among ticks and among jobs, and the guarded start
decides between nodes; the end of a run is guarded by its run token; each change of a schedule that
bears on its next start recomputes it with `plan`.
"""

from horae.storage.schedules.bulk_firing import PlannedFire
from horae.storage.schedules.clock_setbacks import WaitingSchedule
from horae.storage.schedules.deployments import Deployment
from horae.storage.schedules.health import (
    FailingSchedule,
    LateSchedule,
    MissedSchedule,
    PausedSchedule,
    ScheduleHealth,
)
from horae.storage.schedules.plan_writing import (
    JITTER,
    AppliedPlan,
    apply_plans,
    snapshot_if_readable,
)
from horae.storage.schedules.reading import OpenRuns, ScheduleFilter, ids_by_name
from horae.storage.schedules.rows import (
    FailedRun,
    StoredSchedule,
    UnreadableSchedule,
    change_of,
    rules_as_values,
    rules_from,
    rules_of,
    snapshot_of,
    statistics_of,
)
from horae.storage.schedules.tables import backfill_times, schedule_statistics, schedules
from horae.storage.schedules.ticks import LedgerPage, StoredTicks
from horae.storage.schedules.waiting_runs import waiting_reasons

__all__ = [
    "JITTER",
    "AppliedPlan",
    "Deployment",
    "FailedRun",
    "FailingSchedule",
    "LateSchedule",
    "LedgerPage",
    "MissedSchedule",
    "OpenRuns",
    "PausedSchedule",
    "PlannedFire",
    "ScheduleFilter",
    "ScheduleHealth",
    "StoredSchedule",
    "StoredTicks",
    "UnreadableSchedule",
    "WaitingSchedule",
    "apply_plans",
    "backfill_times",
    "change_of",
    "ids_by_name",
    "rules_as_values",
    "rules_from",
    "rules_of",
    "schedule_statistics",
    "schedules",
    "snapshot_if_readable",
    "snapshot_of",
    "statistics_of",
    "waiting_reasons",
]
