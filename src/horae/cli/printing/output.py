"""Prints tables for people and JSON for programs, without control characters from the database."""

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Final, TypeAlias

import typer
from pydantic_core import to_json
from rich.console import Console
from rich.table import Table
from rich.text import Text

from horae.cli.escaping import printable
from horae.sentences import in_two_units

Columns: TypeAlias = Mapping[str, str | Callable[[Any], object]]
"""The columns of a table by heading: each an attribute, a key, or a function, of an item."""

WIDE: Final = 10_000
"""Columns of a pipe: so many that no text is cut or wrapped."""

STYLES: Final[Mapping[str, str]] = {
    "started": "cyan",
    "finished": "green",
    "failed": "red",
    "cancelled": "yellow",
    "ok": "green",
    "warning": "yellow",
    "problem": "red",
    "alive": "green",
    "dead": "red",
    "paused": "yellow",
}


def console() -> Console:
    """Return a console for the current stdout, a terminal or a pipe."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else WIDE)


def print_json(value: Any) -> None:
    """Print one line of JSON, which is UTF-8 whatever the encoding of the terminal."""
    typer.echo(to_json(value, inf_nan_mode="null", fallback=str))


def print_table(columns: Columns, items: Iterable[Any], *, empty: str = "") -> None:
    """Print a row for each item, or the text `empty` without items."""
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for item in items:
        table.add_row(*(cell(_value_of(item, column)) for column in columns.values()))
    console().print(table if table.row_count else Text(empty))


def _value_of(item: Any, column: str | Callable[[Any], object]) -> object:
    if not isinstance(column, str):
        return column(item)
    return item[column] if isinstance(item, dict) else attrgetter(column)(item)


def print_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one per line; leave out empty values."""
    table = Table.grid(padding=(0, 2))
    for name, value in fields:
        if value is not None and value != "":
            table.add_row(Text(name, style="bold"), cell(value))
    console().print(table)


def cell(value: object) -> Text:
    """Return a value in the form of a table's cell."""
    if isinstance(value, datetime):
        value = local_time(value)
    elif isinstance(value, timedelta):
        value = brief(value)
    text = "" if value is None else printable(str(value))
    return Text(text, style=STYLES.get(text, ""))


def local_time(moment: datetime) -> str:
    """Return a time in the time zone of this machine."""
    return moment.astimezone().isoformat(sep=" ", timespec="seconds")


def brief(length: timedelta | float | None) -> str:
    """Return a rounded duration: `850ms`, `12s`, `3m 20s`, `5h 12m`, `4d 3h`."""
    if length is None:
        return ""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f}ms"
    return in_two_units(seconds, "dhms")
