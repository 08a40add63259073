"""Groups, jobs that wait for others (`after`), and bodies that wait for jobs.

Invariants: the last member that ends is counted in its own transaction, so a group has exactly one
follow-up; jobs that would wait for each other in a circle are refused.
"""

from horae.storage.jobs.groups.dependencies import Dependency
from horae.storage.jobs.groups.groups import (
    GROUP_COLUMNS,
    IS_MEMBER_AFTER,
    IS_MEMBER_BETWEEN,
    RunningMember,
    group_from,
    read_members,
)
from horae.storage.jobs.groups.past_results import PastResult, TooMuchError, results_before
from horae.storage.jobs.groups.waiting_bodies import is_in_force, prerequisites, why_held_by_waiting

__all__ = [
    "GROUP_COLUMNS",
    "IS_MEMBER_AFTER",
    "IS_MEMBER_BETWEEN",
    "Dependency",
    "PastResult",
    "RunningMember",
    "TooMuchError",
    "group_from",
    "is_in_force",
    "prerequisites",
    "read_members",
    "results_before",
    "why_held_by_waiting",
]
