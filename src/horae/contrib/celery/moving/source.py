"""Python source of values: names, literals, durations and exceptions."""

import ast
import json
import keyword
import re
import sys
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any, Final

LONGEST_FUNCTION: Final = 80
"""Characters of a function's name, which is also that of its job type without another one."""


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
    plain = re.sub(r"\W+", "_", text).strip("_")[:LONGEST_FUNCTION] or "task"
    plain = plain if plain.isidentifier() else f"_{plain}"
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def is_name(given: str) -> bool:
    """Return whether a text can be the name of an argument."""
    return given.isidentifier() and not keyword.iskeyword(given)


def text(value: str) -> str:
    """Return a text as a literal, in double quotes if its characters can be shown."""
    return json.dumps(value, ensure_ascii=False) if value.isprintable() else ascii(value)


def in_one_line(value: str) -> str:
    """Return a text for a comment or a docstring of one line, without what cannot be shown."""
    return " ".join("".join(each if each.isprintable() else " " for each in value).split())


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


def _named(given: Any) -> Any:
    """Return what the module of a class has by its name."""
    found: Any = sys.modules.get(given.__module__)
    for name in given.__qualname__.split("."):
        found = getattr(found, name, None)
    return found


def exceptions(classes: Iterable[Any], imports: set[str], notes: list[str]) -> str:
    """Return a tuple of exception classes as source, and add the imports that it needs.

    `notes` get those that cannot be imported.
    """
    names: list[str] = []
    for each in classes:
        if each.__module__ == "builtins":
            names.append(each.__name__)
        elif _named(each) is not each:
            notes.append(f"{each.__qualname__} is no name of {each.__module__}: add it here.")
        else:
            imports.add(f"import {each.__module__}")
            names.append(f"{each.__module__}.{each.__qualname__}")
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"
