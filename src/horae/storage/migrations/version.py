"""Read the revision of a database, without Alembic, which takes longer to import than the rest of the program."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select

BASE: Final = "base"
REVISIONS: Final = tuple(f"{number:04d}" for number in range(1, 16))
HEAD: Final = REVISIONS[-1]
VERSION_TABLE: Final = "horae_alembic_version"

_version = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True))
_CURRENT = select(_version.c.version_num)


def current_revision(connection: Connection) -> str | None:
    """Return the revision that the database was migrated to; None before the first."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(_CURRENT)


def has_no_tables(file: Path) -> bool:
    """Return whether a SQLite file is certainly without the tables of Horae; the file is only read."""
    found = "SELECT 1 FROM sqlite_master WHERE name = ?"
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute(found, (VERSION_TABLE,)).fetchone() is None
    except sqlite3.Error:  # locked, or no database at all: who opens it later reports that
        return False
