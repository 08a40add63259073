"""Secret parameters: marked with `Secret()`, stored for the body, masked everywhere else."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeGuard, get_args

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, SecretBytes, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from horae.errors import InvalidJobType
from horae.redaction import MASK

HIDDEN_TYPES: Final = (SecretStr, SecretBytes)


@dataclass(frozen=True, slots=True)
class Secret:
    """Marks a parameter: `password: Annotated[str, Secret()]`. A marked `SecretStr` is stored with its value."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Store the value of a `SecretStr`, which Pydantic would replace by stars; other types are stored as usual."""
        schema = handler(source)
        if source is not SecretStr:
            return schema
        return core_schema.no_info_after_validator_function(
            _unchanged,
            schema,
            serialization=core_schema.plain_serializer_function_ser_schema(_reveal, when_used="json"),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Document it as a password that is written and never read."""
        return {**handler(schema), "format": "password", "writeOnly": True}


def masked(model: type[BaseModel], params: Any) -> Any:
    """Return stored parameters with a mask in place of each secret."""
    if not _is_mapping(params):
        return params
    shown = dict(params)
    for name, field in model.model_fields.items():
        for key in (name, field.serialization_alias or field.alias):
            if key is not None and key in shown:
                shown[key] = _masked_field(field, shown[key])
    return shown


def secret_values(model: type[BaseModel], params: str | None) -> Iterator[str]:
    """Yield the texts and numbers in the secret parameters of a job, from their JSON text."""
    if params is None or not has_secrets(model):
        return
    try:
        stored = json.loads(params)
    except ValueError:
        return
    yield from _differences(stored, masked(model, stored))


def _differences(stored: Any, shown: Any) -> Iterator[str]:
    if shown == MASK:
        yield from _leaves(stored)
    elif _is_list(stored):
        for before, after in zip(stored, shown, strict=True):
            yield from _differences(before, after)
    elif _is_mapping(stored):
        for key, value in stored.items():
            yield from _differences(value, shown[key])


def _leaves(value: Any) -> Iterator[str]:
    if _is_list(value) or _is_mapping(value):
        for item in value.values() if _is_mapping(value) else value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


@lru_cache(maxsize=4096)
def has_secrets(model: type[BaseModel], seen: frozenset[type[BaseModel]] = frozenset()) -> bool:
    """Return whether the model or one within it has a secret field; most have none, and their errors need no search."""
    for field in model.model_fields.values():
        inner = {part for part in _parts(field.annotation) if _is_model(part)} - seen - {model}
        if is_secret(field) or any(has_secrets(part, seen | {model}) for part in inner):
            return True
    return False


def hidden_fields(model: type[BaseModel], seen: frozenset[type[BaseModel]] = frozenset()) -> list[str]:
    """Return the fields that Pydantic would store as stars: they are of a secret type and not marked."""
    found: list[str] = []
    for name, field in model.model_fields.items():
        parts = list(_parts(field.annotation))
        if any(part in HIDDEN_TYPES for part in parts) and not is_secret(field, marked_only=True):
            found.append(name)
        for part in parts:
            if _is_model(part) and part not in seen:
                found += [f"{name}.{inner}" for inner in hidden_fields(part, seen | {model})]
    return found


def refuse_stars(model: type[BaseModel], job_type: str) -> None:
    """Raise `InvalidJobType` for a parameter whose value would be stored as stars, and so be lost."""
    if found := hidden_fields(model):
        raise InvalidJobType(
            f"job type {job_type!r}: parameter {found[0]!r} would be stored as stars; "
            "write Annotated[SecretStr, Secret()]"
        )


def is_secret(field: FieldInfo, *, marked_only: bool = False) -> bool:
    """Return whether the field is marked, excluded from output, or of a type that Pydantic hides."""
    if any(isinstance(item, Secret) for item in field.metadata) or (field.exclude and not marked_only):
        return True
    parts = list(_parts(field.annotation))
    return any(isinstance(part, Secret) or (part in HIDDEN_TYPES and not marked_only) for part in parts)


def models_in(field: FieldInfo) -> Iterator[type[BaseModel]]:
    """Yield the models that the value of a field may be, or may contain."""
    return (part for part in _parts(field.annotation) if _is_model(part))


def _masked_field(field: FieldInfo, value: Any) -> Any:
    if value is None:
        return None
    if is_secret(field):
        return MASK
    for part in _parts(field.annotation):
        if _is_model(part):
            value = _masked_within(part, value)
    return value


def _masked_within(model: type[BaseModel], value: Any) -> Any:
    """Mask in a model, in a list of models, and in a mapping to models."""
    if _is_list(value):
        return [_masked_within(model, item) for item in value]
    if not _is_mapping(value):
        return value
    # A mapping may have the keys of the model itself: mask as both, because too much is better than too little.
    return masked(model, {key: _masked_within(model, item) for key, item in value.items()})


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield the annotation and all its parts."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)
    yield from getattr(annotation, "__metadata__", ())


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_mapping(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_model(part: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _reveal(value: SecretStr) -> str:
    return value.get_secret_value()


def _unchanged(value: SecretStr) -> SecretStr:
    return value
