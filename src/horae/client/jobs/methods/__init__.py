"""The methods of `Jobs`, one class for each kind: start, read, change, group, change many."""

from horae.client.jobs.methods.bulk import BulkFilter, ChangesManyJobs, Deletion, Rescheduling
from horae.client.jobs.methods.changing import ChangesJobs
from horae.client.jobs.methods.grouping import READ_AT_ONCE, GroupsJobs, add_members, count_members
from horae.client.jobs.methods.reading import JobPage

__all__ = [
    "READ_AT_ONCE",
    "BulkFilter",
    "ChangesJobs",
    "ChangesManyJobs",
    "Deletion",
    "GroupsJobs",
    "JobPage",
    "Rescheduling",
    "add_members",
    "count_members",
]
