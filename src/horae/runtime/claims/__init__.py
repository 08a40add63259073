"""How a node decides when to claim, how much, and which bodies begin.

Invariants: a node never holds more than its slots and a bounded prefetch; what was claimed and not
begun goes back unharmed; an idle node looks for jobs with at most two queries a second.
"""

from horae.runtime.claims.lost_replies import HeldJobs
from horae.runtime.claims.peers import Peers
from horae.runtime.claims.slots import Slots
from horae.runtime.claims.worker import Worker
from horae.runtime.claims.workers import Workers

__all__ = ["HeldJobs", "Peers", "Slots", "Worker", "Workers"]
