"""Horae runs the background work of a Python application on the database that it already has.

The names that need SQLAlchemy or Pydantic are imported at their first use, so that `horae --help`
loads neither.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from horae.api.security.actor import Actor, Role
from horae.domain.backoff import Backoff
from horae.domain.jobs import (
    EVERYBODY,
    LEFT_OUT,
    BulkPreview,
    Debounce,
    Discard,
    Group,
    GroupState,
    Job,
    JobState,
    KeepLogs,
    LogLine,
    LogPage,
    Progress,
    Retry,
    Snooze,
    Unique,
)
from horae.domain.limits import Limit
from horae.errors import (
    ConfigurationError,
    Conflict,
    CronSyntaxError,
    DatabaseAccessDenied,
    DatabaseBusy,
    DatabaseReadOnly,
    DatabaseUnavailable,
    DeploymentDoesNotExist,
    DuplicateJob,
    EndNotWritten,
    GroupDoesNotExist,
    GroupNotCancellable,
    GroupNotOpen,
    HoraeError,
    InvalidInterval,
    InvalidJobType,
    InvalidLabel,
    InvalidParameters,
    InvalidProgress,
    InvalidQuery,
    InvalidRequest,
    JobCancelled,
    JobDoesNotExist,
    JobError,
    JobFailed,
    JobNotCancellable,
    JobNotDeletable,
    JobNotReschedulable,
    JobNotRetryable,
    JobStopped,
    JobTypeAlreadyRegistered,
    JobWasCancelled,
    LeaseLost,
    MaxJobCountExceeded,
    NotFound,
    ScheduleAlreadyExists,
    ScheduleDoesNotExist,
    ScheduleIsDeclared,
    ScheduleIsRunning,
    ScheduleWasChanged,
    SchemaError,
    SchemaMismatch,
    SoftTimeLimitExceeded,
    Unavailable,
    UnknownJobType,
    UnreadableRow,
    WaitRefused,
    WaitTimeout,
)

if TYPE_CHECKING:
    from horae.app import Horae
    from horae.client.audit import AuditFinding, AuditReport
    from horae.client.schedules import ScheduleView
    from horae.domain.forecast import Forecast
    from horae.settings import Settings
    from horae.storage.jobs import jobs as jobs_table
    from horae.types import JobContext, JobFunction, JobType, Transaction
    from horae.types.options import StartOptions
    from horae.types.parameters import Secret
    from horae.types.previous import Previous, Results

__all__ = [
    "EVERYBODY",
    "LEFT_OUT",
    "Actor",
    "AuditFinding",
    "AuditReport",
    "Backoff",
    "BulkPreview",
    "ConfigurationError",
    "Conflict",
    "CronSyntaxError",
    "DatabaseAccessDenied",
    "DatabaseBusy",
    "DatabaseReadOnly",
    "DatabaseUnavailable",
    "Debounce",
    "DeploymentDoesNotExist",
    "Discard",
    "DuplicateJob",
    "EndNotWritten",
    "Forecast",
    "Group",
    "GroupDoesNotExist",
    "GroupNotCancellable",
    "GroupNotOpen",
    "GroupState",
    "Horae",
    "HoraeError",
    "InvalidInterval",
    "InvalidJobType",
    "InvalidLabel",
    "InvalidParameters",
    "InvalidProgress",
    "InvalidQuery",
    "InvalidRequest",
    "Job",
    "JobCancelled",
    "JobContext",
    "JobDoesNotExist",
    "JobError",
    "JobFailed",
    "JobFunction",
    "JobNotCancellable",
    "JobNotDeletable",
    "JobNotReschedulable",
    "JobNotRetryable",
    "JobState",
    "JobStopped",
    "JobType",
    "JobTypeAlreadyRegistered",
    "JobWasCancelled",
    "KeepLogs",
    "LeaseLost",
    "Limit",
    "LogLine",
    "LogPage",
    "MaxJobCountExceeded",
    "NotFound",
    "Previous",
    "Progress",
    "Results",
    "Retry",
    "Role",
    "ScheduleAlreadyExists",
    "ScheduleDoesNotExist",
    "ScheduleIsDeclared",
    "ScheduleIsRunning",
    "ScheduleView",
    "ScheduleWasChanged",
    "SchemaError",
    "SchemaMismatch",
    "Secret",
    "Settings",
    "Snooze",
    "SoftTimeLimitExceeded",
    "StartOptions",
    "Transaction",
    "Unavailable",
    "Unique",
    "UnknownJobType",
    "UnreadableRow",
    "WaitRefused",
    "WaitTimeout",
    "jobs_table",
]

_IMPORTED_WHEN_USED = {
    "AuditFinding": ("horae.client.audit", "AuditFinding"),
    "AuditReport": ("horae.client.audit", "AuditReport"),
    "Forecast": ("horae.domain.forecast", "Forecast"),
    "Horae": ("horae.app", "Horae"),
    "JobContext": ("horae.types", "JobContext"),
    "JobFunction": ("horae.types", "JobFunction"),
    "JobType": ("horae.types", "JobType"),
    "Previous": ("horae.types.previous", "Previous"),
    "Results": ("horae.types.previous", "Results"),
    "ScheduleView": ("horae.client.schedules", "ScheduleView"),
    "Secret": ("horae.types.parameters", "Secret"),
    "Settings": ("horae.settings", "Settings"),
    "StartOptions": ("horae.types.options", "StartOptions"),
    "Transaction": ("horae.types", "Transaction"),
    "jobs_table": ("horae.storage.jobs", "jobs"),
}

if not TYPE_CHECKING:  # a type checker that saw `__getattr__` would accept every misspelt name

    def __getattr__(name: str) -> object:
        if name not in _IMPORTED_WHEN_USED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _IMPORTED_WHEN_USED[name]
        value = globals()[name] = getattr(import_module(module), attribute)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
