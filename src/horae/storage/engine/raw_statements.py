"""PostgreSQL's statements as text, for a connection without SQLAlchemy."""

from typing import Any, Final, NamedTuple

from sqlalchemy import ClauseElement
from sqlalchemy.dialects import postgresql

_NUMBERED: Final = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]


class RawStatement(NamedTuple):
    """A statement with its values as text."""

    text: str
    values: list[str]


def raw_statement(statement: ClauseElement, **values: Any) -> RawStatement:
    """Return the text of a statement, with numbered parameters, and their values in order."""
    compiled = statement.compile(dialect=_NUMBERED)
    given = compiled.construct_params(values) or {}
    return RawStatement(
        str(compiled), [str(given[name]) for name in getattr(compiled, "positiontup", None) or ()]
    )
