"""Endpoints for operators: queues, limits, nodes, overview, errors, audit, metrics and health."""

from typing import Final

from horae.api.resources.operations import (
    audit,
    errors,
    everything,
    health,
    limits,
    metrics,
    nodes,
    overview,
    queues,
)

__all__ = ["OPERATIONS"]

OPERATIONS: Final = tuple(
    resource.router
    for resource in (queues, everything, limits, nodes, overview, errors, audit, health, metrics)
)
