"""Checks that parameters can be stored, and returns what to store."""

from typing import Any

from horae.domain.storable import fits, is_storable_json, spelled_out, too_long, unreadable_json
from horae.errors import InvalidParameters
from horae.types.job_type import JobType
from horae.types.parameters import CheckedParameters, ModelParameters, NotStorableError, Stored


def storable_parameters(job_type: JobType[Any], checked: CheckedParameters) -> Stored:
    """Return checked parameters in their stored form.

    Raises `InvalidParameters` for values that cannot be stored.
    """
    try:
        stored = job_type.parameters.store(checked)
    except NotStorableError as error:
        raise InvalidParameters(job_type.type, error.problems) from None
    except ValueError as error:  # a whole number is too long
        raise InvalidParameters(job_type.type, [("", f"cannot be stored: {error}")]) from None
    if stored.text is None:
        return stored
    if not is_storable_json(stored.text):
        what = "a NUL character or half a surrogate pair cannot be stored"
        raise InvalidParameters(job_type.type, [("", what)])
    text = spelled_out(stored.text)
    if not fits(text, job_type.max_params_bytes):
        raise InvalidParameters(
            job_type.type, [("", too_long(job_type.max_params_bytes, "max_params_bytes"))]
        )
    if (why := unreadable_json(text)) is not None:
        raise InvalidParameters(job_type.type, [("", f"cannot be read again: {why}")])
    if isinstance(job_type.parameters, ModelParameters):
        text = job_type.parameters.sealed(text)
    return stored if text is stored.text else Stored(text)
