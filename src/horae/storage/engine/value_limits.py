"""The limits of stored values: what Python can read and can still add to.

CHECKs enforce them, and so do readers. Readers do not rely on the CHECKs: an older version or
another tool may have written a row without them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from horae.storage.engine.dialect import POSTGRESQL, SQLITE

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
COUNTS: Final = f"lease < {MOST_LEASES} AND attempt < {MOST_ATTEMPTS}"


class condition_per_dialect(ColumnElement[bool]):
    """The condition of a CHECK, with a text for each database."""

    inherit_cache = False

    def __init__(self, postgresql: str, sqlite: str) -> None:
        self.texts = {POSTGRESQL: postgresql, SQLITE: sqlite}


@compiles(condition_per_dialect)
def _text(element: condition_per_dialect, compiler: SQLCompiler, **_: Any) -> str:
    return element.texts[compiler.dialect.name]


def moments_in_range(dialect: str, names: Sequence[str]) -> str:
    """Return the condition that these moments are in Python's range; null is allowed."""
    first, last = (int(moment.timestamp()) for moment in (EARLIEST, LATEST))
    if dialect == SQLITE:
        return " AND ".join(f"{name} BETWEEN {first * 10**6} AND {last * 10**6}" for name in names)
    return " AND ".join(
        f"{name} BETWEEN to_timestamp({first}) AND to_timestamp({last})" for name in names
    )


def is_json_object(dialect: str, name: str) -> str:
    """Return the condition that a column holds a JSON object."""
    if dialect == SQLITE:
        return f"CASE WHEN json_valid({name}) THEN json_type({name}) = 'object' ELSE 0 END"
    return f"jsonb_typeof({name}) = 'object'"


def _job(dialect: str) -> str:
    names = ("run_at", "created_at", "updated_at", "started_at", "finished_at", "nominal_time")
    return f"{COUNTS} AND {is_json_object(dialect, 'meta')} AND {moments_in_range(dialect, names)}"


JOB_IS_READABLE: Final = condition_per_dialect(_job(POSTGRESQL), _job(SQLITE))
EXPIRY_IS_READABLE: Final = condition_per_dialect(
    moments_in_range(POSTGRESQL, ["expires_at"]), moments_in_range(SQLITE, ["expires_at"])
)
AUDIT_IS_READABLE: Final = condition_per_dialect(
    moments_in_range(POSTGRESQL, ["at"]), moments_in_range(SQLITE, ["at"])
)
