"""What the code of a job type says about it, for people and programs that ask what there is."""

import inspect
from typing import Any

from pydantic.errors import PydanticInvalidForJsonSchema

from horae.types.job_type import JobType


def declared_by(job_type: JobType[Any]) -> Any:
    """Return the function or the class that declares a job type."""
    return getattr(job_type, "function", type(job_type))


def description_of(job_type: JobType[Any]) -> str | None:
    """Return the docstring of a job type; None if it has none of its own."""
    own = declared_by(job_type).__doc__
    return inspect.cleandoc(own) if own and own != JobType.__doc__ else None


def parameters_schema(job_type: JobType[Any]) -> dict[str, Any]:
    """Return the JSON schema of the parameters; empty if a column's type has none."""
    try:
        return job_type.request.model.model_json_schema()
    except PydanticInvalidForJsonSchema:
        return {}
