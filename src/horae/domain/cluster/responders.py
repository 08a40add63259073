"""Which of many nodes respond to a hint, so that a single job does not make all of them query the
database.

Every node gets every hint. Each ranks all nodes that could respond by a hash of the hint's random
number and the node's id, and responds if it is among the first ones itself. So nodes that know the
same others agree without communicating, and each hint chooses other nodes.
"""

from collections.abc import Collection
from hashlib import blake2b
from typing import Final

from horae.domain.jobs import NodeId

SPARE: Final = 2
"""Number of nodes beyond one per job that respond, because a chosen one may be dead or busy."""


def responds(node: NodeId, others: Collection[NodeId], seed: int, count: int) -> bool:
    """Return whether a node is among those that respond to a hint for `count` jobs.

    `others`: the nodes that could respond as well.
    """
    most = count + SPARE
    if len(others) < most:
        return True
    own = _rank(node, seed)
    ahead = 0
    for other in others:
        if _rank(other, seed) < own:
            ahead += 1
            if ahead == most:
                return False
    return True


def _rank(node: NodeId, seed: int) -> bytes:
    return blake2b(f"{seed}:{node}".encode(), digest_size=8).digest()
