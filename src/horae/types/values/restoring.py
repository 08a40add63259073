"""Stores parameters as JSON and restores them as they were validated, without the application's
validators.

A validator may turn "1.5" into 150, and 150 into 15000, so it must run only once, at the call. What
is stored is read by the same schema without these functions. Where that cannot decode the text,
with the constraints or without them, the model itself reads it. A value that none of these readers
restores unchanged is refused at the call.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    WrapSerializer,
    WrapValidator,
)
from pydantic_core import PydanticSerializationError, SchemaError, SchemaSerializer, SchemaValidator

from horae.types.values.annotations import parts_by_field
from horae.types.values.sameness import is_same

Schema = dict[str, Any]
Change = Callable[[Schema], Schema]

_MARKERS: Final = (
    AfterValidator,
    BeforeValidator,
    WrapValidator,
    PlainValidator,
    PlainSerializer,
    WrapSerializer,
)
_DECORATED: Final = (
    "validators",
    "field_validators",
    "root_validators",
    "model_validators",
    "field_serializers",
    "model_serializers",
)
_INNER: Final = frozenset(
    {
        "schema",
        "items_schema",
        "keys_schema",
        "values_schema",
        "extras_schema",
        "extras_keys_schema",
        "choices",
        "fields",
        "definitions",
        "lax_schema",
        "strict_schema",
        "json_schema",
        "python_schema",
        "steps",
        "arguments_schema",
        "var_args_schema",
        "var_kwargs_schema",
    }
)
_CONSTRAINTS: Final = frozenset(
    {
        "gt",
        "ge",
        "lt",
        "le",
        "multiple_of",
        "min_length",
        "max_length",
        "pattern",
        "max_digits",
        "decimal_places",
        "allow_inf_nan",
        "strict",
        "now_op",
        "tz_constraint",
        "allowed_schemes",
        "host_required",
    }
)
_REWRITES: Final = frozenset({"strip_whitespace", "to_lower", "to_upper"})
_OF_CONSTRAINTS: Final = (
    "pydantic._internal._validators",
    "pydantic._internal._known_annotated_metadata",
)
_PLAIN: Final = frozenset(
    {
        "model",
        "model-fields",
        "model-field",
        "default",
        "nullable",
        "int",
        "float",
        "str",
        "bool",
        "none",
        "date",
        "decimal",
        "uuid",
        "list",
        "set",
        "frozenset",
        "tuple",
        "dict",
        "literal",
    }
)
_TEMPORAL: Final = frozenset({"ser_json_temporal", "ser_json_timedelta"})
_PLAIN_KEYS: Final = frozenset({"int", "str", "uuid", "date"})


class NotRestorableError(ValueError):
    """These parameters could not be restored as they were validated."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"cannot be stored and restored unchanged: {', '.join(names)}")
        self.names = names


class Restorer:
    """Writes values of one model as JSON, and reads them again."""

    def __init__(self, model: type[BaseModel]) -> None:
        model.model_rebuild()
        self._model = model
        schema: Schema = dict(model.__pydantic_core_schema__)
        self._is_plain = _is_plain(schema, within=False)
        self._readers: list[Any] = [model.__pydantic_validator__]
        self._writers: list[Any] = [model.__pydantic_serializer__]
        if not self._is_plain:
            own = frozenset(_functions_of(schema))
            self._writers = (
                _made(SchemaSerializer, schema, _complete, partial(_bare, own)) or self._writers
            )
            kept, relaxed = partial(_shape, own, relaxed=False), partial(_shape, own, relaxed=True)
            self._readers = [*_made(SchemaValidator, schema, kept, relaxed), *self._readers]

    def write(self, value: BaseModel) -> str:
        """Return JSON from which the value can be restored, with fields that are excluded
        elsewhere.

        Raises `NotRestorableError`, and `PydanticSerializationError` for what has no JSON form at
        all.
        """
        if self._is_plain:
            text = value.model_dump_json(round_trip=True, by_alias=False)
            if "null" not in text:
                return text
        lost: list[str] = []
        failure: PydanticSerializationError | None = None
        for writer in self._writers:
            try:
                text = str(
                    writer.to_json(value, round_trip=True, by_alias=False, warnings=False), "utf-8"
                )
            except PydanticSerializationError as error:
                failure = error
                continue
            lost = self._lost(text, value)
            if not lost:
                return text
        if failure is not None and not lost:
            raise failure
        raise NotRestorableError(lost)

    def read(self, text: str) -> BaseModel:
        """Restore the value; raises `ValidationError` where the declaration has changed since."""
        *by_shape, own = self._readers
        for reader in by_shape:
            try:
                found: BaseModel = reader.validate_json(text, by_alias=True, by_name=True)
            except ValidationError:
                continue
            return found
        whole: BaseModel = own.validate_json(
            text, by_alias=True, by_name=True
        )  # callers may use aliases
        return whole

    def _lost(self, text: str, value: BaseModel) -> list[str]:
        """Return the fields that would not be restored unchanged."""
        try:
            back = self.read(text)
        except ValidationError as error:
            return list(
                dict.fromkeys(str(item["loc"][0]) if item["loc"] else "" for item in error.errors())
            )
        except Exception:  # noqa: BLE001 - whatever a constructor of the application raises
            return [""]
        if is_same(value, back):
            return []
        names = [
            name
            for name in type(value).model_fields
            if not is_same(getattr(value, name), getattr(back, name))
        ]
        return names or [""]


