"""Inspect mapped classes of the application whose tables hold the parameters of jobs."""

from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Table
from sqlalchemy import inspect as mapping_of

from horae.errors import InvalidJobType
from horae.storage.jobs.tables import jobs


@dataclass(frozen=True, slots=True)
class MappedAttribute:
    """A parameter: column, mapped attribute, type, and whether it may be null or left out."""

    column: str
    name: str
    kind: type[Any]
    nullable: bool
    optional: bool


@dataclass(frozen=True, slots=True)
class MappedTable:
    """A table whose primary key refers to the job."""

    mapped: type[Any]
    table: Table
    key: str
    attributes: tuple[MappedAttribute, ...]

    @classmethod
    def of(cls, mapped: type[Any]) -> Self:
        """Inspect the mapping; raises `InvalidJobType` if its primary key refers to no job."""
        mapper = mapping_of(mapped)
        table: Table = mapper.local_table
        key = list(table.primary_key)
        if len(key) != 1 or not any(foreign.references(jobs) for foreign in key[0].foreign_keys):
            raise InvalidJobType(
                f"{mapped.__name__}: its primary key must be a foreign key to Horae's jobs, as in "
                "mapped_column(ForeignKey(horae.jobs_table.c.id, ondelete='CASCADE'),"
                " primary_key=True)"
            )
        attributes: list[MappedAttribute] = []
        for column in table.columns:
            if column is key[0]:
                continue
            try:
                kind = column.type.python_type
            except NotImplementedError:  # the application's own type; only the database checks it
                kind = object
            nullable = bool(column.nullable)
            optional = nullable or column.default is not None or column.server_default is not None
            name = mapper.get_property_by_column(column).key
            attributes.append(MappedAttribute(column.key, name, kind, nullable, optional))
        return cls(mapped, table, key[0].key, tuple(attributes))


def is_mapped(declared: Any) -> bool:
    """Return whether this is a class that SQLAlchemy maps to a table."""
    return mapping_of(declared, raiseerr=False) is not None
