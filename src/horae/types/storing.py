"""Checks that parameters can be stored and restored as they are, and returns what to store."""

from typing import Any

from pydantic_core import PydanticSerializationError

from horae.domain.storable import fits, is_storable_json, spelled_out, too_long, unreadable_json
from horae.errors import InvalidParameters
from horae.redaction import cleaner
from horae.types.job_type import JobType
from horae.types.values.parameters import MappedParameters, Stored
from horae.types.values.restoring import NotRestorableError
from horae.types.values.secret import given_secrets
from horae.types.values.untyped import lost_number_of, untyped_problem_of


def storable_parameters(job_type: JobType[Any], value: Any) -> Stored:
    """Return checked parameters in their stored form.

    Raises `InvalidParameters` for values that cannot be stored.
    """
    in_json = not isinstance(
        job_type.parameters, MappedParameters
    )  # else the columns decide what can be stored
    if in_json and (problem := untyped_problem_of(value)) is not None:
        raise InvalidParameters(job_type.type, [problem])
    stored = _written(job_type, value)
    if stored.text is None:
        return stored
    if not is_storable_json(stored.text):
        raise InvalidParameters(job_type.type, [("", "a NUL character cannot be stored")])
    if (problem := lost_number_of(value, stored.text)) is not None:
        raise InvalidParameters(job_type.type, [problem])
    text = spelled_out(stored.text)
    if not fits(text, job_type.max_params_bytes):
        raise InvalidParameters(
            job_type.type, [("", too_long(job_type.max_params_bytes, "max_params_bytes"))]
        )
    if (why := unreadable_json(text)) is not None:
        raise InvalidParameters(job_type.type, [("", f"cannot be read again: {why}")])
    return Stored(text)


def _written(job_type: JobType[Any], value: Any) -> Stored:
    try:
        return job_type.parameters.store(value)
    except PydanticSerializationError as error:
        clean = cleaner(given_secrets(job_type.parameters.model, vars(value)))
        raise InvalidParameters(
            job_type.type, [("", f"cannot be stored: {clean(str(error))}")]
        ) from None
    except NotRestorableError as error:
        number = lost_number_of(value, "null")
        problems = [(name, "cannot be stored and restored unchanged") for name in error.names]
        raise InvalidParameters(job_type.type, problems if number is None else [number]) from None
