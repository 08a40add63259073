"""Secret parameters: marked with `Secret()`, stored for the body, masked everywhere else."""

import base64
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Final, TypeGuard, cast

from pydantic import (
    BaseModel,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    RootModel,
    SecretBytes,
    SecretStr,
)
from pydantic import Secret as HiddenValue
from pydantic_core import CoreSchema, core_schema, to_jsonable_python

from horae.errors import InvalidJobType
from horae.redaction import MASK
from horae.types.parameters.annotations import parts_by_field, parts_of
from horae.types.parameters.plain_data import has_parts, parts_of_value
from horae.types.parameters.secret_places import (
    MARK,
    WITHOUT_NODES,
    Place,
    Places,
    all_nodes,
    is_hidden,
    places_of,
)


@dataclass(frozen=True, slots=True)
class Secret:
    """Marks a parameter: `password: Annotated[str, Secret()]`.

    A marked `SecretStr` is stored with its value.
    """

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Mark the schema, and store the values of a `SecretStr`, which Pydantic would replace by
        stars.
        """
        schema = _reveal(handler(source))
        marked: Any = {**schema, "metadata": {**schema.get("metadata", {}), MARK: True}}
        return cast("CoreSchema", marked)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Document it as a password that is written and never read."""
        return {**handler(schema), "format": "password", "writeOnly": True}


def masked(model: type[BaseModel], params: Any) -> Any:
    """Return stored parameters with a mask in place of each secret."""
    return with_secrets(model, params, lambda _: MASK)


def with_secrets(model: type[BaseModel], params: Any, change: Callable[[Any], Any]) -> Any:
    """Return parameters in their stored form with what `change` makes of each secret."""
    return _changed(places_of(model).root, params, change)


def secret_values(model: type[BaseModel], params: str | None) -> Iterator[str]:
    """Yield the texts and numbers in the secret parameters of a job, from their JSON text."""
    if params is None or not has_secrets(model):
        return
    try:
        stored = json.loads(params)
        found = list(_secrets_in(places_of(model).root, stored))
    except (RecursionError, ValueError):
        return
    yield from found


