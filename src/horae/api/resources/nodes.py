"""`/api/nodes/`: who runs jobs, and whether it lives."""

from functools import partial

from fastapi import APIRouter

from horae.api.dependencies import Reader, ServicesHere
from horae.api.problems import documented
from horae.api.views.operations import NodeList, dead_node_item, node_item
from horae.client.schedules.ring import first_shares
from horae.runtime.node.node_status import REMEMBERED, look
from horae.storage.operations import nodes

router = APIRouter(prefix="/api/nodes", tags=["operations"])


@router.get("/", responses=documented())
async def list_nodes(services: ServicesHere, _actor: Reader) -> NodeList:
    """List the nodes, alive or dead. A dead one is struck off by the next live one, which rescues its jobs.

    For an hour it is then told of in `died`.
    """
    seen = await services.on_thread(partial(look, services.components.database))
    shares = await services.on_thread(partial(first_shares, services.components.database))
    died = await services.on_thread(lambda: services.components.database.autocommit(nodes.recently_died, REMEMBERED))
    return NodeList(
        died=[dead_node_item(each) for each in died],
        nodes=[node_item(node, shares.get(node.view.id, 0.0)) for node in seen],
    )
