"""How jobs and runs end: settled by their node, cancelled, expired, rescued or deleted.

Invariants: every write carries the lease, and one that matches no row changes nothing; a job, its
attempt, its run, its group and its dependents end in one transaction; writing an end again after a
lost answer changes nothing.
"""

from horae.storage.outcomes.cancelling import CancelledJob
from horae.storage.outcomes.follow_ups import CancelledMember, FollowUps
from horae.storage.outcomes.settling import Settled
from horae.storage.outcomes.time_limits import OverdueJob

__all__ = ["CancelledJob", "CancelledMember", "FollowUps", "OverdueJob", "Settled"]
