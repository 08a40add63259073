"""The limits that a job type declares: checked at registration, and stored with each new job."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from horae.domain.limits import Limit, check_key, fields_of, key_of, named
from horae.errors import HoraeError, InvalidJobType, InvalidRequest
from horae.quoting import quoted
from horae.redaction import MASK, cleaner
from horae.types.parameters import given_secrets, is_secret


@dataclass(frozen=True, slots=True)
class NamedLimit:
    """A limit of a job type under the name by which it is listed and changed."""

    name: str
    limit: Limit


def declared_limits(job_type: str, given: Any, model: type[BaseModel]) -> tuple[NamedLimit, ...]:
    """Return the limits of a job type with their names. Raises `InvalidJobType`."""
    if not isinstance(given, Sequence) or not all(isinstance(limit, Limit) for limit in given):
        raise InvalidJobType(
            f"job type {job_type!r}: limits is {given!r}, expected a list such as"
            " [Limit(rate='10/s')]"
        )
    try:
        limits = tuple(NamedLimit(name, limit) for name, limit in named(given, job_type))
        for each in limits:
            check_key(each.limit.key, model.model_fields)
    except InvalidRequest as error:
        raise InvalidJobType(f"job type {job_type!r}: {error}") from None
    for each in limits:
        key = each.limit.key
        for name in () if key is None or callable(key) else fields_of(key):
            if is_secret(model, name):
                raise InvalidJobType(
                    f"job type {job_type!r}: key {quoted(key)}: parameter {name!r} is secret or"
                    " contains a secret, and keys are shown in lists"
                )
    return limits


def limits_of_job(
    job_type: str,
    limits: Sequence[NamedLimit],
    value: BaseModel,
    owner: str | None = None,
    weight: int = 1,
) -> str | None:
    """Return the limits of a job of this type as they are stored with it: its weight, and names,
    keys and numbers.

    `value`: its parameters, as a function gets them for the key. None: nothing limits it. Raises
    `InvalidRequest` for a weight that is larger than a limit allows, and for a function of a key
    that fails.
    """
    if not limits:
        return None
    by_name = {name: getattr(value, name) for name in type(value).model_fields}
    entries: list[Any] = []
    for each in limits:
        limit = each.limit
        key = _key_of(job_type, each, value, by_name, owner)
        if key is None:
            continue
        if weight > limit.numbers.largest_weight:
            raise InvalidRequest(
                f"weight is {weight}, and limit {quoted(each.name)} allows {limit.numbers.text}:"
                f" expected at most {limit.numbers.largest_weight}"
            )
        entries.append([each.name, key, limit.numbers.to_json()])
    return json.dumps({"weight": weight, "limits": entries}) if entries else None


def _key_of(
    job_type: str, each: NamedLimit, value: BaseModel, values: Mapping[str, Any], owner: str | None
) -> str | None:
    try:
        key = key_of(each.limit.key, value, values, owner)
    except HoraeError:
        raise
    except Exception as error:
        # Its text may repeat a secret parameter, and callers over HTTP read ours.
        raise InvalidRequest(
            f"job type {quoted(job_type)}: the key function of limit {quoted(each.name)} raised "
            f"{type(error).__name__} for these parameters"
        ) from error
    if key and callable(each.limit.key) and cleaner(given_secrets(type(value), values))(key) != key:
        return f"{MASK}~{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"
    return key
