"""Which nodes live, which of them responds, and which node owns which schedules. Pure.

Invariants: a node that was itself out of contact judges nobody; nodes that know the same members
agree on the owners of all partitions. The ring only saves work: leases and unique ticks decide.
"""

from horae.domain.cluster.capabilities import CELERY_WORKER, INLINE, Capabilities
from horae.domain.cluster.clock_steps import Silences
from horae.domain.cluster.liveness import Contact, Death, Isolation, LivenessLimits, Signs, death_of
from horae.domain.cluster.responders import responds
from horae.domain.cluster.ring import PARTITIONS, Ring, partition_of
from horae.domain.cluster.roles import ALL_ROLES, NodeRole, parse_roles

__all__ = [
    "ALL_ROLES",
    "CELERY_WORKER",
    "INLINE",
    "PARTITIONS",
    "Capabilities",
    "Contact",
    "Death",
    "Isolation",
    "LivenessLimits",
    "NodeRole",
    "Ring",
    "Signs",
    "Silences",
    "death_of",
    "parse_roles",
    "partition_of",
    "responds",
]
