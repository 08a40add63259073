"""Read the revision of a database without Alembic, whose import takes longer than all others."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    Select,
    String,
    Table,
    inspect,
    literal_column,
    select,
)

from horae.errors import SchemaMismatch

BASE: Final = "base"
REVISIONS: Final[tuple[str, ...]] = ("0001",)
HEAD: Final = REVISIONS[-1]
VERSION_TABLE: Final = "horae_alembic_version"

OLDEST_COMPATIBLE: Final[Mapping[str, str]] = MappingProxyType({"0001": "0001"})
"""For each revision, the oldest program that can use its tables, named by the revision
that it needs.

A database carries this with its revision (ADR 0044), so that older programs go on, and start again,
while a newer version replaces them.
"""

version_table: Final = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), primary_key=True),
    Column("oldest_compatible", String(32)),
)
_CURRENT = select(version_table.c.version_num)
_WHOLE_ROW: Final[Select[Any, Any]] = select(
    version_table.c.version_num.label("revision"), literal_column("*")
)
_OLDEST_COMPATIBLE = select(version_table.c.oldest_compatible)

_UNRELEASED: Final = (None, "0015")
"""What versions before the first release, up to 0016, recorded as the oldest program.

The early ones had no column for it.
"""


def distance(start: str, end: str) -> int:
    """Return how many revisions `end` is above `start`; negative below it."""
    steps = (BASE, *REVISIONS)
    return steps.index(end) - steps.index(start)


def current_revision(connection: Connection) -> str | None:
    """Return the revision of the database; None before the first migration.

    Raises `SchemaMismatch` for tables of a version before the first release, whose revisions had
    other numbers.
    """
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    row = connection.execute(_WHOLE_ROW).mappings().one_or_none()
    if row is None:
        return None
    revision = row["revision"]
    if not isinstance(revision, str):
        raise SchemaMismatch(
            f"the revision in {VERSION_TABLE} is damaged: expected a text such as {HEAD!r}, not"
            f" {revision!r}; restore it from a backup, or write the revision of the tables"
        )
    if row.get("oldest_compatible") in _UNRELEASED:
        raise SchemaMismatch(
            "the tables of this database were made by a version before the first release (revision"
            f" {revision}), and no migration leads from them to {HEAD}: remove them with `horae"
            " migrate down base` of that version, or delete the SQLite file, and run `horae migrate"
            " up`; the jobs and schedules in them are lost"
        )
    return revision


def stored_revision(connection: Connection) -> str | None:
    """Return the revision in one statement, for a database that has the tables of a release."""
    return connection.scalar(_CURRENT)


def is_compatible(connection: Connection) -> bool:
    """Return whether this program can use the tables of a revision that it does not know."""
    return connection.scalar(_OLDEST_COMPATIBLE) in REVISIONS


def has_no_tables(file: Path) -> bool:
    """Return whether a SQLite file, which is only read, is certainly without the tables."""
    found = "SELECT 1 FROM sqlite_master WHERE name = ?"
    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            return connection.execute(found, (VERSION_TABLE,)).fetchone() is None
    except sqlite3.Error:
        # The file is locked, or no database at all: opening it later reports that.
        return False
