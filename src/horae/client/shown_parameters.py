"""Parameters of jobs as people may see them."""

from typing import Any

from horae.types import Registry
from horae.types.parameters import ModelParameters, masked


def shown_parameters(registry: Registry, job_type: str, params: Any) -> Any:
    """Return stored parameters with secret ones masked; None if the type is unknown here."""
    found = registry.find(job_type)
    if found is None or not isinstance(found.parameters, ModelParameters):
        return None  # it is unknown which of them are secret
    return masked(found.parameters.model, params)
