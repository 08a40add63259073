"""What callers and nodes do with schedules: declare, deploy, alter, pause, backfill and read them.

Invariants: deploying the same schema changes nothing; what was altered at run time stays altered;
two versions of a module never both start a run of one nominal time.
"""

from horae.client.schedules.backfill import DEFAULT_LIMIT, LARGEST_LIMIT
from horae.client.schedules.calendars import with_calendar_days
from horae.client.schedules.definition import Definition, definition_of, redeclare
from horae.client.schedules.deployments import Deployed, Deployments
from horae.client.schedules.node_shares import first_shares, ring_of
from horae.client.schedules.schedules import AsyncSchedules, ScheduleKeywords, Schedules
from horae.client.schedules.views import (
    SchedulePage,
    ScheduleView,
    page_of,
    trigger_in_line,
    views_of,
)

__all__ = [
    "DEFAULT_LIMIT",
    "LARGEST_LIMIT",
    "AsyncSchedules",
    "Definition",
    "Deployed",
    "Deployments",
    "ScheduleKeywords",
    "SchedulePage",
    "ScheduleView",
    "Schedules",
    "definition_of",
    "first_shares",
    "page_of",
    "redeclare",
    "ring_of",
    "trigger_in_line",
    "views_of",
    "with_calendar_days",
]
