"""The endpoints, one module for each resource: each reads the request, calls, and renders.

Others use what `__all__` names.
"""

from typing import Final

from horae.api.resources import (
    bulk,
    deployments,
    document,
    events,
    groups,
    job_types,
    jobs,
    pages,
    schedules,
    session,
)
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

__all__ = ["RESOURCE_ROUTERS", "job_types_router"]

job_types_router = job_types.router_of

RESOURCE_ROUTERS: Final = tuple(
    resource.router
    for resource in (
        bulk,
        jobs,
        groups,
        schedules,
        deployments,
        events,
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
        session,
        document,
        pages,
    )
)
"""The routers that all applications have, in the order in which paths are matched after those of
the job types: pages take what is left.
"""
