"""One process that runs jobs: its incarnations, services, start and orderly end.

Invariants: a node is one incarnation, never a host name; a node that was declared dead stops its
bodies before anything else; a shutdown ends within its grace and five seconds, also without a
database.
"""

from horae.runtime.node.node import Node
from horae.runtime.node.node_status import (
    REMEMBERED,
    SeenNode,
    dead,
    host_name,
    living,
    look,
)

__all__ = ["REMEMBERED", "Node", "SeenNode", "dead", "host_name", "living", "look"]
