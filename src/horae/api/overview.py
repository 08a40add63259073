"""The overview of the whole system, as the HTTP interface and `horae status` show it."""

from horae.client.jobs import BodyWaits
from horae.client.operations import Overview, take
from horae.runtime.components import Components
from horae.runtime.node import dead, living, look
from horae.settings import Settings


def take_overview(components: Components, settings: Settings) -> Overview:
    """Read the state of the whole system, as one application sees it."""
    seen = look(components.database)
    return take(
        components.database,
        components.reads,
        alive=living(seen),
        dead=dead(seen),
        registry=components.registry,
        queue_backends=settings.queue_backends,
        waits=BodyWaits(components.database, components.live),
        keep=settings.keep,
    )
