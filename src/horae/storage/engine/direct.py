"""Statements that are compiled once and handed to the driver as they are.

For each execution SQLAlchemy makes a context, converts parameters by name and builds a result. For
the insert of one row on PostgreSQL that takes as long as the driver itself; for a claim it takes
twice as long.

PostgreSQL keeps the plan of a prepared statement until it has new statistics of a table, about once
a minute. A plan that was made while the table was empty may read all of it, however large it has
become. So after an execution that took long the text gets another comment at its end: then it is
another statement, with a new plan.
"""

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Delete, Dialect, Insert, Select, Update

from horae.storage.engine.dialect import SQLITE, PerDialect

Convert: TypeAlias = Callable[[Any], Any]
Returning: TypeAlias = Insert | Update | Delete | Select[Any]
"""A statement that returns rows."""
SLOW: Final = 0.01
"""Seconds of an execution that may be due to an old plan."""
PLANNED_FOR: Final = 30.0
"""Seconds for which a plan is kept at least, because executions may be slow for other reasons."""
FLOAT8: Final = 701
"""The driver's number for the type of a column, by which SQLAlchemy tells decimals from floats. All
columns with fractions are floats; other types ignore it.
"""


class _Compiled(NamedTuple):
    """A statement as a driver takes it."""

    text: str
    fixed: Mapping[str, Any]
    """Parameters that are the same in each execution."""
    converted: Mapping[str, Convert]
    """Parameters that the driver takes in another form."""
    order: tuple[str, ...] | None
    """The names in the order of their places; None if the driver takes them by name."""
    columns: Sequence[tuple[int, Convert]]
    """The places of columns whose values the driver returns in another form, and what makes them.
    """
    planned_at: float

    def planned_anew(self, now: float) -> "_Compiled":
        """Return the same statement with a text that no connection has prepared."""
        text = self.text.partition(_COMMENT)[0]
        return self._replace(text=f"{text}{_COMMENT}{next(_plans)} */", planned_at=now)


_COMMENT: Final = " /* plan "
_plans: Final = itertools.count(2)


class Direct:
    """A statement that the driver executes without SQLAlchemy, on connections of `allow_direct`.

    On a connection of the application SQLAlchemy executes it: the driver may be another one, and
    SQLAlchemy would not know that a transaction has begun. It also does where something listens for
    statements. Errors are those of SQLAlchemy.
    """

    def __init__(self, statement: Returning | PerDialect[Returning]) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}

    def on(self, connection: Connection) -> Returning:
        """Return the statement for the database of `connection`."""
        if isinstance(self._statement, PerDialect):
            return self._statement.on(connection)
        return self._statement

    def one(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """Execute the statement with these parameters, and return its one row."""
        (row,) = self.all(connection, values)
        return row

    def all(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """Execute the statement with these parameters, and return its rows."""
        if connection.dispatch.before_cursor_execute or _IS_ALLOWED not in connection.info:
            return connection.execute(self.on(connection), values).all()
        dialect = connection.dialect
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            compiled = self._compiled[dialect.name] = _compile(self.on(connection), dialect)
        given = {**compiled.fixed, **values}
        for name, convert in compiled.converted.items():
            given[name] = convert(given[name])
        order = compiled.order
        parameters = given if order is None else tuple([given[name] for name in order])
        driver: Any = connection.connection.driver_connection
        began = time.monotonic()
        try:
            # SQLite commits when all rows have been read.
            rows: list[Sequence[Any]] = driver.execute(compiled.text, parameters).fetchall()
        except BaseException as error:
            # This is how SQLAlchemy reports errors of the driver, to listeners as well.
            connection._handle_dbapi_exception(  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
                error, compiled.text, None, None, None
            )
            raise
        if time.monotonic() - began > SLOW and compiled.planned_at + PLANNED_FOR < began:
            self._compiled[dialect.name] = compiled.planned_anew(began)
        if not compiled.columns:
            return rows
        converted = [list(row) for row in rows]
        for row in converted:
            for place, convert in compiled.columns:
                row[place] = convert(row[place])
        return converted


def allow_direct(_connection: object, record: Any) -> None:
    """Let the driver execute `Direct` statements on a new connection; a listener for `connect`."""
    record.info[_IS_ALLOWED] = True


_IS_ALLOWED: Final = "horae_direct"


def _compile(statement: Returning, dialect: Dialect) -> _Compiled:
    """Return a statement as the driver of a database takes it."""
    made = statement.compile(dialect=dialect)
    binds = {made.bind_names[bind]: bind for bind in made.bind_names}
    converted = {
        name: convert
        for name, bind in binds.items()
        if (convert := bind.type.dialect_impl(dialect).bind_processor(dialect)) is not None
    }
    columns = [
        (place, convert)
        for place, column in enumerate(statement.exported_columns)
        if (convert := column.type.dialect_impl(dialect).result_processor(dialect, FLOAT8))
        is not None
    ]
    return _Compiled(
        text=str(made),
        fixed={name: bind.value for name, bind in binds.items() if bind.value is not None},
        converted=converted,
        order=None if made.positiontup is None else tuple(made.positiontup),
        columns=columns,
        # SQLite makes plans for no size of a table, so they do not grow old.
        planned_at=math.inf if dialect.name == SQLITE else -math.inf,
    )
