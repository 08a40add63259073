"""Nodes in the database: their rows, heartbeats and locks, and the process that sends heartbeats.

Invariants: a node is one incarnation with a row of its own; the heartbeat has its own connection
and needs neither the pool nor the interpreter's lock of its node.
"""

from horae.storage.nodes.heartbeat_process import HelperConfig, clock
from horae.storage.nodes.nodes import DeadNode, NodeLife, NodeRecord, NodeView

__all__ = [
    "DeadNode",
    "HelperConfig",
    "NodeLife",
    "NodeRecord",
    "NodeView",
    "clock",
]
