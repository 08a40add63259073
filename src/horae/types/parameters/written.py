"""Writes the parameters of a call as JSON, and validates them again where the job runs.

What is stored is what the caller gave, with the defaults that were filled in, so that validators
get in each attempt what they were written for. A value that is JSON already is the same after it
was stored. Any other, such as a datetime, is validated again at the start and compared with what
validation made of the caller's own: a value that would reach the body as another is refused.
"""

import base64
import dataclasses
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, Final, get_origin

from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from horae.types.parameters.annotations import parts_of
from horae.types.parameters.plain_data import (
    JSON_SCALARS,
    ValueProblem,
    has_parts,
    json_problem_of,
    parts_of_value,
)
from horae.types.parameters.secret import is_secret, opened

_BYTES: Final = "$bytes"
"""The key of the object that stands for bytes, with their base64 text as its value."""
_SCALARS: Final[frozenset[type]] = JSON_SCALARS | {float}
_SEQUENCES: Final = frozenset({Sequence, Collection, Iterable})


class NotStorableError(ValueError):
    """These parameters would not reach the body as they were validated."""

    def __init__(self, problems: Sequence[ValueProblem]) -> None:
        super().__init__("; ".join(f"{where}: {what}" for where, what in problems))
        self.problems = problems


@dataclasses.dataclass(slots=True)  # not frozen, see `CheckedParameters`
class Given:
    """What a caller gave, in lists and dictionaries that no validator can change."""

    data: Mapping[str, Any]
    not_json: Mapping[str, ValueProblem]  # the values that JSON cannot express, and why

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Given":
        """Copy the values of a call."""
        if _SCALARS.issuperset(map(type, values.values())):
            return cls(dict(values), {})
        data, not_json = dict[str, Any](), dict[str, ValueProblem]()
        for name, value in values.items():
            if (problem := json_problem_of(value)) is None:
                text = json.dumps(value)
                data[name] = json.loads(text)
                if _BYTES in text:
                    not_json[name] = ValueProblem("", f"{_BYTES} is a reserved name")
            else:
                data[name], not_json[name] = opened(value), problem
        return cls(data, not_json)


