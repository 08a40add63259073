"""The names that a command may mean: those that the application declares, and those that nodes have
registered.
"""

from horae.app import Horae
from horae.storage.nodes import nodes


def known_types(horae: Horae) -> set[str]:
    """Return the job types that the application or a node knows; none if neither is at hand."""
    registered = horae.components.database.autocommit(nodes.view)
    return {*horae.registry.by_name, *(name for node in registered for name in node.types)}


def known_queues(horae: Horae) -> set[str]:
    """Return the queues that the application declares or that its types use, and those that a node
    serves by name.
    """
    registered = horae.components.database.autocommit(nodes.view)
    served = {name for node in registered for name in node.queues or ()}
    return {"default", *horae.registry.queues, *(kind.queue for kind in horae.registry), *served}
