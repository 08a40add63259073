"""Deployments as responses say them."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, Field

from horae.storage.schedules.deployments import Deployment


class DeploymentItem(BaseModel):
    """One version of the schedules that a module declares."""

    key: str
    module: str
    # Pydantic has a `schema` of its own.
    text: str = Field(serialization_alias="schema", description="The declared schedules as text.")
    min_replicas: int = Field(description="Nodes that it wants; none stops its schedules.")
    created_on: datetime
    ended_on: datetime | None = Field(description="When it was replaced, or ended by hand.")
    replaced_by: str | None = Field(description="The key of the version that took its place.")


class DeploymentList(BaseModel):
    """The versions of all modules, the newest first."""

    deployments: list[DeploymentItem]


def deployment_list(found: Sequence[Deployment]) -> DeploymentList:
    """All deployments."""
    keys = {each.id: each.key for each in found}
    return DeploymentList(
        deployments=[
            DeploymentItem(
                key=each.key,
                module=each.module,
                text=each.schema,
                min_replicas=each.min_replicas,
                created_on=each.created_at,
                ended_on=each.ended_at,
                replaced_by=None if each.replaced_by is None else keys.get(each.replaced_by),
            )
            for each in found
        ]
    )
