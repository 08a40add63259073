"""What commands and web pages show of nodes. Reads once and changes nothing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from horae.runtime.components import NodeOptions
from horae.runtime.liveness import membership_of, record_of
from horae.storage.engine import Database
from horae.storage.nodes import NodeView, nodes
from horae.types import Registry

REMEMBERED: Final = 86_400.0
"""Seconds for which a dead node is still listed."""


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node, and why it is dead, if it is."""

    view: NodeView
    cause_of_death: str | None

    @property
    def alive(self) -> bool:
        """Whether no sign of its death is known."""
        return self.cause_of_death is None

    @property
    def host_name(self) -> str:
        """The readable part of its host."""
        return host_name(self.view.host)


def host_name(host: str) -> str:
    """Return the readable part of a node's host."""
    return host.partition("/")[0]


def living(seen: Iterable[SeenNode]) -> list[NodeView]:
    """Return those nodes that are alive."""
    return [node.view for node in seen if node.alive]


def dead(seen: Iterable[SeenNode]) -> list[tuple[NodeView, str]]:
    """Return the dead nodes, each with the cause.

    A program that ran its own jobs and has ended is none of them, unless it still holds jobs.
    """
    return [
        (node.view, node.cause_of_death)
        for node in seen
        if node.cause_of_death is not None and not node.view.may_end
    ]


def look(database: Database) -> list[SeenNode]:
    """Return all nodes, the oldest first."""
    views = database.autocommit(nodes.view)
    if not views:
        return []
    options = NodeOptions()
    record = record_of(Registry(), options)
    deaths = membership_of(database, record, options.liveness, options.timing).find_dead()
    return [SeenNode(view, deaths[view.id].cause if view.id in deaths else None) for view in views]
