"""The differences between PostgreSQL and SQLite, as small constructs that compile to both."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Generic, Self, TypeVar
from typing import cast as cast_type

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    BindParameter,
    Boolean,
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Float,
    FromClause,
    Integer,
    Select,
    Subquery,
    Text,
    and_,
    bindparam,
    cast,
    func,
    literal,
    select,
    type_coerce,
)
from sqlalchemy import column as named_column
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import BooleanClauseList
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.types import TypeDecorator, TypeEngine, UserDefinedType
from typing_extensions import override

from horae.domain.times import EPOCH, MICROSECOND
from horae.storage.engine.unreadable_rows import UNREADABLE, loads

POSTGRESQL: Final = "postgresql"
SQLITE: Final = "sqlite"
NUMBERED_ONCE: Final[Mapping[str, Any]] = {"sqlite_autoincrement": True}
"""Options of a table in which no number is used again after its row was deleted."""

S = TypeVar("S")


class PerDialect(Generic[S]):
    """A statement of which the databases need different forms.

    A statement that differs only in an expression is one statement with a construct of this module.
    """

    def __init__(self, postgresql: S, sqlite: S) -> None:
        self._forms = {POSTGRESQL: postgresql, SQLITE: sqlite}

    def on(self, connection: Connection) -> S:
        """Return the form for the database of `connection`."""
        return self._forms[connection.dialect.name]


class Instant(TypeDecorator[datetime]):
    """A moment in UTC: `timestamptz` on PostgreSQL, whole microseconds since 1970 on SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    @override
    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(
            BigInteger() if dialect.name == SQLITE else DateTime(timezone=True)
        )

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None or dialect.name != SQLITE:
            return value
        return (value - EPOCH) // MICROSECOND

    @override
    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[..., datetime | None]:
        # Not `process_result_value`, which would cost another call for each moment of each row.
        return _moment_of_microseconds if dialect.name == SQLITE else _moment_in_utc


def _moment_of_microseconds(value: Any) -> datetime | None:
    try:
        return None if value is None else EPOCH + timedelta(microseconds=value)
    except (ArithmeticError, TypeError):
        # The functions of `unreadable_rows` check for it.
        return cast_type("datetime", UNREADABLE)


def _moment_in_utc(value: Any) -> datetime | None:
    try:
        return None if value is None else value.astimezone(UTC)
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return cast_type("datetime", UNREADABLE)


class JsonPart(JSON):
    """A part of a JSON value; it can be compared with JSON, as in `params["path"] == "a.csv"`."""

    cache_ok = True

    @override
    def coerce_compared_value(self, op: OperatorType | None, value: Any) -> TypeEngine[Any]:
        if op in (operators.eq, operators.ne) and value is not None:
            return _JSON_PART
        return super().coerce_compared_value(op, value)


class JsonbPart(JsonPart, JSONB):
    """A part of a JSON value on PostgreSQL."""


_JSON_PART: Final = JsonPart().with_variant(JsonbPart(), POSTGRESQL)


class Json(UserDefinedType[Any]):
    """JSON: written as JSON text, read as Python values; `jsonb` on PostgreSQL.

    Parts of it, such as `column["key"]` and `column["key"].as_integer()`, work as with SQLAlchemy's
    own JSON type.
    """

    class JsonComparator(UserDefinedType.Comparator[Any]):
        """Supports access to parts of the value."""

        @override
        def operate(self, op: OperatorType, *other: Any, **kwargs: Any) -> ColumnElement[Any]:
            if op is operators.getitem:
                part: ColumnElement[Any] = type_coerce(self.expr, _JSON_PART)[other[0]]
                return part
            return super().operate(op, *other, **kwargs)

    comparator_factory = JsonComparator
    cache_ok = True

    @override
    def get_col_spec(self, **_: Any) -> str:
        """Return the column type for SQLite; PostgreSQL's is compiled separately."""
        return "TEXT"

    @override
    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        if dialect.name != SQLITE:  # psycopg has parsed it already
            return None
        return lambda value: None if value is None else loads(value)


@compiles(Json, POSTGRESQL)
def _jsonb(_type: Json, _compiler: SQLCompiler, **_: Any) -> str:
    return "JSONB"


_encoded: Final = json.JSONEncoder(check_circular=False).encode
"""Encodes lists of parameters, quicker than `json.dumps`, because most lists are short."""


