"""The tables of the change log and of browser sessions.

The change log has no foreign keys because an entry outlives its target.
"""

from sqlalchemy import CheckConstraint, Column, Index, String, Table, Text

from horae.storage.engine import AUDIT_IS_READABLE, NUMBERED_ONCE, Instant, Json
from horae.storage.jobs import metadata, row_id

change_log = Table(
    "horae_audit",
    metadata,
    Column("id", row_id, primary_key=True, autoincrement=True),
    Column("at", Instant, nullable=False),
    Column("actor", String(200), nullable=False),
    Column("action", String(100), nullable=False),
    Column("target", String(300), nullable=False),
    Column("outcome", String(100), nullable=False),
    Column("note", Text),
    # The origin of the change: http, cli or python.
    Column("channel", String(16), CheckConstraint(AUDIT_IS_READABLE, name="readable")),
    Column("before", Json),
    Column("after", Json),
    **NUMBERED_ONCE,
)

Index("horae_audit_at", change_log.c.at)
Index("horae_audit_target", change_log.c.target, change_log.c.id)  # for the changes of one thing

# Sessions of browsers. The cookie holds the key; only its hash is stored.
sessions = Table(
    "horae_sessions",
    metadata,
    Column("key_hash", String(64), primary_key=True),
    Column("token_hash", String(64), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
)

Index("horae_sessions_expires_at", sessions.c.expires_at)
