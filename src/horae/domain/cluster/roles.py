"""The roles of a process: what it does for all jobs and schedules of a database."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from horae.errors import InvalidRequest
from horae.quoting import quoted


class NodeRole(StrEnum):
    """A role. A process may have several; by default it has all of them."""

    WORKER = "worker"
    """Claims and runs jobs."""
    SCHEDULER = "scheduler"
    """Fires schedules: it owns partitions of the ring."""
    WEB = "web"
    """Serves the HTTP API and the dashboard."""


ALL_ROLES: Final = tuple(NodeRole)


def parse_roles(given: str | Iterable[str]) -> tuple[NodeRole, ...]:
    """Read roles, as names or as a text with commas, in a fixed order.

    Raises `InvalidRequest` for none or unknown.
    """
    names = [name.strip() for name in (given.split(",") if isinstance(given, str) else given)]
    named = {name for name in names if name}
    allowed = ", ".join(ALL_ROLES)
    if not named:
        raise InvalidRequest(f"roles: no role is named; expected one or more of {allowed}")
    if unknown := sorted(named.difference(ALL_ROLES)):
        raise InvalidRequest(
            f"roles: {quoted(unknown[0])} is no role; expected one or more of {allowed}"
        )
    return tuple(role for role in ALL_ROLES if role in named)
