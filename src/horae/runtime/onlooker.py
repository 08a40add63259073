"""What somebody who is no node can tell of the nodes: a command, a web page. Looks once and changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from horae.domain.job import NodeId
from horae.domain.liveness import SILENCE, Signs, cause_of_death
from horae.runtime.identity import decoded, is_gone
from horae.runtime.membership import membership_of
from horae.runtime.parts import NodeOptions
from horae.runtime.record import record_of
from horae.storage import nodes
from horae.storage.database import Database
from horae.storage.dialect import SQLITE
from horae.storage.nodes import NodeView
from horae.types.registry import Registry

WATCHED: Final = SILENCE
"""A sweeper watches for so long before it trusts silence; who only looks says at once what the signs say."""


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node, and why it is dead, if it is."""

    view: NodeView
    cause_of_death: str | None

    @property
    def alive(self) -> bool:
        """Whether nothing speaks against it."""
        return self.cause_of_death is None

    @property
    def host_name(self) -> str:
        """The readable part of its host."""
        return decoded(self.view.host, self.view.pid).host.partition("/")[0]


def look(database: Database) -> list[SeenNode]:
    """All nodes, the oldest first."""
    views = database.autocommit(nodes.view)
    causes = _causes(database, views) if views else {}
    return [SeenNode(view, causes.get(view.id)) for view in views]


def _causes(database: Database, views: Sequence[NodeView]) -> dict[NodeId, str]:
    if database.dialect == SQLITE:  # life is a file lock: it can be tried at any time, and by anybody
        return membership_of(database, record_of(Registry(), NodeOptions())).find_dead()
    causes = {view.id: cause_of_death(_signs(view), WATCHED) for view in views}
    return {node: cause for node, cause in causes.items() if cause is not None}


def _signs(view: NodeView) -> Signs:
    gone = is_gone(decoded(view.host, view.pid))
    return Signs(node=view.id, silence=view.silence, lock_free=view.lock_free, process_gone=gone)
