"""`/api/deployments/`: list, scale and end the versions of modules' schedules."""

from datetime import datetime
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from horae.api.dependencies import Reader, ServicesHere, Staff
from horae.api.models import RequestModel, Storable, View, attributes
from horae.api.services import Services
from horae.errors import DeploymentDoesNotExist
from horae.storage.schedules import deployments

router = APIRouter(prefix="/api/deployments", tags=["schedules"])

Key = Annotated[
    Storable, Path(min_length=1, max_length=200, description="The key of a deployment.")
]


class Scale(RequestModel):
    """How many nodes a deployment needs."""

    min_replicas: int = Field(ge=0, le=10_000, description="Needed nodes; 0 stops the schedules.")


class DeploymentItem(View):
    """One version of the schedules that a module declares."""

    key: str
    module: str
    # Pydantic has its own `schema`.
    text: str = Field(alias="schema", description="The declared schedules as text.")
    min_replicas: int = Field(description="Nodes that it needs; 0 stops its schedules.")
    created_on: datetime
    ended_on: datetime | None = Field(description="When it was replaced, or ended by hand.")
    replaced_by: str | None = Field(description="The key of the version that took its place.")
    types: list[str] = Field(
        description="The job types of its schedules: a node that runs them knows all of these."
    )


class DeploymentList(View):
    """The versions of all modules, the newest first."""

    deployments: list[DeploymentItem]


@router.get("/")
async def list_deployments(services: ServicesHere, _actor: Reader) -> DeploymentList:
    """List the versions of all modules, the newest first."""
    return await _list(services)


@router.get("/{key:path}/")
async def get_deployment(services: ServicesHere, _actor: Reader, key: Key) -> DeploymentItem:
    """Read one deployment."""
    return await _item(services, key)


@router.post("/{key:path}/scale/")
async def scale_deployment(
    services: ServicesHere, actor: Staff, key: Key, scale: Scale
) -> DeploymentItem:
    """Set the needed nodes: 0 stops the schedules, more starts them again; missed times are not
    caught up.
    """
    call = partial(services.deployments.scale, key, scale.min_replicas)
    note = f"min_replicas {scale.min_replicas}"
    await services.change(actor, "deployment.scale", key, call, note)
    return await _item(services, key)


@router.post("/{key:path}/end/")
async def end_deployment(services: ServicesHere, actor: Staff, key: Key) -> DeploymentItem:
    """End a deployment and its schedules; running jobs continue. Idempotent."""
    await services.change(actor, "deployment.end", key, partial(services.deployments.end, key))
    return await _item(services, key)


async def _list(services: Services) -> DeploymentList:
    found = await services.on_thread(services.deployments.list)
    database = services.components.database
    types = await services.on_thread(database.autocommit, deployments.types)
    keys: dict[int | None, str] = {each.id: each.key for each in found}
    items = [
        {
            **attributes(each),
            "replaced_by": keys.get(each.replaced_by),
            "types": types.get(each.id, []),
        }
        for each in found
    ]
    return DeploymentList.model_validate({"deployments": items})


async def _item(services: Services, key: str) -> DeploymentItem:
    found = await _list(services)
    for item in found.deployments:
        if item.key == key:
            return item
    # A row that cannot be read is not listed, and its error says so.
    await services.on_thread(services.deployments.get, key)
    raise DeploymentDoesNotExist(key)
