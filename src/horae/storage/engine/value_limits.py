"""The limits of stored values: what Python can read and can still add to.

CHECKs enforce them, and so do readers. Readers do not rely on the CHECKs: an older version or
another tool may have written a row without them.
"""

from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Boolean, ColumnElement, and_, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from horae.storage.engine.dialect import POSTGRESQL, SQLITE, PerDatabase

MOST_LEASES: Final = 2**62
"""The limit of a job's lease number, a BIGINT (up to 2**63)."""
MOST_ATTEMPTS: Final = 2**30
"""The limit of a job's attempts, an INTEGER (up to 2**31)."""
MOST_RUNS: Final = 2**62
"""The limit of each count of a schedule's runs, a BIGINT."""
MOST_CONSECUTIVE: Final = 2**30
"""The limit of each count of a schedule's failures in a row, an INTEGER."""
MOST_VERSIONS: Final = 2**30
"""The limit of a schedule's version, an INTEGER."""
LONGEST_TOTAL_DURATION: Final = 1e12
"""The limit of a schedule's total run time in seconds; a `timedelta` holds 86 times as many."""
EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)
"""The earliest moment; a day after Python's own limit, so that it can be shown in any time zone."""
LATEST: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""The latest moment; a day before Python's own limit."""


class condition(ColumnElement[bool]):
    """The condition of a CHECK or an index, with a text for each database."""

    inherit_cache = False

    def __init__(self, postgresql: str, sqlite: str) -> None:
        self.texts = {POSTGRESQL: postgresql, SQLITE: sqlite}

    def repeat(self) -> ColumnElement[bool]:
        """Return the same text for a statement that is to use the index."""
        postgresql, sqlite = (literal_column(text, Boolean()) for text in self.texts.values())
        return PerDatabase(postgresql, sqlite)


@compiles(condition)
def _text(element: condition, compiler: SQLCompiler, **_: Any) -> str:
    return element.texts[compiler.dialect.name]


def _are_in_range(dialect: str, *names: str) -> str:
    """Return the condition that these moments are in Python's range; null is allowed."""
    if dialect == SQLITE:
        limits = [f"{int(moment.timestamp())}000000" for moment in (EARLIEST, LATEST)]
    else:
        limits = [f"timestamptz '{moment.isoformat()}'" for moment in (EARLIEST, LATEST)]
    return " AND ".join(f"{name} BETWEEN {' AND '.join(limits)}" for name in names)


def _is_readable(dialect: str) -> str:
    counts = f"lease < {MOST_LEASES} AND attempt < {MOST_ATTEMPTS}"
    given = ("run_at", "nominal_time", "expires_at")
    if dialect == POSTGRESQL:
        # PostgreSQL parses its CHECKs for each statement, which for all the moments took as long as
        # a row. The others come from its own clock.
        return f"{counts} AND jsonb_typeof(meta) = 'object' AND {_are_in_range(dialect, *given)}"
    moments = (*given, "created_at", "updated_at", "started_at", "finished_at")
    return (
        f"{counts} AND CASE WHEN json_valid(meta) THEN json_type(meta) = 'object' ELSE 0 END AND"
        f" {_are_in_range(dialect, *moments)}"
    )


JOB_IS_READABLE: Final = condition(_is_readable(POSTGRESQL), _is_readable(SQLITE))
AUDIT_IS_READABLE: Final = condition(_are_in_range(POSTGRESQL, "at"), _are_in_range(SQLITE, "at"))


def and_readable(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Add the condition that no CHECK rejects the job, since SQLite lets CHECKs be switched off,
    and that its numbers are numbers, since SQLite stores any type in any column.
    """
    # The CHECK accepts null.
    readable = literal_column(f"coalesce({JOB_IS_READABLE.texts[SQLITE]}, 1)", Boolean())
    numbers = literal_column(
        "typeof(priority) = 'integer' AND typeof(max_attempts) = 'integer'", Boolean()
    )
    return PerDatabase(condition, and_(condition, readable, numbers))