class ParameterWriter:
    """Writes the parameters of one model."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model
        self._names = {
            field.validation_alias: name
            for name, field in model.model_fields.items()
            if isinstance(field.validation_alias, str)
        }
        self._aliased = {
            name for name, field in model.model_fields.items() if field.validation_alias is not None
        }
        declared = model.__pydantic_decorators__
        has_validators = (
            declared.validators
            or declared.field_validators
            or declared.root_validators
            or declared.model_validators
            or model.__pydantic_post_init__
            or model.__pydantic_custom_init__
        )
        # Defaults whose validation depends on no other value need to be verified only once.
        self._independent = {
            name
            for name, field in model.model_fields.items()
            if not (field.metadata or field.default_factory or has_validators)
        }
        self._verified = set[str]()
        self._plain_defaults = dict[str, Any]()  # the verified defaults that JSON can express

    def write(self, given: Given, value: BaseModel) -> str:
        """Return what a caller gave as JSON text, with the defaults that validation filled in.

        Pydantic does not validate defaults. One that validation would change, or that JSON does not
        have, is left out, so the worker fills it in again. Raises `NotStorableError`.
        """
        # `model_fields` takes as long as all the rest that most calls need.
        fields = self._model.__pydantic_fields__
        keys = self._keys(given.data, value)
        plain = {name: given.data[key] for name, key in keys.items()}
        text = self._write_scalars(plain)  # most calls end here
        if text is not None:
            return text
        not_json = {
            name: given.not_json[key] for name, key in keys.items() if key in given.not_json
        }
        found = parts_of_value(value)
        filled = {name: _with_defaults(item, found.get(name)) for name, item in plain.items()}
        added = {name for name, item in filled.items() if item is not plain[name]}
        for name in fields:
            if name not in value.model_fields_set and name not in plain:
                filled[name] = opened(found[name])
                added.add(name)
        while lost := self._lost(filled, value, (added - self._verified) | not_json.keys()):
            # A factory would give each attempt another default, so its value has to be stored.
            may_go = {name for name in added if name in plain or not fields[name].default_factory}
            left_out = may_go & lost or may_go
            if not left_out:
                raise NotStorableError([self._problem(name, not_json) for name in sorted(lost)])
            for name in left_out - plain.keys():
                del filled[name]
            filled |= {name: plain[name] for name in left_out & plain.keys()}
            added -= left_out
        verified = (added - plain.keys()) & self._independent
        self._verified |= verified
        self._plain_defaults |= {n: filled[n] for n in verified if type(filled[n]) in _SCALARS}
        return _dump(filled)

    def write_exact(self, plain: dict[str, Any]) -> str | None:
        """Return scalars but floats as JSON text with defaults; None if it takes `write`."""
        return None if self._aliased else self._write_scalars(plain, JSON_SCALARS)

    def _keys(self, data: Mapping[str, Any], value: BaseModel) -> dict[str, str]:
        """Return the key in the call for each name that is stored.

        Validation prefers an alias to the name, and may ignore the name.
        """
        if not self._aliased:
            return dict(zip(data, data, strict=True))
        ignored = self._aliased - value.model_fields_set
        keys = {key: key for key in data if key not in self._names and key not in ignored}
        return keys | {self._names[key]: key for key in data if key in self._names}

    def _write_scalars(
        self, plain: dict[str, Any], kinds: frozenset[type] = _SCALARS
    ) -> str | None:
        """Return scalars as JSON text with the defaults of the others; None if it takes more."""
        complete = self._plain_defaults | plain
        if complete.keys() != self._model.__pydantic_fields__.keys():
            return None
        if not kinds.issuperset(map(type, complete.values())):
            return None
        try:
            return to_json(complete).decode()
        except PydanticSerializationError:  # half of a surrogate pair
            return None

    def _lost(
        self, filled: Mapping[str, Any], value: BaseModel, suspects: Collection[str]
    ) -> set[str]:
        """Return the names of suspects that would not reach the body as they were validated."""
        if not suspects:
            return set()
        unwritable = {name for name in suspects if name in filled and not _has_json(filled[name])}
        if unwritable:
            return unwritable
        try:
            back = validated_again(self._model, _dump(filled))
        except ValidationError as error:
            refused = {str(item["loc"][0]) if item["loc"] else "" for item in error.errors()}
            return refused if refused <= filled.keys() else {*filled}
        except Exception:  # noqa: BLE001 - a validator that was given a text, not its own type
            return {*suspects}
        before, after = parts_of_value(value), parts_of_value(back)
        compared = suspects if before.keys() >= set(suspects) else before.keys()
        fields = self._model.model_fields
        return {
            name
            for name in compared
            if name not in after
            or not _is_same(
                before[name], after[name], fields[name].annotation if name in fields else None
            )
        }

    def _problem(self, name: str, not_json: Mapping[str, ValueProblem]) -> ValueProblem:
        problem = not_json.get(name)
        if problem is None:
            return ValueProblem(name, "cannot be stored and validated again unchanged")
        where = "" if is_secret(self._model, name) else problem.where  # keys may be secret
        return ValueProblem(".".join(part for part in (name[:50], where) if part), problem.what)


def validate(model: type[BaseModel], data: Any, **options: Any) -> BaseModel:
    """Validate as `model_validate` does, in half of its time. Raises `ValidationError`."""
    value: BaseModel = model.__pydantic_validator__.validate_python(data, **options)
    return value


def validated_again(model: type[BaseModel], text: str) -> BaseModel:
    """Return the value of a stored text. Raises `ValidationError`."""
    data = json.loads(text, object_hook=_with_bytes if _BYTES in text else None)
    try:
        return validate(model, data, by_alias=True, by_name=True)
    except ValidationError:
        # A strict type accepted a value, such as a datetime, that JSON stores as a text.
        return validate(model, data, strict=False, by_alias=True, by_name=True)


def _with_defaults(given: Any, found: Any) -> Any:
    """Return what was given, with the defaults of the models that validation made of it.

    It is the same object if there are none.
    """
    if isinstance(given, dict):
        items: dict[Any, Any] = given
        parts = parts_of_value(found) if isinstance(found, BaseModel) else found
        if not isinstance(parts, Mapping):
            return given
        complete = {key: _with_defaults(item, parts.get(key)) for key, item in items.items()}
        if isinstance(found, BaseModel):
            left_out = type(found).model_fields.keys() - found.model_fields_set - items.keys()
            complete |= {name: opened(parts[name]) for name in left_out}
        same = len(complete) == len(items) and all(complete[key] is items[key] for key in items)
        return items if same else complete
    if isinstance(given, list) and isinstance(found, list | tuple) and len(given) == len(found):
        listed: list[Any] = given
        parts_found: Sequence[Any] = found
        completed = [
            _with_defaults(item, part) for item, part in zip(listed, parts_found, strict=True)
        ]
        same = all(one is other for one, other in zip(completed, listed, strict=True))
        return given if same else completed
    return given


def _has_json(item: Any) -> bool:
    try:
        _dump(item)
    except (ValueError, PydanticSerializationError, PydanticSchemaGenerationError):
        return False
    return True


def _dump(item: Any) -> str:
    return _ENCODER.encode(item)


def _as_json(value: Any) -> Any:
    """Return JSON for a value that JSON does not have."""
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    # A class may tell Pydantic how its instances are written.
    return to_jsonable_python(
        value, fallback=lambda each: TypeAdapter(type(each)).dump_python(each, mode="json")
    )


_ENCODER: Final = json.JSONEncoder(
    default=_as_json, ensure_ascii=False, separators=(",", ":"), allow_nan=False
)


def _with_bytes(item: dict[str, Any]) -> Any:
    return base64.b64decode(item[_BYTES]) if item.keys() == {_BYTES} else item


def _is_same(one: Any, other: Any, annotation: Any = None) -> bool:
    """Return whether both are equal and of the same kind, more exactly than `==` does.

    A list may replace a tuple where `annotation` is any sequence.
    """
    if isinstance(one, datetime) and one.tzinfo is not None:
        # `==` is always false between zones for a wall time that a clock shows twice.
        return isinstance(other, datetime) and one.isoformat() == other.isoformat()
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    if has_parts(one):
        return type(one) is type(other) and _is_same(
            parts_of_value(one), parts_of_value(other), annotation
        )
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and one.keys() == other.keys()
            and all(_is_same(one[key], other[key], annotation) for key in one)
        )
    if isinstance(one, list | tuple):
        loose = any((get_origin(part) or part) in _SEQUENCES for part in parts_of(annotation))
        return (
            isinstance(other, list if loose and type(other) is list else type(one))
            and len(one) == len(other)
            and all(
                _is_same(left, right, annotation) for left, right in zip(one, other, strict=True)
            )
        )
    of_one_kind = isinstance(one, type(other)) or (
        isinstance(one, AbstractSet) and isinstance(other, AbstractSet)
    )
    return of_one_kind and isinstance(one, bool) == isinstance(other, bool) and one == other
