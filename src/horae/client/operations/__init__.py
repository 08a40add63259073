"""What operators do with queues, limits and the overview, sync and async."""

from horae.client.operations.change_log import ChangeLog
from horae.client.operations.depth import Depth, as_values, depth_named, depths
from horae.client.operations.limits import AsyncLimits, Limits
from horae.client.operations.overview import Overview, take
from horae.client.operations.queues import LARGEST_LIMIT, AsyncQueues, Queues

__all__ = [
    "LARGEST_LIMIT",
    "AsyncLimits",
    "AsyncQueues",
    "ChangeLog",
    "Depth",
    "Limits",
    "Overview",
    "Queues",
    "as_values",
    "depth_named",
    "depths",
    "take",
]
