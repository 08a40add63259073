"""The table of what people changed. No foreign keys: an entry outlives what it is about."""

from sqlalchemy import Column, Index, String, Table, Text

from horae.storage.dialect import Instant
from horae.storage.tables import metadata, row_id

audit = Table(
    "horae_audit",
    metadata,
    Column("id", row_id, primary_key=True, autoincrement=True),
    Column("at", Instant, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("action", String(100), nullable=False),
    Column("target", String(300), nullable=False),
    Column("outcome", String(100), nullable=False),
    Column("note", Text),
    sqlite_autoincrement=True,
)

Index("horae_audit_at", audit.c.at)
