"""Connections to the two databases, what differs between them, and what their errors mean.

Invariants: `Database.transact(function, ...)` is the only way from the program to a statement;
every connection has time limits and keepalives; on SQLite a write begins with the lock, and the
lock is held for short times only; an error is repeated according to its class, never by its text
alone.

Others use `Database`, the constructs of SQL that are named here, and the errors. A file that names
one of the databases belongs here.
"""

from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT has the same form on SQLite

from horae.storage.engine.caller_threads import Use
from horae.storage.engine.constants import Keyword, constant
from horae.storage.engine.database import Database, side_car_path
from horae.storage.engine.dialect import (
    NUMBERED_ONCE,
    POSTGRESQL,
    SQLITE,
    IdList,
    Instant,
    Json,
    PerDatabase,
    PerDialect,
    TextList,
    database_now,
    earlier_of,
    has_id_of,
    has_listed_id,
    json_list,
    json_moment,
    json_rows,
    keeps_rows_in_order,
    longer_than,
    member_of,
    microseconds_before,
    microseconds_now,
    microseconds_of,
    minute_of,
    now_or_later,
    one_of,
    seconds_after,
    seconds_ago,
    seconds_between,
    seconds_from_now,
    seconds_since,
    shifted,
)
from horae.storage.engine.direct import Direct, Returning
from horae.storage.engine.failures import (
    DATABASE_ERRORS,
    conflicts_as_busy,
    first_line,
    first_of,
    is_busy,
    is_of_data,
    is_of_server,
    is_only_transient,
    is_transient,
    may_be_of_changed_tables,
    reason_of,
)
from horae.storage.engine.identity import identity_of, local_name_of
from horae.storage.engine.isolation import (
    SEES_COMMITTED,
    lock,
    repeatable,
    sees_what_others_commit,
    try_lock,
)
from horae.storage.engine.lending import Lender, Lending, lending, lent
from horae.storage.engine.raw_statements import RawStatement, raw_statement
from horae.storage.engine.replica import ReadReplica, Reads
from horae.storage.engine.same_database import SameDatabase
from horae.storage.engine.sqlite import (
    LOCK_SUFFIX,
    clock_replaced,
    is_abandoned,
    make_folder,
    mode_beside,
)
from horae.storage.engine.statement_watch import watched_statements
from horae.storage.engine.threads import Threads, set_error, set_result
from horae.storage.engine.unreadable_rows import UNREADABLE, read, readable, readable_page
from horae.storage.engine.url import driver_arguments, file_of, missing_file, normalised, shown
from horae.storage.engine.value_limits import (
    AUDIT_IS_READABLE,
    EARLIEST,
    JOB_IS_READABLE,
    LATEST,
    LONGEST_TOTAL_DURATION,
    MOST_ATTEMPTS,
    MOST_CONSECUTIVE,
    MOST_LEASES,
    MOST_RUNS,
    MOST_VERSIONS,
    and_readable,
    condition,
)

__all__ = [
    "AUDIT_IS_READABLE",
    "DATABASE_ERRORS",
    "EARLIEST",
    "JOB_IS_READABLE",
    "LATEST",
    "LOCK_SUFFIX",
    "LONGEST_TOTAL_DURATION",
    "MOST_ATTEMPTS",
    "MOST_CONSECUTIVE",
    "MOST_LEASES",
    "MOST_RUNS",
    "MOST_VERSIONS",
    "NUMBERED_ONCE",
    "POSTGRESQL",
    "SEES_COMMITTED",
    "SQLITE",
    "UNREADABLE",
    "Database",
    "Direct",
    "IdList",
    "Instant",
    "Json",
    "Keyword",
    "Lender",
    "Lending",
    "PerDatabase",
    "PerDialect",
    "RawStatement",
    "ReadReplica",
    "Reads",
    "Returning",
    "SameDatabase",
    "TextList",
    "Threads",
    "Use",
    "and_readable",
    "clock_replaced",
    "condition",
    "conflicts_as_busy",
    "constant",
    "database_now",
    "driver_arguments",
    "earlier_of",
    "file_of",
    "first_line",
    "first_of",
    "has_id_of",
    "has_listed_id",
    "identity_of",
    "insert",
    "is_abandoned",
    "is_busy",
    "is_of_data",
    "is_of_server",
    "is_only_transient",
    "is_transient",
    "json_list",
    "json_moment",
    "json_rows",
    "keeps_rows_in_order",
    "lending",
    "lent",
    "local_name_of",
    "lock",
    "longer_than",
    "make_folder",
    "may_be_of_changed_tables",
    "member_of",
    "microseconds_before",
    "microseconds_now",
    "microseconds_of",
    "minute_of",
    "missing_file",
    "mode_beside",
    "normalised",
    "now_or_later",
    "one_of",
    "raw_statement",
    "read",
    "readable",
    "readable_page",
    "reason_of",
    "repeatable",
    "seconds_after",
    "seconds_ago",
    "seconds_between",
    "seconds_from_now",
    "seconds_since",
    "sees_what_others_commit",
    "set_error",
    "set_result",
    "shifted",
    "shown",
    "side_car_path",
    "try_lock",
    "watched_statements",
]
