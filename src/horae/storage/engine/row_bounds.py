"""What a row may hold: what Python can read and arithmetic can bear. CHECKs say it, and so does whoever reads a row.

A CHECK may be missing, for an older version or a tool may have written the row; so readers do not rely on it.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import ColumnElement
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

from horae.storage.engine.dialect import POSTGRESQL, SQLITE

MOST_LEASES: Final = 2**62
MOST_ATTEMPTS: Final = 2**30
MOST_RUNS: Final = 2**62
MOST_IN_A_ROW: Final = 2**30
MOST_VERSIONS: Final = 2**30
LONGEST_TOTAL: Final = 1e12
"""Seconds that all runs of a schedule may have taken; a duration of Python ends at 86 times as many."""
EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)
LATEST: Final = datetime(9999, 12, 31, tzinfo=UTC)
COUNTS: Final = f"lease < {MOST_LEASES} AND attempt < {MOST_ATTEMPTS}"


class per_dialect(ColumnElement[bool]):  # noqa: N801 - reads as the SQL that it is
    """A condition for a CHECK, written for each database."""

    inherit_cache = False

    def __init__(self, postgresql: str, sqlite: str) -> None:
        self.texts = {POSTGRESQL: postgresql, SQLITE: sqlite}


@compiles(per_dialect)
def _text(element: per_dialect, compiler: SQLCompiler, **_: Any) -> str:
    return element.texts[compiler.dialect.name]


def moments(dialect: str, names: Sequence[str]) -> str:
    """That these moments are within the years that Python knows; null is allowed."""
    first, last = (int(moment.timestamp()) for moment in (EARLIEST, LATEST))
    if dialect == SQLITE:
        return " AND ".join(f"{name} BETWEEN {first * 10**6} AND {last * 10**6}" for name in names)
    return " AND ".join(f"{name} BETWEEN to_timestamp({first}) AND to_timestamp({last})" for name in names)


def object_of(dialect: str, name: str) -> str:
    """That this is a JSON object."""
    if dialect == SQLITE:
        return f"CASE WHEN json_valid({name}) THEN json_type({name}) = 'object' ELSE 0 END"
    return f"jsonb_typeof({name}) = 'object'"


def _job(dialect: str) -> str:
    names = ("run_at", "created_at", "updated_at", "started_at", "finished_at", "nominal_time")
    return f"{COUNTS} AND {object_of(dialect, 'meta')} AND {moments(dialect, names)}"


JOB_IS_READABLE: Final = per_dialect(_job(POSTGRESQL), _job(SQLITE))
AUDIT_IS_READABLE: Final = per_dialect(moments(POSTGRESQL, ["at"]), moments(SQLITE, ["at"]))
