"""Deployments in responses."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from horae.api.models import View, attributes
from horae.storage.schedules import Deployment


class DeploymentItem(View):
    """One version of the schedules that a module declares."""

    key: str
    module: str
    # Pydantic has its own `schema`.
    text: str = Field(alias="schema", description="The declared schedules as text.")
    min_replicas: int = Field(description="Nodes that it needs; 0 stops its schedules.")
    created_on: datetime = Field(validation_alias="created_at")
    ended_on: datetime | None = Field(
        validation_alias="ended_at", description="When it was replaced, or ended by hand."
    )
    replaced_by: str | None = Field(description="The key of the version that took its place.")
    types: list[str] = Field(
        description="The job types of its schedules: a node that runs them knows all of these."
    )


class DeploymentList(View):
    """The versions of all modules, the newest first."""

    deployments: list[DeploymentItem]


def deployment_list(
    found: Sequence[Deployment], types: Mapping[int, Sequence[str]]
) -> DeploymentList:
    """Return the view of all deployments. `types`: of their schedules, by the id of each."""
    keys: dict[int | None, str] = {each.id: each.key for each in found}
    return DeploymentList.model_validate(
        {
            "deployments": [
                {
                    **attributes(each),
                    "replaced_by": keys.get(each.replaced_by),
                    "types": types.get(each.id, []),
                }
                for each in found
            ]
        }
    )
