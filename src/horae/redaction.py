"""Removes values and passwords from the texts of errors, URLs and settings.

Pydantic repeats the input that it refuses, SQLAlchemy the parameters of a statement, PostgreSQL the
row that failed. All of these may be secret, and error texts end up in tables, responses and logs.
"""

import json
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Final

from pydantic import ValidationError

from horae.quoting import written_by

HIDDEN: Final = "***"
"""The text that replaces a password in a URL."""
MASK: Final = "••••••"
"""The text that replaces a secret parameter."""
SHORTEST_SECRET: Final = 4
"""Minimum length of a secret that is searched for in texts: a shorter one may be part of words."""
UNREADABLE: Final = "(its text cannot be read)"
"""What stands for the text of an error that raises where it is to be written."""
MOST_FRAMES: Final = 1_000
"""Maximum number of frames of a traceback that are written: Python's usual limit of recursion."""
_CHAIN: Final = 50
"""Maximum number of errors that are followed from cause to cause."""

_USER_INFO: Final = re.compile(r"(://[^:/?#@\s]*):([^\s]*)@")
_QUERY: Final = re.compile(
    r"([?&;][^=&;\s]*(?:pass|pwd|secret|token|key)[^=&;\s]*=)[^&;\s]*", re.IGNORECASE
)
_INPUT: Final = re.compile(r"\[type=(\w+), input_value=.*")


def shown_url(url: str) -> str:
    """Return a URL, even a malformed one, without passwords, also in its query."""
    return _QUERY.sub(rf"\1{HIDDEN}", _USER_INFO.sub(rf"\1:{HIDDEN}@", url))


def hidden_urls(text: str) -> str:
    """Return a text without the passwords of the URLs in it."""
    return shown_url(text) if "://" in text else text


def cleaner(
    secrets: Iterable[str] = (), error: BaseException | None = None
) -> Callable[[str], str]:
    """Return a function that removes from texts these secrets, and the values that an error and its
    causes repeat.
    """
    errors = () if error is None else _chain(error)
    replacements = [pair for each in errors for pair in _replacements(each)]
    known = {secret for _, secret in zip(range(200), secrets, strict=False)}
    known |= {written(secret)[1:-1] for secret in known for written in (repr, ascii, json.dumps)}
    # Longer ones first, because one may contain another.
    in_order = sorted(known, key=len, reverse=True)
    replacements += [(each, MASK) for each in in_order if len(each) >= SHORTEST_SECRET]

    def clean(text: str) -> str:
        for found, instead in replacements:
            text = text.replace(found, instead)
        return text

    return clean


def error_text(error: BaseException) -> str:
    """Return the type and the text of an error, without values."""
    return cleaner(error=error)(f"{type(error).__name__}: {text_of(error)}")


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an error and its causes, without values."""
    return cleaner(error=error)(formatted(error, error.__traceback__))


def formatted(error: BaseException, frames: TracebackType | None) -> str:
    """Return the text of an error and its causes, each with its innermost frames.

    A body may raise the limit of recursion: a million frames would take half a minute, during which
    nothing else runs in the process.
    """
    return "".join(traceback.format_exception(type(error), error, frames, limit=-MOST_FRAMES))


def text_of(error: BaseException) -> str:
    """Return the text of an error, even if its `__str__` raises."""
    return written_by(str, error, UNREADABLE)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, its causes, and the members of exception groups."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _CHAIN:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        members: Sequence[BaseException] = (
            each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        )
        waiting += [
            other for other in (each.__cause__, each.__context__, *members) if other is not None
        ]


def _replacements(error: BaseException) -> Iterator[tuple[str, str]]:
    """Yield what to replace, line by line, because a traceback may indent the lines."""
    lines = text_of(error).splitlines()
    if isinstance(error, ValidationError):
        yield from (
            (found[0], f"[type={found[1]}]")
            for line in lines
            if (found := _INPUT.search(line)) is not None
        )
    if hasattr(error, "hide_parameters"):  # SQLAlchemy raised it, for any engine
        yield from (
            (line, "[parameters are hidden]") for line in lines if line.startswith("[parameters: ")
        )
    detail = getattr(getattr(error, "diag", None), "message_detail", None)  # set by PostgreSQL
    if isinstance(detail, str):
        yield from (
            (line, "(hidden)") for line in detail.splitlines() if len(line) >= SHORTEST_SECRET
        )
