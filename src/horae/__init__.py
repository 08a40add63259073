"""Horae keeps the background work of a Python application on the database that it already has."""

from horae.app import Horae
from horae.domain.backoff import Backoff
from horae.domain.job import Job, JobState
from horae.domain.progress import Progress
from horae.errors import (
    ConfigurationError,
    Conflict,
    DuplicateJob,
    HoraeError,
    InvalidJobType,
    InvalidParameters,
    InvalidRequest,
    JobCancelled,
    JobDoesNotExist,
    JobError,
    JobFailed,
    JobNotCancellable,
    JobNotDeletable,
    JobNotRetryable,
    JobStopped,
    JobTypeAlreadyRegistered,
    JobWasCancelled,
    LeaseLost,
    MaxJobCountExceeded,
    NotFound,
    SchemaMismatch,
    SoftTimeLimitExceeded,
    Unavailable,
    UnknownJobType,
    WaitTimeout,
)
from horae.handler.creation import StartOptions
from horae.settings import Settings
from horae.storage.tables import jobs as jobs_table
from horae.types.context import JobContext
from horae.types.job_type import JobType

__all__ = [
    "Backoff",
    "ConfigurationError",
    "Conflict",
    "DuplicateJob",
    "Horae",
    "HoraeError",
    "InvalidJobType",
    "InvalidParameters",
    "InvalidRequest",
    "Job",
    "JobCancelled",
    "JobContext",
    "JobDoesNotExist",
    "JobError",
    "JobFailed",
    "JobNotCancellable",
    "JobNotDeletable",
    "JobNotRetryable",
    "JobState",
    "JobStopped",
    "JobType",
    "JobTypeAlreadyRegistered",
    "JobWasCancelled",
    "LeaseLost",
    "MaxJobCountExceeded",
    "NotFound",
    "Progress",
    "SchemaMismatch",
    "Settings",
    "SoftTimeLimitExceeded",
    "StartOptions",
    "Unavailable",
    "UnknownJobType",
    "WaitTimeout",
    "jobs_table",
]
