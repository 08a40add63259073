"""Rows that cannot be read: left out and named, so that one of them keeps nobody from the others.

A value may be beyond what Python knows (a moment in the year 294276, a number of 5,000 digits), or something else than
the column says, which SQLite allows. Loading it gives `UNREADABLE` in its place, and whoever makes values of rows
leaves out the row.
"""

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from typing_extensions import override

from horae.errors import UnreadableRow

T = TypeVar("T")
MOST_NAMED: Final = 10_000
_KEYS: Final = ("id", "job_id", "schedule_id", "key", "name")
log = logging.getLogger("horae.storage")


class Unreadable:
    """A value that was there and could not be loaded."""


UNREADABLE: Final = Unreadable()
_named: Final[dict[tuple[str, str], str]] = {}
_naming: Final = threading.Lock()


def readable(table: str, rows: Iterable[Any], make: Callable[[Any], T]) -> list[T]:
    """What is made of the rows that can be read; the others are named in the log, once, and by `doctor`."""
    found: list[T] = []
    for row in rows:
        try:
            found.append(checked(row, make))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            _name(table, _key(row), str(error))
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
    """A page as full as if those that cannot be read were not there; `fetch` reads rows behind a place."""
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
    """What is made of one row; raises `UnreadableRow`."""
    try:
        return checked(row, make)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        _name(table, _key(row), str(error))
        raise UnreadableRow(table, _key(row), str(error)) from error


def checked(row: Any, make: Callable[[Any], T]) -> T:
    """What is made of a row in which every value was loaded; raises ValueError, or what `make` raises."""
    values = row.values() if isinstance(row, Mapping) else row
    if any(value is UNREADABLE for value in values):
        raise ValueError("a moment or a number in it is beyond what can be read")
    return make(row)


def counts() -> Mapping[str, int]:
    """How many such rows of each table this process has come upon."""
    with _naming:
        return Counter(table for table, _ in _named)


def named() -> Mapping[tuple[str, str], str]:
    """Table and key of each such row, and what is wrong with it."""
    with _naming:
        return dict(_named)


def forget() -> None:
    """Begin to name anew, as `doctor` does before it looks."""
    with _naming:
        _named.clear()


def loads(text: str | bytes) -> Any:
    """JSON, or `UNREADABLE` for what Python refuses to read."""
    try:
        return json.loads(text)
    except (RecursionError, TypeError, ValueError):
        return UNREADABLE


def tolerate(connection: Any) -> None:
    """Let a connection of psycopg load `UNREADABLE` where it would raise, and fail a whole list."""
    from psycopg import DataError  # noqa: PLC0415 - an extra
    from psycopg.abc import Buffer  # noqa: PLC0415
    from psycopg.adapt import Loader  # noqa: PLC0415
    from psycopg.pq import Format  # noqa: PLC0415
    from psycopg.types.json import set_json_loads  # noqa: PLC0415

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
    values = row if isinstance(row, Mapping) else row._mapping  # noqa: SLF001 - the public name of a Row's mapping
    return next((str(values[name]) for name in _KEYS if name in values), "?")


def _name(table: str, key: str, why: str) -> None:
    with _naming:
        if (table, key) in _named or len(_named) >= MOST_NAMED:
            return
        _named[table, key] = why
    log.warning("row %s of %s cannot be read, and is left out: %s; `horae doctor` names such rows", key, table, why)