def given_secrets(model: type[BaseModel], values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts and numbers in the secret parameters of a call."""
    if has_secrets(model):
        yield from _secrets_in(places_of(model).root, opened(values))


def has_secrets(model: type[BaseModel]) -> bool:
    """Return whether the model or one within it has a secret field; most have none, and their
    errors need no search.
    """
    return places_of(model).root.has_secrets


def is_secret(model: type[BaseModel], name: str) -> bool:
    """Return whether a parameter, or a part of it, is secret."""
    place = places_of(model).root.at(name)
    return place is not None and place.has_secrets


def shown_path(model: type[BaseModel], path: Sequence[str | int]) -> str:
    """Return the path to a value in the parameters, which ends where a secret begins: keys may be
    part of it.
    """
    place, shown = places_of(model).root, list[str]()
    for name in path:
        shown.append(str(name))
        # A name that leads nowhere is that of a member of a union, which has the same place.
        place = (
            place.at(str(name)) or (place.item(name) if isinstance(name, int) else None) or place
        )
        if place.is_secret:
            break
    return ".".join(shown)


def refuse_lost_secrets(model: type[BaseModel], job_type: str) -> None:
    """Raise `InvalidJobType` for a secret whose value would be stored as stars, and for a mark
    without effect.
    """
    for where, problem in _lost_secrets(places_of(model)):
        raise InvalidJobType(f"job type {job_type!r}: parameter {where!r} {problem}")


def refuse_secrets_of(mapped: type[Any], job_type: str) -> None:
    """Raise `InvalidJobType` for a mark in a mapped class of SQLAlchemy, which no schema of
    Pydantic has.
    """
    for name, parts in parts_by_field(mapped):
        if _is_marked(parts):
            raise InvalidJobType(
                f"job type {job_type!r}: parameter {name!r} cannot be a Secret() in a table of the"
                " application, where errors are not searched for its value; declare the parameters"
                " as arguments or as a Pydantic model"
            )


def refuse_class(hint: Any, job_type: str, argument: str) -> None:
    """Raise `InvalidJobType` for `Annotated[str, Secret]`, for which Pydantic has no good error."""
    if any(part is Secret for part in parts_of(hint)):
        raise InvalidJobType(
            f"job type {job_type!r}: argument {argument!r}: write Secret() with parentheses"
        )


def _lost_secrets(places: Places) -> Iterator[tuple[str, str]]:
    """Yield the parameters that cannot be kept secret as they are declared, and why."""
    for path, node in places.walk([places.schema]):
        if is_hidden(node):
            yield ".".join(path), "would be stored as stars; write Annotated[SecretStr, Secret()]"
        if isinstance(node.get("default"), Secret):
            yield ".".join(path), "has Secret() as its default value; write Annotated[…, Secret()]"
        if not isinstance(node.get("cls"), type):
            continue
        for name, parts in parts_by_field(node["cls"]):
            place = places.of([node]).at(name) if _is_marked(parts) else None
            if place is not None and not place.has_secrets:
                yield ".".join((*path, name)), _HIDDEN_MARK


_HIDDEN_MARK: Final = (
    "is not secret: its type, or what follows Secret() in Annotated, hides the mark from Pydantic; "
    "write Annotated[…, Secret()] around the whole type, with Secret() as the last item"
)


def _is_marked(parts: Iterable[Any]) -> bool:
    return any(isinstance(part, Secret) for part in parts)


def _changed(place: Place | None, value: Any, change: Callable[[Any], Any]) -> Any:
    """Change the secrets in a value; `place`: None where the schema has none, as for a parameter
    that was renamed since.
    """
    if value is None or (place is not None and not place.has_secrets):
        return value
    if place is None or place.is_secret:
        return change(value)
    if _is_list(value):
        return [_changed(place.item(index), item, change) for index, item in enumerate(value)]
    if _is_mapping(value):
        return {key: _changed(place.at(key), item, change) for key, item in value.items()}
    return value


def _secrets_in(place: Place | None, value: Any) -> Iterator[str]:
    if value is None or (place is not None and not place.has_secrets):
        return
    if place is None or place.is_secret:
        yield from _leaves(value, with_keys=place is not None and place.hides_keys)
    elif _is_list(value):
        for index, item in enumerate(value):
            yield from _secrets_in(place.item(index), item)
    elif _is_mapping(value):
        for key, item in value.items():
            yield from _secrets_in(place.at(key), item)


def _leaves(value: Any, *, with_keys: bool) -> Iterator[str]:
    if _is_list(value) or _is_mapping(value):
        for item in value.values() if _is_mapping(value) else value:
            yield from _leaves(item, with_keys=with_keys)
        if with_keys and _is_mapping(value):
            yield from map(str, value)
    elif isinstance(value, bytes):
        yield value.decode(errors="replace")
    elif value is not None and not isinstance(value, bool):
        text = str(value)
        yield text
        # Bytes are stored as base64, and a parameter of the type `Json` as its text.
        with suppress(ValueError):
            yield base64.b64decode(text, altchars="-_", validate=True).decode()
        if text.startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                yield from _leaves(json.loads(text), with_keys=False)


def opened(value: Any) -> Any:
    """Return a value as lists and dictionaries, with the values that Pydantic would hide."""
    if isinstance(value, SecretStr | SecretBytes | HiddenValue):
        return opened(value.get_secret_value())
    if isinstance(value, RootModel):
        return opened(value.root)
    if has_parts(value):
        return opened(parts_of_value(value))
    if isinstance(value, Mapping):
        items: Mapping[Any, Any] = value
        return {
            key if isinstance(key, str) else _text_of(key): opened(item)
            for key, item in items.items()
        }
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [opened(item) for item in value]
    return value


def _text_of(key: Any) -> str:
    """Return a key of a mapping as it is in JSON."""
    found: dict[str, None] = to_jsonable_python({key: None}, serialize_unknown=True)
    return next(iter(found))


def _reveal(schema: Any) -> Any:
    """Return a schema in which values that Pydantic hides are written as they are."""
    if isinstance(schema, list | tuple):
        return type(schema)(_reveal(item) for item in schema)
    if not isinstance(schema, dict):
        return schema
    changed = {key: item if key in WITHOUT_NODES else _reveal(item) for key, item in schema.items()}
    if is_hidden(schema):
        # Bytes are named, so that they are encoded as the model says.
        is_bytes = any(node["type"] == "bytes" for node in all_nodes(schema))
        changed["serialization"] = core_schema.plain_serializer_function_ser_schema(
            methodcaller("get_secret_value"),
            return_schema=core_schema.bytes_schema() if is_bytes else None,
            when_used="json",
        )
    return changed


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_mapping(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)
