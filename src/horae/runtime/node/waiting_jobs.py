"""Names the waiting jobs that cannot run, when a node starts: the code may be new."""

from functools import partial

from horae.guarded_log import guarded_log
from horae.runtime.components import Components
from horae.runtime.node.node_status import living, look
from horae.types.waiting_jobs import Misfit, find_misfits

log = guarded_log("horae.runtime")


async def name_misfits(components: Components) -> None:
    """Log the types of waiting jobs whose parameters no longer fit, or that no live node knows."""
    with log.guard("the waiting jobs could not be checked: %s"):
        for misfit in await components.database.in_service(partial(_find, components)):
            if misfit.problem is None:
                log.warning(
                    "jobs of type %s wait, which neither this node nor another live one knows: %d"
                    " of those that were looked at, such as job %d",
                    misfit.type,
                    misfit.count,
                    misfit.first,
                )
            else:
                log.warning(
                    "waiting jobs do not fit their type %s any more and will fail: %d of those that"
                    " were looked at, such as job %d: %s",
                    misfit.type,
                    misfit.count,
                    misfit.first,
                    misfit.problem,
                )


def _find(components: Components) -> list[Misfit]:
    database = components.database
    found = find_misfits(database, components.registry)
    if all(misfit.problem is not None for misfit in found):
        return found
    alive = living(look(database))
    return [
        misfit
        for misfit in found
        if misfit.problem is not None or not any(view.knows(misfit.type) for view in alive)
    ]
