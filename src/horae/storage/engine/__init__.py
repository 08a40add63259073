"""Connections to the two databases, what differs between them, and what their errors mean.

Invariants: `Database.transact(function, ...)` is the only way from the program to a statement;
every connection has time limits and keepalives; on SQLite a write begins with the lock, and the
lock is held for short times only; an error is repeated according to its class, never by its text
alone.

Others use `Database`, the constructs of SQL that are named here, and the errors. A file that names
one of the databases belongs here.
"""

from horae.storage.engine.caller_threads import Use
from horae.storage.engine.constants import Keyword, constant
from horae.storage.engine.database import Database, side_car_path
from horae.storage.engine.dialect import (
    EPOCH,
    INSERT,
    MICROSECOND,
    POSTGRESQL,
    SQLITE,
    IdList,
    Instant,
    Json,
    PerDialect,
    TextList,
    among,
    database_now,
    earlier_of,
    json_moment,
    json_rows,
    longer_than,
    member_of,
    microseconds_before,
    microseconds_now,
    microseconds_of,
    now_or_later,
    one_of,
    seconds_after,
    seconds_ago,
    seconds_between,
    seconds_from_now,
    seconds_since,
    shifted,
)
from horae.storage.engine.failures import (
    DATABASE_ERRORS,
    advice_for,
    conflicts_as_busy,
    first_line,
    first_of,
    is_busy,
    is_of_data,
    is_of_server,
    is_only_transient,
    is_transient,
    reason_of,
)
from horae.storage.engine.identity import identity_of, local_name_of
from horae.storage.engine.isolation import SEES_COMMITTED
from horae.storage.engine.replica import ReadReplica, Reads
from horae.storage.engine.same_database import SameDatabase
from horae.storage.engine.statement_watch import watched_statements
from horae.storage.engine.threads import Threads
from horae.storage.engine.unreadable_rows import UNREADABLE, read, readable, readable_page
from horae.storage.engine.url import driver_arguments, file_of, missing_file, normalised, shown
from horae.storage.engine.value_limits import (
    AUDIT_IS_READABLE,
    EARLIEST,
    EXPIRY_IS_READABLE,
    JOB_IS_READABLE,
    LATEST,
    LONGEST_TOTAL_DURATION,
    MOST_ATTEMPTS,
    MOST_CONSECUTIVE,
    MOST_LEASES,
    MOST_RUNS,
    MOST_VERSIONS,
    condition_per_dialect,
)

__all__ = [
    "AUDIT_IS_READABLE",
    "DATABASE_ERRORS",
    "EARLIEST",
    "EPOCH",
    "EXPIRY_IS_READABLE",
    "INSERT",
    "JOB_IS_READABLE",
    "LATEST",
    "LONGEST_TOTAL_DURATION",
    "MICROSECOND",
    "MOST_ATTEMPTS",
    "MOST_CONSECUTIVE",
    "MOST_LEASES",
    "MOST_RUNS",
    "MOST_VERSIONS",
    "POSTGRESQL",
    "SEES_COMMITTED",
    "SQLITE",
    "UNREADABLE",
    "Database",
    "IdList",
    "Instant",
    "Json",
    "Keyword",
    "PerDialect",
    "ReadReplica",
    "Reads",
    "SameDatabase",
    "TextList",
    "Threads",
    "Use",
    "advice_for",
    "among",
    "condition_per_dialect",
    "conflicts_as_busy",
    "constant",
    "database_now",
    "driver_arguments",
    "earlier_of",
    "file_of",
    "first_line",
    "first_of",
    "identity_of",
    "is_busy",
    "is_of_data",
    "is_of_server",
    "is_only_transient",
    "is_transient",
    "json_moment",
    "json_rows",
    "local_name_of",
    "longer_than",
    "member_of",
    "microseconds_before",
    "microseconds_now",
    "microseconds_of",
    "missing_file",
    "normalised",
    "now_or_later",
    "one_of",
    "read",
    "readable",
    "readable_page",
    "reason_of",
    "seconds_after",
    "seconds_ago",
    "seconds_between",
    "seconds_from_now",
    "seconds_since",
    "shifted",
    "shown",
    "side_car_path",
    "watched_statements",
]
