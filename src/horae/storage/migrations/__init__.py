"""The history of the tables, and which programs can use them.

Invariants: a migration runs once, under a lock, and is refused while running nodes could not use
its tables; a program never writes to tables that it does not know.
"""

from horae.storage.migrations.grants import (
    LACKED_BY_READERS,
    Privileges,
    lacking_privileges,
)
from horae.storage.migrations.runner import ENCODING, MigrationStatus
from horae.storage.migrations.version import BASE, has_no_tables

__all__ = [
    "BASE",
    "ENCODING",
    "LACKED_BY_READERS",
    "MigrationStatus",
    "Privileges",
    "has_no_tables",
    "lacking_privileges",
]
