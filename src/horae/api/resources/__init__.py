"""The endpoints, one module for each resource: each reads the request, calls, and renders.

Others use `resource_routers` alone.
"""

from collections.abc import Iterator

from fastapi import APIRouter

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
from horae.api.resources.operations import OPERATIONS
from horae.types import Registry

__all__ = ["resource_routers"]


def resource_routers(registry: Registry) -> Iterator[APIRouter]:
    """Return the routers, in the order in which paths are matched: pages take what is left."""
    yield job_types.router_of(registry)
    for resource in (bulk, jobs, groups, schedules, deployments, events):
        yield resource.router
    yield from OPERATIONS
    for resource in (session, document, pages):
        yield resource.router
