"""How the parameters of a job type are checked, stored and read: a Pydantic model, or a row of the application."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from sqlalchemy import Column, Table
from sqlalchemy import inspect as mapping_of

from horae.errors import InvalidJobType, InvalidParameters
from horae.storage.tables import jobs


@dataclass(frozen=True, slots=True)
class Stored:
    """Checked parameters as they are written: JSON text in the job's row, or a row of another table."""

    text: str | None = None
    row: Mapping[str, Any] | None = None


class Parameters(Protocol):
    """The parameters of one job type."""

    @property
    def table(self) -> Table | None:
        """The table beside `jobs` that holds them, if any."""
        ...

    def check(self, job_type: str, values: Mapping[str, Any]) -> Any:
        """The checked value; raises `InvalidParameters`."""
        ...

    def store(self, value: Any) -> Stored:
        """What to write for a checked value."""
        ...

    def load(self, text: str | None) -> Any:
        """The value again, from the JSON text in the job's row."""
        ...

    def restore(self, params: Any) -> Stored:
        """What to write for a new job with the parameters of an old one, as they were read."""
        ...


class ModelParameters:
    """Parameters in a Pydantic model, stored as JSON in `jobs.params`."""

    table: Final = None

    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model
        self._empty = not model.model_fields and model.model_config.get("extra") != "allow"

    def check(self, job_type: str, values: Mapping[str, Any]) -> BaseModel:
        """The checked model."""
        try:
            checked = self.model.model_validate(dict(values))
        except ValidationError as error:
            raise InvalidParameters(job_type, _problems(error)) from error
        return checked

    def store(self, value: BaseModel) -> Stored:
        """The model as JSON text; nothing for no parameters."""
        return Stored() if self._empty else Stored(value.model_dump_json())

    def load(self, text: str | None) -> BaseModel:
        """The model again."""
        return self.model.model_construct() if self._empty else self.model.model_validate_json(text or "{}")

    def restore(self, params: Any) -> Stored:
        """The same text."""
        return Stored() if params is None else Stored(json.dumps(params))


class MappedParameters:
    """Parameters in a SQLAlchemy model joined to `jobs`: own table, foreign keys to the application's tables."""

    def __init__(self, mapped: type[Any]) -> None:
        self.mapped = mapped
        self.table: Table = mapping_of(mapped).local_table
        self.key = _job_key(mapped, self.table)
        given = [column for column in self.table.columns if column is not self.key]
        self._names = {column.key: mapping_of(mapped).get_property_by_column(column).key for column in given}
        self._model = _model_of(mapped.__name__, given, self._names)

    def check(self, job_type: str, values: Mapping[str, Any]) -> BaseModel:
        """The checked values, by attribute."""
        try:
            return self._model.model_validate(dict(values))
        except ValidationError as error:
            raise InvalidParameters(job_type, _problems(error)) from error

    def store(self, value: BaseModel) -> Stored:
        """The row, without its key; what the caller left out is the table's default."""
        given = value.model_dump(exclude_unset=True)
        return Stored(row={column: given[name] for column, name in self._names.items() if name in given})

    def load(self, text: str | None) -> Any:
        """Nothing: the row is read by whoever has a connection (`storage/parameters.py`)."""
        del text

    def restore(self, params: Any) -> Stored:
        """The same row, without its key."""
        return Stored(row={column: getattr(params, name) for column, name in self._names.items()})


def parameters_of(declared: type[Any] | None, job_type: str) -> ModelParameters | MappedParameters:
    """The parameters that a job type declared; raises `InvalidJobType`."""
    if declared is None:
        return ModelParameters(NoParameters)
    if isinstance(declared, type) and issubclass(declared, BaseModel):
        return ModelParameters(declared)
    if mapping_of(declared, raiseerr=False) is not None:
        return MappedParameters(declared)
    raise InvalidJobType(
        f"job type {job_type!r}: params is {declared!r}, not a Pydantic model or a SQLAlchemy mapped class"
    )


class NoParameters(BaseModel):
    """A job type that takes nothing."""

    model_config = ConfigDict(extra="forbid")


def _problems(error: ValidationError) -> Sequence[tuple[str, str]]:
    return [(".".join(str(part) for part in item["loc"]), item["msg"]) for item in error.errors(include_input=False)]


def _job_key(mapped: type[Any], table: Table) -> Column[Any]:
    for column in table.primary_key:
        if any(key.references(jobs) for key in column.foreign_keys):
            return column
    raise InvalidJobType(
        f"{mapped.__name__}: its primary key must be a foreign key to Horae's jobs, as in "
        f"mapped_column(ForeignKey(horae.jobs_table.c.id, ondelete='CASCADE'), primary_key=True)"
    )


def _model_of(name: str, columns: Sequence[Column[Any]], names: Mapping[str, str]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for column in columns:
        kind = column.type.python_type
        optional = column.nullable or column.default is not None or column.server_default is not None
        fields[names[column.key]] = (kind | None, None) if optional else (kind, ...)
    return create_model(name, __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True), **fields)


def as_json(values: Sequence[Stored]) -> str:
    """One JSON array of many stored parameters."""
    return "[" + ",".join(value.text or "null" for value in values) + "]"
