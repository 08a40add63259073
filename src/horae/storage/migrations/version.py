"""Read the revision of a database, without Alembic, which takes longer to import than the rest of
the program.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select

BASE: Final = "base"
REVISIONS: Final = tuple(f"{number:04d}" for number in range(1, 17))
HEAD: Final = REVISIONS[-1]
VERSION_TABLE: Final = "horae_alembic_version"

OLDEST_COMPATIBLE: Final[Mapping[str, str]] = MappingProxyType({"0015": "0015", "0016": "0015"})
"""For each revision from 0015 on, the oldest program that can use its tables, named by the revision
that it needs.

A database carries this with its revision (ADR 0044), so that older programs go on, and start again,
while a newer version replaces them.
"""

version: Final = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), primary_key=True),
    Column("oldest_compatible", String(32)),
)
_CURRENT = select(version.c.version_num)
_OLDEST_COMPATIBLE = select(version.c.oldest_compatible)


def current_revision(connection: Connection) -> str | None:
    """Return the revision that the database was migrated to; None before the first."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return stored_revision(connection)


def stored_revision(connection: Connection) -> str | None:
    """Return the same in one statement, for a database that has tables."""
    return connection.scalar(_CURRENT)


def is_compatible(connection: Connection) -> bool:
    """Return whether this program can use the tables of the revision, which it does not know
    itself.
    """
    return connection.scalar(_OLDEST_COMPATIBLE) in REVISIONS


def has_no_tables(file: Path) -> bool:
    """Return whether a SQLite file is certainly without the tables of Horae; the file is only
    read.
    """
    found = "SELECT 1 FROM sqlite_master WHERE name = ?"
    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            return connection.execute(found, (VERSION_TABLE,)).fetchone() is None
    except sqlite3.Error:  # locked, or no database at all: who opens it later reports that
        return False
