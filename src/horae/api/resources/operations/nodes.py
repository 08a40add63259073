"""`/api/nodes/`: the nodes, and whether they are alive."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BeforeValidator, Field

from horae.api.dependencies import Reader, ServicesHere
from horae.api.models import OptionalSentence, View, attributes
from horae.client.schedules import first_shares
from horae.runtime.node import REMEMBERED, look
from horae.storage.nodes import nodes

router = APIRouter(prefix="/api/nodes", tags=["operations"])


class NodeItem(View):
    """A running node, or one that stopped without unregistering."""

    id: str
    name: str
    host: str
    pid: int
    version: str
    roles: list[str]
    queues: list[str] | None = Field(description="The queues that it serves; null for all.")
    types: list[str] = Field(description="The job types that it knows.")
    slots: int = Field(validation_alias="concurrency", description="Jobs that it runs at a time.")
    slots_used: int = Field(description="How many of these are taken.")
    running: int = Field(
        description=(
            "Jobs that it holds; more than it has slots if it has claimed the next ones, or if"
            " bodies wait."
        )
    )
    started_on: datetime
    heartbeat_on: datetime
    heartbeat_age: float = Field(
        validation_alias="silence", description="Seconds since its last heartbeat."
    )
    ring_share: float = Field(
        ge=0, le=1, description="The share of all schedules of which it is the first owner."
    )
    alive: bool
    cause_of_death: str | None
    cause_of_death_sentence: OptionalSentence


class DeadNodeItem(View):
    """A node that died and was removed from the list; other nodes rescued its jobs."""

    id: str
    name: str
    host: Annotated[str, BeforeValidator(lambda host: host.partition("/")[0])]
    pid: int
    died_on: datetime = Field(description="When another node found it dead.")
    jobs: dict[str, int] = Field(
        description=(
            "What became of the jobs that it held: their numbers by their next states; `pending`"
            " ones run again."
        )
    )


class NodeList(View):
    """All nodes, the oldest first."""

    nodes: list[NodeItem]
    died: list[DeadNodeItem] = Field(description="Nodes that died in the last day, latest first.")


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
        nodes=[
            NodeItem.model_validate(
                {
                    **attributes(node.view),
                    "host": node.host_name,
                    "slots_used": node.view.slots_used,
                    "ring_share": shares.get(node.view.id, 0.0),
                    "alive": node.alive,
                    "cause_of_death": node.cause_of_death,
                }
            )
            for node in seen
        ],
    )
