"""What a mapped class of the application says of its table, where that holds the parameters of jobs."""

from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Column, Table
from sqlalchemy import inspect as mapping_of

from horae.errors import InvalidJobType
from horae.storage.tables import jobs


@dataclass(frozen=True, slots=True)
class Attribute:
    """One parameter: its column, the attribute it is mapped to, its Python type, whether it may be left out."""

    column: str
    name: str
    kind: type[Any]
    optional: bool


@dataclass(frozen=True, slots=True)
class MappedTable:
    """A table joined to `jobs` by its primary key."""

    mapped: type[Any]
    table: Table
    key: str
    attributes: tuple[Attribute, ...]

    @classmethod
    def of(cls, mapped: type[Any]) -> Self:
        """Read the mapping; raises `InvalidJobType` if nothing joins it to a job."""
        mapper = mapping_of(mapped)
        table: Table = mapper.local_table
        key = _job_key(mapped.__name__, table)
        attributes = tuple(
            Attribute(column.key, mapper.get_property_by_column(column).key, column.type.python_type, _optional(column))
            for column in table.columns
            if column is not key
        )
        return cls(mapped, table, key.key, attributes)


def is_mapped(declared: Any) -> bool:
    """Whether this is a mapped class."""
    return mapping_of(declared, raiseerr=False) is not None


def _optional(column: Column[Any]) -> bool:
    return bool(column.nullable) or column.default is not None or column.server_default is not None


def _job_key(name: str, table: Table) -> Column[Any]:
    for column in table.primary_key:
        if any(key.references(jobs) for key in column.foreign_keys):
            return column
    raise InvalidJobType(
        f"{name}: its primary key must be a foreign key to Horae's jobs, as in "
        "mapped_column(ForeignKey(horae.jobs_table.c.id, ondelete='CASCADE'), primary_key=True)"
    )
