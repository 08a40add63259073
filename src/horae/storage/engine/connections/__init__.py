"""Single connections: pools, time limits, poolers in between, and the guard of a job's commit.

Invariants: the number of connections is bounded; behind a pooler in transaction mode nothing is
prepared and no session state is kept; a body cannot end the transaction that will end its job.
"""

from horae.storage.engine.connections.closing_pools import AsyncClosingPool, ClosingPool
from horae.storage.engine.connections.commit_guard import forbid_commit, refuse_ending
from horae.storage.engine.connections.connection_pool import ConnectionPool, replace_stale
from horae.storage.engine.connections.pooler import PoolerDetection
from horae.storage.engine.connections.read_only import leave_read_only, report_read_only
from horae.storage.engine.connections.timeouts import (
    BODY_BOUNDS,
    SERVICE_BOUNDS,
    OpenConnections,
    ask,
    detach,
    driver_arguments_for,
    raw_bounds,
)

__all__ = [
    "BODY_BOUNDS",
    "SERVICE_BOUNDS",
    "AsyncClosingPool",
    "ClosingPool",
    "ConnectionPool",
    "OpenConnections",
    "PoolerDetection",
    "ask",
    "detach",
    "driver_arguments_for",
    "forbid_commit",
    "leave_read_only",
    "raw_bounds",
    "refuse_ending",
    "replace_stale",
    "report_read_only",
]
