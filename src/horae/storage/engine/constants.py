"""Constants of the program in conditions: literals on SQLite, parameters on PostgreSQL.

SQLite uses a partial index only if the condition of the statement implies that of the index. For
`state = ?` this depends on the parameter, so SQLite prepares the statement again for each
execution, which took nine tenths of the time of a claim on an idle node. PostgreSQL keeps
parameters: with literals it could keep a plan that was made while a table was empty.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, String, literal, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.operators import OperatorType
from typing_extensions import override

from horae.storage.engine.dialect import SQLITE


class constant(FunctionElement[Any]):
    """A member of an enumeration, or a whole number, as an SQL expression."""

    inherit_cache = True

    def __init__(self, value: StrEnum | int) -> None:
        """`value`: on SQLite it becomes a part of the statement's text."""
        text = f"'{value.value}'" if isinstance(value, StrEnum) else str(value)
        super().__init__(
            literal_column(text)
        )  # the name also distinguishes the statement in SQLAlchemy's cache
        self.parameter = (
            literal(value.value, String()) if isinstance(value, StrEnum) else literal(value)
        )
        self.type = self.parameter.type


@compiles(constant)
def _compile(element: constant, compiler: SQLCompiler, **options: Any) -> str:
    chosen = element.clauses if compiler.dialect.name == SQLITE else element.parameter
    return compiler.process(chosen, **options)


class Keyword(String):
    """A text column that is compared with members of a `StrEnum` as constants."""

    class KeywordComparator(String.Comparator[str]):
        """Replaces members of a `StrEnum` in a comparison; other values stay parameters."""

        @override
        def operate(self, op: OperatorType, *other: Any, **options: Any) -> ColumnElement[Any]:
            return super().operate(op, *map(_as_constant, other), **options)

    comparator_factory = KeywordComparator


def _as_constant(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return constant(value)
    if isinstance(value, Iterable) and not isinstance(value, str | ColumnElement):
        values: list[Any] = list(value)
        if values and all(isinstance(each, StrEnum) for each in values):
            return [constant(each) for each in values]
        return values
    return value
