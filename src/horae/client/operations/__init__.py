"""What operators do with queues, limits and the overview, sync and async."""

from horae.client.operations.change_log import ChangeLog, recorded_names, shown_names
from horae.client.operations.depth import Depth, as_values, depth_named, depths
from horae.client.operations.failures import (
    FailureReport,
    failures_since,
    failures_to_change,
)
from horae.client.operations.history import (
    STEP_FIGURES,
    Scope,
    Series,
    figures_of_step,
    of_queues,
    of_types,
    series,
)
from horae.client.operations.limits import AsyncLimits, Limits
from horae.client.operations.overview import Overview, take
from horae.client.operations.queues import AsyncQueues, Queues

__all__ = [
    "STEP_FIGURES",
    "AsyncLimits",
    "AsyncQueues",
    "ChangeLog",
    "Depth",
    "FailureReport",
    "Limits",
    "Overview",
    "Queues",
    "Scope",
    "Series",
    "as_values",
    "depth_named",
    "depths",
    "failures_since",
    "failures_to_change",
    "figures_of_step",
    "of_queues",
    "of_types",
    "recorded_names",
    "series",
    "shown_names",
    "take",
]
