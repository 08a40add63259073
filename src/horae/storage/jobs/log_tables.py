"""The table of the log lines of jobs."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
    Text,
)

from horae.storage.engine import Instant
from horae.storage.jobs.tables import metadata, row_id

# The key is known before a line is written, so a batch that is written twice, because the answer to
# the first attempt was lost, stores each line once.
job_logs = Table(
    "horae_job_logs",
    metadata,
    Column("job_id", row_id, primary_key=True, autoincrement=False),
    Column("lease", BigInteger, primary_key=True, autoincrement=False),
    Column("line", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, nullable=False),
    Column("at", Instant, nullable=False),
    Column("level", SmallInteger, nullable=False),
    Column("logger", String(200), nullable=False),
    Column("message", Text, nullable=False),
    # Number of dropped lines that this row stands for; NULL for an ordinary line.
    Column("dropped", Integer),
    CheckConstraint("dropped > 0", name="dropped"),
)

Index("horae_job_logs_at", job_logs.c.at)