def _made(kind: Callable[..., Any], schema: Schema, *changes: Change) -> list[Any]:
    """Make one validator or serializer for each change; none if Pydantic cannot make them."""
    try:
        # Otherwise Pydantic would use the validator that each class has built from its own schema.
        return [kind(_changed(schema, change), _use_prebuilt=False) for change in changes]
    except (SchemaError, TypeError):
        return []


def _changed(node: Any, change: Change) -> Any:
    """Return the schema with each of its nodes changed, the inner ones first."""
    if isinstance(node, list | tuple):
        return type(node)(_changed(item, change) for item in node)
    if not isinstance(node, dict):
        return node
    if not isinstance(node.get("type"), str) and not isinstance(
        node.get("name"), str
    ):  # fields or choices by name
        return {name: _changed(item, change) for name, item in node.items()}
    inner = {key: _changed(item, change) if key in _INNER else item for key, item in node.items()}
    return change(inner)


def _nodes(node: Any) -> Iterator[Schema]:
    found: list[Schema] = []

    def keep(one: Schema) -> Schema:
        found.append(one)
        return one

    _changed(node, keep)
    yield from found


def _complete(node: Schema) -> Schema:
    """Include excluded fields: the body needs them."""
    hidden = ("serialization_exclude", "serialization_exclude_if")
    return {key: item for key, item in node.items() if key not in hidden}


def _bare(own: frozenset[Any], node: Schema) -> Schema:
    """Remove the application's serializers, some of which drop information."""
    node = _complete(node)
    if _function_of(node.get("serialization")) in own:
        return {key: item for key, item in node.items() if key != "serialization"}
    return node


def _shape(own: frozenset[Any], node: Schema, *, relaxed: bool) -> Schema:
    """Remove the application's validators; if `relaxed`, also constraints, which their results need
    not meet.
    """
    kind, function = node.get("type", ""), _function_of(node)
    if kind in ("function-before", "function-after", "function-wrap"):
        wrapped: Schema = node["schema"]
        if function in own or (relaxed and _is_constraint(function)):
            return {**wrapped, "ref": node["ref"]} if "ref" in node else wrapped
        return node
    if kind == "function-plain" and function in own:
        declared: Schema | None = (node.get("serialization") or {}).get("schema")
        return node if declared is None else declared
    if kind == "model":
        node = _unadorned(node)
    away = _REWRITES | _CONSTRAINTS if relaxed else _REWRITES
    return {key: item for key, item in node.items() if key not in away}


def _unadorned(node: Schema) -> Schema:
    """Make a model of its fields alone: `model_post_init` has run, and runs again only for private
    attributes.
    """
    away = {"custom_init"} if node["cls"].__private_attributes__ else {"custom_init", "post_init"}
    return {key: item for key, item in node.items() if key not in away}


def _is_constraint(function: Any) -> bool:
    module = getattr(getattr(function, "func", function), "__module__", None)
    return module in _OF_CONSTRAINTS and (
        isinstance(function, partial) or module == _OF_CONSTRAINTS[1]
    )


def _function_of(node: Any) -> Any:
    """Return the function that a node calls, or None; also for one that cannot be hashed."""
    function = node.get("function") if isinstance(node, dict) else None
    if isinstance(function, dict):
        function = function.get("function")
    return function if isinstance(function, Hashable) else None


def _functions_of(schema: Schema) -> Iterator[Hashable]:
    """Yield the validators and serializers that the application has written; not those that its
    types consist of.
    """
    for cls in {node["cls"] for node in _nodes(schema) if isinstance(node.get("cls"), type)}:
        decorators = getattr(cls, "__pydantic_decorators__", None)
        for group in _DECORATED:
            decorated: Mapping[str, Any] = getattr(decorators, group, {})
            yield from (item.func for item in decorated.values())
        for _, parts in parts_by_field(cls):
            yield from (
                part.func
                for part in parts
                if isinstance(part, _MARKERS) and isinstance(part.func, Hashable)
            )


def _is_plain(node: Any, *, within: bool = True) -> bool:
    """Return whether every value of the schema is restored unchanged, so that no call has to verify
    it.
    """
    if isinstance(node, list | tuple):
        return all(_is_plain(item) for item in node)
    if not isinstance(node, dict):
        return True
    if not isinstance(node.get("type"), str):
        return all(_is_plain(item) for item in node.values())
    fine = (
        node["type"] in _PLAIN and _is_plain_kind(node) and not (within and node["type"] == "model")
    )
    return fine and all(_is_plain(node[key]) for key in _INNER & node.keys())


def _is_plain_kind(node: Schema) -> bool:
    if any(key.startswith("serialization") for key in node):
        return False
    match node["type"]:
        case "model":
            config = node.get("config", {})
            usual = config.get("extra_fields_behavior") != "allow" and not _TEMPORAL & config.keys()
            return usual and not (
                node.get("custom_init") or node.get("post_init") or node.get("root_model")
            )
        case "dict":
            return node.get("keys_schema", {}).get("type") in _PLAIN_KEYS
        case "literal":
            return all(type(item) in (str, int) for item in node["expected"])
        case _:
            return True
