"""Statements that are compiled once and handed to the driver as they are.

For each execution SQLAlchemy makes a context, converts parameters by name and builds a result. For
the insert of one row on PostgreSQL that takes as long as the driver itself.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Delete, Dialect, Insert, Select, Update

Convert = Callable[[Any], Any]


class _Compiled(NamedTuple):
    """A statement as a driver takes it."""

    text: str
    fixed: Mapping[str, Any]
    """Parameters that are the same in each execution."""
    converted: Mapping[str, Convert]
    """Parameters that the driver takes in another form."""
    order: tuple[str, ...] | None
    """The names in the order of their places; None if the driver takes them by name."""
    columns: tuple[Convert | None, ...]
    """What makes a value of a row from that of the driver, for each column."""


class Direct:
    """A statement that returns one row, and that the driver executes without SQLAlchemy.

    The connection must be one that `Database.autocommit` lends: on a connection of the application
    SQLAlchemy would not know that a transaction has begun. Errors are those of SQLAlchemy, which
    executes the statement itself where something listens for statements.
    """

    def __init__(self, statement: Insert | Update | Delete | Select[Any]) -> None:
        self.statement: Final = statement
        self._compiled: dict[str, _Compiled] = {}

    def one(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """Execute the statement with these parameters, and return its row."""
        if connection.dispatch.before_cursor_execute:
            return connection.execute(self.statement, values).one()
        dialect = connection.dialect
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = _compile(self.statement, dialect)
        given = {**compiled.fixed, **values}
        for name, convert in compiled.converted.items():
            given[name] = convert(given[name])
        order = compiled.order
        parameters = given if order is None else tuple([given[name] for name in order])
        driver: Any = connection.connection.driver_connection
        try:
            # SQLite commits when all rows have been read.
            rows = driver.execute(compiled.text, parameters).fetchall()
        except BaseException as error:
            # This is how SQLAlchemy reports errors of the driver, to listeners as well.
            connection._handle_dbapi_exception(  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
                error, compiled.text, None, None, None
            )
            raise
        (row,) = rows
        return [
            value if convert is None else convert(value)
            for value, convert in zip(row, compiled.columns, strict=True)
        ]


def _compile(statement: Insert | Update | Delete | Select[Any], dialect: Dialect) -> _Compiled:
    made = statement.compile(dialect=dialect)
    binds = {made.bind_names[bind]: bind for bind in made.bind_names}
    converted = {
        name: convert
        for name, bind in binds.items()
        if (convert := bind.type.dialect_impl(dialect).bind_processor(dialect)) is not None
    }
    columns = (
        column.type.dialect_impl(dialect).result_processor(dialect, None)
        for column in statement.exported_columns
    )
    return _Compiled(
        text=str(made),
        fixed={name: bind.value for name, bind in binds.items() if bind.value is not None},
        converted=converted,
        order=None if made.positiontup is None else tuple(made.positiontup),
        columns=tuple(columns),
    )
