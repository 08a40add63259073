"""The names that a command may mean: those of the application and those of registered nodes."""

from horae.app import Horae
from horae.storage.nodes import nodes


def known_types(horae: Horae) -> set[str]:
    """Return the job types that the application or a node knows, if there are any."""
    registered = horae.components.database.autocommit(nodes.view)
    return {*horae.registry.by_name, *(name for node in registered for name in node.types)}


def known_queues(horae: Horae) -> set[str]:
    """Return the queues that the application declares or its types use, or that a node names."""
    registered = horae.components.database.autocommit(nodes.view)
    served = {name for node in registered for name in node.queues or ()}
    return {"default", *horae.registry.queues, *(kind.queue for kind in horae.registry), *served}
