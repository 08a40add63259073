"""Read the revision of a database, without Alembic, which takes longer to import than the rest of the program."""

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
