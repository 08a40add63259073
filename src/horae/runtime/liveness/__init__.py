"""Signs of life of a node, and what others do about nodes and jobs whose time is over.

Invariants: the heartbeat needs neither the pool nor the interpreter's lock of its node; a node
without contact stops its bodies before others may rescue them; only jobs that had begun count as
crashed.
"""

from horae.runtime.liveness.heartbeat import Watcher
from horae.runtime.liveness.membership import Membership, membership_of
from horae.runtime.liveness.node_record import record_of
from horae.runtime.liveness.rescue import Rescuer
from horae.runtime.liveness.sweeper import Sweeper

__all__ = [
    "Membership",
    "Rescuer",
    "Sweeper",
    "Watcher",
    "membership_of",
    "record_of",
]
