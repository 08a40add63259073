"""Unreadable rows: they are left out and reported, so that the other rows stay readable.

A value may be out of Python's range (a moment in the year 294276, a number of 5,000 digits) or of
another type than the column, which SQLite allows. It is loaded as `UNREADABLE`, and the functions
here leave out its row.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any, Final, TypeVar

from sqlalchemy import ColumnElement, Float, Integer, String
from typing_extensions import override

from horae.errors import UnreadableRow
from horae.guarded_log import guarded_log

T = TypeVar("T")
MOST_REMEMBERED: Final = 10_000
"""Maximum number of unreadable rows that are reported; more would only fill memory and the log."""
ROW_ERRORS: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The errors that reading the values of a damaged row may raise, or of one of another version; JSON
that is nested too deeply raises a `RecursionError`.
"""
_KEYS: Final = ("id", "job_id", "schedule_id", "key", "name")
log = guarded_log("horae.storage")


class Unreadable:
    """A value that is not null and could not be loaded."""


UNREADABLE: Final = Unreadable()
_remembered: Final[dict[tuple[str, str], str]] = {}
_seen_at: Final[dict[tuple[str, str], float]] = {}
_lock: Final = threading.Lock()


def readable(table: str, rows: Iterable[Any], make: Callable[[Any], T]) -> list[T]:
    """Convert the readable rows; unreadable ones are logged once, and listed by `doctor`."""
    found: list[T] = []
    for row in rows:
        try:
            found.append(check_row(row, make))
        except ROW_ERRORS as error:
            _remember(table, _key(row), str(error))
    return found


def readable_page(
    table: str,
    fetch: Callable[[Any], Sequence[Any]],
    make: Callable[[Any], T],
    *,
    start: Any,
    place: Callable[[Any], Any],
    limit: int | None,
) -> list[T]:
    """Return a full page of readable rows; `fetch` reads rows after the `place` of another."""
    found: list[T] = []
    while True:
        rows = fetch(start)
        found += readable(table, rows, make)
        if limit is None or len(rows) < limit or len(found) >= limit:
            return found[:limit]
        places = [at for row in rows if (at := place(row)) is not UNREADABLE]
        if not places:
            return found
        start = places[-1]


def read(table: str, row: Any, make: Callable[[Any], T]) -> T:
    """Convert one row; raises `UnreadableRow`."""
    try:
        return check_row(row, make)
    except ROW_ERRORS as error:
        _remember(table, _key(row), str(error))
        raise UnreadableRow(table, _key(row), str(error)) from error


def check_row(row: Any, make: Callable[[Any], T]) -> T:
    """Convert a row; raises ValueError for a value that was not loaded, or what `make` raises."""
    values = row.values() if isinstance(row, Mapping) else row
    if any(value is UNREADABLE for value in values):
        raise ValueError("a moment or a number in it is beyond what can be read")
    return make(row)


def kinds_of(columns: Iterable[ColumnElement[Any]]) -> dict[str, tuple[type, ...]]:
    """Return the types that texts and numbers of these columns have in Python."""
    return {
        # An integer in a column of floats is fine, and one in a column of texts becomes a text.
        str(column.key): (column.type.python_type, int, NoneType)
        for column in columns
        if isinstance(column.type, Float | Integer | String)
    }


def check_kinds(values: Any, kinds: Mapping[str, tuple[type, ...]]) -> None:
    """Raise ValueError for a value of another type: SQLite stores any type in any column."""
    for name, kind in kinds.items():
        if not isinstance(values[name], kind):
            # `readable` treats a ValueError as a damaged row.
            raise ValueError(f"its {name} is a {type(values[name]).__name__}")  # noqa: TRY004


def row_reader(
    make: Callable[..., T], columns: Iterable[ColumnElement[Any]]
) -> Callable[[Mapping[str, Any]], T]:
    """Return a function that calls `make` with the values of a row, or raises ValueError."""
    kinds = kinds_of(columns)

    def read_row(row: Mapping[str, Any]) -> T:
        check_kinds(row, kinds)
        return make(**row)

    return read_row


def count_by_table() -> Mapping[str, int]:
    """Return the number of unreadable rows that this process has found in each table."""
    with _lock:
        return Counter(table for table, _ in _remembered)


def count_lately(seconds: float) -> Mapping[str, int]:
    """Return the number of unreadable rows that this process has seen in the last `seconds`, in
    each table: a row that was repaired is not seen again.
    """
    since = time.monotonic() - seconds
    with _lock:
        return Counter(table for (table, _), seen_at in _seen_at.items() if seen_at >= since)


def list_all() -> Mapping[tuple[str, str], str]:
    """Return the reason by the table and key of each unreadable row that this process has found."""
    with _lock:
        return dict(_remembered)


def clear() -> None:
    """Forget the rows found so far; `doctor` does so before it checks all tables."""
    with _lock:
        _remembered.clear()
        _seen_at.clear()


def loads(text: str | bytes) -> Any:
    """Parse JSON; return `UNREADABLE` for what Python refuses to parse."""
    try:
        return json.loads(text)
    except (RecursionError, TypeError, ValueError):
        return UNREADABLE


def decode_tolerantly(connection: Any, _record: object = None) -> None:
    """Make a sqlite3 connection replace what is no UTF-8 instead of failing the whole result."""
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")


def load_tolerantly(connection: Any, _record: object = None) -> None:
    """Make a psycopg connection load `UNREADABLE` instead of failing the whole result."""
    from psycopg import DataError
    from psycopg.abc import Buffer
    from psycopg.adapt import Loader
    from psycopg.pq import Format
    from psycopg.types.json import set_json_loads

    oid = connection.adapters.types["timestamptz"].oid
    usual: Any = connection.adapters.get_loader(oid, Format.TEXT)

    class MomentLoader(Loader):
        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            self._load = usual(oid, context).load

        @override
        def load(self, data: Buffer) -> Any:
            try:
                return self._load(data)
            except DataError:
                return UNREADABLE

    connection.adapters.register_loader(oid, MomentLoader)
    set_json_loads(loads, connection)


def _key(row: Any) -> str:
    values = row if isinstance(row, Mapping) else row._asdict()
    return next((str(values[name]) for name in _KEYS if name in values), "?")


def _remember(table: str, key: str, why: str) -> None:
    with _lock:
        is_known = (table, key) in _remembered
        if not is_known and len(_remembered) >= MOST_REMEMBERED:
            return
        _seen_at[table, key] = time.monotonic()
        if is_known:
            return
        _remembered[table, key] = why
    log.warning(
        "row %s of %s cannot be read and is left out: %s; `horae doctor` lists such rows",
        key,
        table,
        why,
    )
