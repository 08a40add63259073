"""Jobs with limits and fair queues: they wait in lanes, and a claim takes from the lanes in turns.

Invariants: a limit is exact over all nodes, because a claim locks the counters that it changes;
jobs without limits never read these tables; jobs of one lane start in order.
"""

from horae.storage.jobs.limits.lane_statements import running_weights
from horae.storage.jobs.limits.own_limits import weight_of

__all__ = ["running_weights", "weight_of"]
