"""`/api/nodes/`: the nodes, and whether they are alive."""

from fastapi import APIRouter

from horae.api.dependencies import Reader, ServicesHere
from horae.api.views import DeadNodeItem, NodeList, node_item
from horae.client.schedules import first_shares
from horae.runtime.node import REMEMBERED, look
from horae.storage.nodes import nodes

router = APIRouter(prefix="/api/nodes", tags=["operations"])


@router.get("/")
async def list_nodes(services: ServicesHere, _actor: Reader) -> NodeList:
    """List the nodes, alive or dead. A live one removes a dead one and rescues its jobs.

    For a day it is then listed in `died`.
    """
    database = services.components.database
    seen = await services.on_thread(look, database)
    shares = await services.on_thread(first_shares, database)
    died = await services.on_thread(database.autocommit, nodes.recently_died, REMEMBERED)
    return NodeList(
        died=[DeadNodeItem.model_validate(each) for each in died],
        nodes=[node_item(node, shares.get(node.view.id, 0.0)) for node in seen],
    )
