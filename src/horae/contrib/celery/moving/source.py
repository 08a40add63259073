"""Python source of values: names, literals, durations and exceptions."""

import ast
import json
import keyword
import re
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any


def identifier(short: str, whole: str, taken: Collection[str]) -> str:
    """Return a name for a function: the short one, or the whole one if that is taken.

    It is numbered if both are.
    """
    short, whole = _as_identifier(short), _as_identifier(whole)
    for wanted in (short, whole):
        if wanted not in taken:
            return wanted
    return next(each for n in range(2, len(taken) + 3) if (each := f"{whole}_{n}") not in taken)


def _as_identifier(text: str) -> str:
    plain = re.sub(r"\W+", "_", text).strip("_") or "task"
    plain = f"_{plain}" if plain[0].isdigit() else plain
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def text(value: str) -> str:
    """Return a text as a literal in double quotes."""
    return json.dumps(value, ensure_ascii=False)


def literal(value: Any) -> str | None:
    """Return a value of JSON as Python source, or None if it is something else."""
    try:
        source = text(value) if isinstance(value, str) else repr(value)
        if ast.literal_eval(source) == value and json.loads(json.dumps(value)) == value:
            return source
    except (ValueError, TypeError, SyntaxError, RecursionError):
        pass
    return None


def duration(value: Any) -> str | None:
    """Return seconds or a timedelta as the text of a duration, in quotes; None if it is neither."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            value = timedelta(seconds=value)
        except (OverflowError, ValueError):
            return None
    if not isinstance(value, timedelta) or value < timedelta(0):
        return None
    seconds = value.total_seconds()
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f'"{int(seconds // length)}{unit}"'
    return f'"{seconds:.6f}'.rstrip("0").rstrip(".") + 's"'


def exceptions(classes: Iterable[Any], imports: set[str]) -> str:
    """Return a tuple of exception classes as source, and add the imports that it needs."""
    names: list[str] = []
    for each in classes:
        if each.__module__ == "builtins":
            names.append(each.__name__)
        else:
            imports.add(f"import {each.__module__}")
            names.append(f"{each.__module__}.{each.__qualname__}")
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"
