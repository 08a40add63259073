"""What callers do with jobs: start, wait, cancel, change, group and search them, sync and async.

Invariants: one transaction creates a job or nothing; a call that is repeated after a lost answer
creates no second job; a stranger's job looks missing.
"""

from horae.client.jobs.async_jobs import AsyncJobs
from horae.client.jobs.body_group import AsyncBodyGroup, BodyGroup
from horae.client.jobs.body_waits import BodyWaits
from horae.client.jobs.bulk_job import BulkJob
from horae.client.jobs.bulk_order import BulkFilter
from horae.client.jobs.filters import page_length, wanted_states
from horae.client.jobs.job_reads import JobCount, JobPage
from horae.client.jobs.jobs import Jobs
from horae.client.jobs.live_reports import read_reports

__all__ = [
    "AsyncBodyGroup",
    "AsyncJobs",
    "BodyGroup",
    "BodyWaits",
    "BulkFilter",
    "BulkJob",
    "JobCount",
    "JobPage",
    "Jobs",
    "page_length",
    "read_reports",
    "wanted_states",
]