class TextList(TypeDecorator[Sequence[str]]):
    """A list of texts as one parameter: an array on PostgreSQL, a JSON array on SQLite."""

    impl = Text
    item: TypeEngine[Any] = Text()
    cache_ok = True

    @override
    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Text() if dialect.name == SQLITE else ARRAY(self.item))

    @override
    def process_bind_param(self, value: Sequence[str] | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        return _encoded(list(value)) if dialect.name == SQLITE else list(value)


class IdList(TextList):
    """A list of whole numbers as one parameter."""

    item = BigInteger()
    cache_ok = True


class PerDatabase(FunctionElement[S]):
    """An expression that has another form on SQLite."""

    inherit_cache = True

    def __init__(self, postgresql: ColumnElement[S], sqlite: ColumnElement[S]) -> None:
        super().__init__(
            *(
                form.self_group(against=operators.and_)
                if isinstance(form, BooleanClauseList)
                else form
                for form in (postgresql, sqlite)
            )
        )
        self.type = postgresql.type

    @override
    def self_group(self, against: OperatorType | None = None) -> Any:
        # SQLAlchemy would compare a condition with 1 on SQLite, which then uses no index for it.
        return self

    @override
    def __invert__(self) -> Any:
        postgresql, sqlite = self.clauses
        return PerDatabase(~postgresql, ~sqlite)


@compiles(PerDatabase)
def _form_of(element: PerDatabase[Any], compiler: SQLCompiler, **options: Any) -> str:
    postgresql, sqlite = element.clauses
    chosen = sqlite if compiler.dialect.name == SQLITE else postgresql
    return compiler.process(chosen, **options)


def member_of(column: ColumnElement[Any], parameter: str) -> ColumnElement[bool]:
    """Return the condition that `column` is one of the values of the list parameter.

    For ids PostgreSQL always uses an index, as for `one_of`.
    """
    is_id = isinstance(column.type, Integer)
    values: BindParameter[Any] = bindparam(parameter, type_=IdList() if is_id else TextList())
    listed = select(func.json_each(values).table_valued("value").c.value)
    array = func.array(select(func.unnest(values)).scalar_subquery()) if is_id else values
    return PerDatabase(_is_any(column, array), column.in_(listed))


def one_of(column: ColumnElement[Any], keys: Select[Any]) -> ColumnElement[bool]:
    """Return the condition that the indexed `column` is one of the few keys of a subquery.

    On PostgreSQL it is an array, for which the index is always used: for a join or IN PostgreSQL
    may scan the whole table, if that was small, or was estimated to be, when the plan was made. It
    also saves a third of the server's time for a claim of 500 jobs.
    """
    return PerDatabase(_is_any(column, func.array(keys.scalar_subquery())), column.in_(keys))


def _is_any(column: ColumnElement[Any], array: ColumnElement[Any]) -> ColumnElement[bool]:
    # SQLAlchemy 2.0 negates `==` to `!=`, and most values differ from any one of several.
    return column.bool_op("=")(func.any(array))


def has_id_of(table: FromClause, batch: FromClause) -> ColumnElement[bool]:
    """Return the condition that a row has the id of a row of the batch.

    PostgreSQL always uses the primary key for it; SQLite would search a list of ids for each row.
    """
    same = table.c.id == batch.c.id
    ids = select(batch.c.id).correlate(None)
    return PerDatabase(and_(same, one_of(table.c.id, ids)), same)


def has_listed_id(column: ColumnElement[Any], other: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that `column` is the id in a batch whose ids are the parameter `ids`.

    PostgreSQL finds the rows by an index; for a join it may read the whole table. SQLite would
    compare the list with each row.
    """
    same = column == other
    return PerDatabase(and_(same, member_of(column, "ids")), same)


class _JsonRows(Subquery):
    """The rows of a JSON array: a subquery on SQLite, `recordset` on PostgreSQL."""

    inherit_cache = True
    recordset: FromClause

    @classmethod
    def of(cls, parameter: str, columns: dict[str, TypeEngine[Any]]) -> Self:
        """Return the rows of the parameter."""
        rows: BindParameter[Any] = bindparam(parameter, type_=Text())
        each = func.json_each(rows).table_valued("value").alias(f"{parameter}_each")
        fields = [
            func.json_extract(each.c.value, f"$.{name}", type_=kind).label(name)
            for name, kind in columns.items()
        ]
        made = cls._construct(select(*fields).select_from(each), name=parameter)
        typed = [named_column(name, kind) for name, kind in columns.items()]
        recordset = func.jsonb_to_recordset(cast(rows, Json())).table_valued(*typed)
        made.recordset = recordset.render_derived(name=parameter, with_types=True)
        return made


@compiles(_JsonRows, POSTGRESQL)
def _recordset(element: _JsonRows, compiler: SQLCompiler, **options: Any) -> str:
    # SQLAlchemy's warning about tables without a join is left out: it knows only the subquery.
    return compiler.process(element.recordset, **{**options, "from_linter": None})


def json_rows(parameter: str, **columns: TypeEngine[Any]) -> FromClause:
    """Return the rows of one JSON parameter, an array of objects, as a table with these columns.

    A batch is one parameter, so the text of the statement is the same for any number of rows.
    """
    return _JsonRows.of(parameter, columns)


class _SqlFunction(FunctionElement[S]):
    """A function with an SQL text for each database; `{0}` stands for its first argument."""

    postgresql: str
    sqlite: str

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls.inherit_cache = True
        super().__init_subclass__(**kwargs)


@compiles(_SqlFunction)
def _sql_function(element: _SqlFunction[Any], compiler: SQLCompiler, **options: Any) -> str:
    text = element.sqlite if compiler.dialect.name == SQLITE else element.postgresql
    return text.format(*(compiler.process(argument, **options) for argument in element.clauses))


class database_now(_SqlFunction[datetime]):
    """The database's clock; on SQLite a function of the connection, which tests can set."""

    type = Instant()
    # It is stable, so an index can be used; unlike now(), it advances within a transaction.
    postgresql = "statement_timestamp()"
    sqlite = "horae_now()"


class seconds_from_now(_SqlFunction[datetime]):
    """The database's clock plus a number of seconds, which may be negative."""

    type = Instant()
    postgresql = "(statement_timestamp() + make_interval(secs => {0}))"
    sqlite = "(horae_now() + CAST({0} * 1000000 AS INTEGER))"

    def __init__(self, seconds: ColumnElement[float] | float | str) -> None:
        """`seconds`: an expression, a number, or the name of a parameter."""
        if isinstance(seconds, str):
            seconds = bindparam(seconds, type_=Float())
        super().__init__(literal(seconds, Float()) if isinstance(seconds, int | float) else seconds)


def seconds_ago(parameter: str) -> seconds_from_now:
    """Return the database's clock minus the number of seconds that a parameter gives."""
    return seconds_from_now(-bindparam(parameter, type_=Float()))


class seconds_since(_SqlFunction[float]):
    """The seconds from a stored moment until now, by the database's clock."""

    type = Float()
    # Subtract the epochs, not the moments: an infinite moment has an epoch, but cannot be
    # subtracted.
    postgresql = "(extract(epoch FROM statement_timestamp()) - extract(epoch FROM {0}))::float8"
    sqlite = "((horae_now() - {0}) / 1000000.0)"


class now_or_later(_SqlFunction[datetime]):
    """The database's clock, but never earlier than a moment of the row, should it be set back."""

    type = Instant()
    postgresql = "greatest(statement_timestamp(), {0})"
    sqlite = "max(horae_now(), {0})"


class seconds_between(_SqlFunction[float]):
    """The seconds from the second of two stored moments to the first."""

    type = Float()
    postgresql = "(extract(epoch FROM {0}) - extract(epoch FROM {1}))::float8"
    sqlite = "(({0} - {1}) / 1000000.0)"


class seconds_after(_SqlFunction[datetime]):
    """A moment plus a number of seconds; null if either is null."""

    type = Instant()
    postgresql = "({0} + make_interval(secs => {1}))"
    sqlite = "({0} + CAST({1} * 1000000 AS INTEGER))"


class earlier_of(_SqlFunction[datetime]):
    """The earlier of two moments."""

    type = Instant()
    postgresql = "least({0}, {1})"
    sqlite = "min({0}, {1})"


class shifted(_SqlFunction[datetime]):
    """A moment, moved by the time from a third moment to a second."""

    type = Instant()
    postgresql = sqlite = "({0} + ({1} - {2}))"


class microseconds_now(_SqlFunction[int]):
    """The database's clock in whole microseconds since 1970, for arithmetic in Python."""

    type = BigInteger()
    postgresql = "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT)"
    sqlite = "horae_now()"


class microseconds_of(_SqlFunction[int]):
    """A stored moment in whole microseconds since 1970."""

    type = BigInteger()
    postgresql = "CAST(extract(epoch FROM {0}) * 1000000 AS BIGINT)"
    sqlite = "{0}"


class minute_of(_SqlFunction[datetime]):
    """The beginning of the minute of a moment."""

    type = Instant()
    postgresql = "date_trunc('minute', {0})"
    sqlite = "({0} - {0} % 60000000)"


class longer_than(_SqlFunction[bool]):
    """Whether the text of a JSON column is longer than a number of bytes."""

    type = Boolean()
    # The stored size is known without reading the value, and `jsonb` is never eight times as long
    # as its text.
    postgresql = (
        "CASE WHEN pg_column_size({0}) > 8 * CAST({1} AS BIGINT) THEN true "
        "ELSE octet_length(CAST({0} AS text)) > {1} END"
    )
    sqlite = "(length(CAST({0} AS BLOB)) > {1})"


class microseconds_before(_SqlFunction[datetime]):
    """A moment minus microseconds, never earlier than `floor`; `floor` if they are null."""

    type = Instant()
    postgresql = "greatest({0} - {1} * interval '1 microsecond', {2})"
    sqlite = "ifnull(max({0} - {1}, {2}), {2})"


class json_list(_SqlFunction[Any]):
    """The values of all rows as a JSON array."""

    type = Json()
    postgresql = "json_agg({0})"
    sqlite = "json_group_array({0})"


def json_moment(connection: Connection, moment: datetime | None) -> int | str | None:
    """Return a moment in the form that `json_rows` reads into an `Instant`."""
    if moment is None:
        return None
    is_number = connection.dialect.name == SQLITE
    return (moment - EPOCH) // MICROSECOND if is_number else moment.isoformat()


_CLOCK: Final = select(database_now())


def read_clock(connection: Connection) -> datetime:
    """Return the time of the database's clock."""
    return connection.execute(_CLOCK).scalar_one()


def keeps_rows_in_order(connection: Connection) -> bool:
    """Return whether a table is stored in the order of its ids; PostgreSQL's are in no order."""
    return connection.dialect.name == SQLITE
