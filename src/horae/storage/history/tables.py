"""The tables of the history: buckets of time, and how far they have been written."""

from typing import Final

from sqlalchemy import CheckConstraint, Column, Integer, SmallInteger, Table

from horae.storage.engine import Instant, Json
from horae.storage.jobs import metadata

history = Table(
    "horae_history",
    metadata,
    Column("seconds", Integer, primary_key=True, autoincrement=False),  # the length of the bucket
    Column("start", Instant, primary_key=True),
    Column("everything", Json, nullable=False),
    Column("queues", Json, nullable=False),
    Column("types", Json, nullable=False),
    CheckConstraint("seconds > 0", name="seconds"),
)

ONLY_ROW: Final = 1
history_state = Table(
    "horae_history_state",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("reached", Instant, nullable=False),  # the end of the last bucket that was written
    Column("behind", Json, nullable=False),  # since when queues are behind, in microseconds
    CheckConstraint("id = 1", name="only_row"),
)
