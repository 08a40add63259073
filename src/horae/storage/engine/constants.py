"""Constants of the program in conditions are literals of the statement, not parameters.

A partial index is used only if the condition of the statement implies that of the index. For
`state = ?` this depends on the parameter: SQLite prepared such a statement again for each
execution, which took nine tenths of the time of a claim on an idle node, and PostgreSQL planned it
again, which took a third of its time.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, String, literal_column
from sqlalchemy.sql.operators import OperatorType
from typing_extensions import override


class Keyword(String):
    """A text column that is compared with members of a `StrEnum` as constants."""

    class KeywordComparator(String.Comparator[str]):
        """Replaces members of a `StrEnum` in a comparison; other values stay parameters."""

        @override
        def operate(self, op: OperatorType, *other: Any, **options: Any) -> ColumnElement[Any]:
            return super().operate(op, *map(_as_constant, other), **options)

    comparator_factory = KeywordComparator


def constant(value: str | int) -> ColumnElement[Any]:
    """Return a constant of the program as a literal, such as a member of an enumeration.

    Never call it with a value from outside: a quote in it would end the literal.
    """
    return literal_column(f"'{value}'" if isinstance(value, str) else str(value))


def _as_constant(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return constant(value)
    if isinstance(value, Iterable) and not isinstance(value, str | ColumnElement):
        values: list[Any] = list(value)
        if values and all(isinstance(each, StrEnum) for each in values):
            return [constant(each) for each in values]
        return values
    return value
