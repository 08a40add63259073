"""How rows and values look in answers of the HTTP interface. Pure."""

from horae.api.views.deployments import DeploymentItem, DeploymentList, deployment_list
from horae.api.views.failures import ErrorGroupItem, ErrorList
from horae.api.views.groups import GroupView
from horae.api.views.history import (
    HistorySeries,
    QueueHistoryList,
    TypeHistoryList,
    history_series,
)
from horae.api.views.job_logs import LogLevel, LogLines, log_views
from horae.api.views.jobs import (
    AttemptList,
    JobDetail,
    JobList,
    JobView,
    JobViews,
    attempt_views,
    response_model_of,
)
from horae.api.views.limits import LimitItem, LimitList
from horae.api.views.operations import (
    DeadNodeItem,
    NodeList,
    OverviewItem,
    QueueItem,
    QueueList,
    node_item,
    overview_item,
)
from horae.api.views.schedules import (
    BackfillRemoved,
    BackfillResult,
    FailedRunItem,
    FailedRunList,
    PutResult,
    ScheduleDetail,
    ScheduleItems,
    ScheduleList,
    StatisticsItem,
    TickList,
    statistics_item,
    tick_list,
)

__all__ = [
    "AttemptList",
    "BackfillRemoved",
    "BackfillResult",
    "DeadNodeItem",
    "DeploymentItem",
    "DeploymentList",
    "ErrorGroupItem",
    "ErrorList",
    "FailedRunItem",
    "FailedRunList",
    "GroupView",
    "HistorySeries",
    "JobDetail",
    "JobList",
    "JobView",
    "JobViews",
    "LimitItem",
    "LimitList",
    "LogLevel",
    "LogLines",
    "NodeList",
    "OverviewItem",
    "PutResult",
    "QueueHistoryList",
    "QueueItem",
    "QueueList",
    "ScheduleDetail",
    "ScheduleItems",
    "ScheduleList",
    "StatisticsItem",
    "TickList",
    "TypeHistoryList",
    "attempt_views",
    "deployment_list",
    "history_series",
    "log_views",
    "node_item",
    "overview_item",
    "response_model_of",
    "statistics_item",
    "tick_list",
]
