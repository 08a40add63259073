"""Endpoints for operators: queues, limits, nodes, overview, history, errors, audit and health."""

from typing import Final

from horae.api.resources.operations import (
    audit,
    errors,
    everything,
    health,
    history,
    limits,
    metrics,
    nodes,
    overview,
    queues,
)

__all__ = ["OPERATIONS"]

OPERATIONS: Final = tuple(
    resource.router
    for resource in (
        queues,
        everything,
        limits,
        nodes,
        overview,
        history,
        errors,
        audit,
        health,
        metrics,
    )
)
