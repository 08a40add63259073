"""Parameters as responses say them."""

from typing import Any

from horae.types.registry import Registry
from horae.types.values.parameters import ModelParameters
from horae.types.values.secret import masked


def shown_parameters(registry: Registry, job_type: str, params: Any) -> Any:
    """Stored parameters with secret ones masked; None where the type is unknown here."""
    kind = registry.find(job_type)
    if kind is None or not isinstance(kind.parameters, ModelParameters):
        return None  # nobody here knows what of it is secret
    return masked(kind.parameters.model, params)
