"""What must not be said: one place that takes values and passwords out of errors, URLs and settings.

Pydantic repeats the input that it refuses, SQLAlchemy the parameters of a statement, PostgreSQL the row that failed.
All of that may be secret, and an error ends in tables, answers and logs.
"""

import json
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pydantic import ValidationError

HIDDEN: Final = "***"
MASK: Final = "••••••"
SHORTEST_SECRET: Final = 4
"""Characters of a secret that is looked for in texts: a shorter one is part of any word."""
MOST_SECRETS: Final = 200
_CHAIN: Final = 50
"""Errors that are followed from cause to cause."""

_USER_INFO: Final = re.compile(r"(://[^:/?#@\s]*):([^\s]*)@")
_QUERY: Final = re.compile(r"([?&;][^=&;\s]*(?:pass|pwd|secret|token|key)[^=&;\s]*=)[^&;\s]*", re.IGNORECASE)
_INPUT: Final = re.compile(r"\[type=(\w+), input_value=.*")


def shown_url(url: str) -> str:
    """A URL, also a malformed one, without the passwords in it and in its query."""
    return _QUERY.sub(rf"\1{HIDDEN}", _USER_INFO.sub(rf"\1:{HIDDEN}@", url))


def error_text(error: BaseException) -> str:
    """The type and the text of an error, without values."""
    return Redactor(error).clean(f"{type(error).__name__}: {text_of(error)}")


def traceback_text(error: BaseException) -> str:
    """The traceback of an error and of its causes, without values."""
    return Redactor(error).clean("".join(traceback.format_exception(error)))


def text_of(error: BaseException) -> str:
    """The text of an error as it is; a broken `__str__` must not hide the error."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever it raises
        return "(its text cannot be read)"


class Redactor:
    """Takes out of texts about an error what that error and its causes repeat, and secrets that are known."""

    def __init__(self, error: BaseException, secrets: Iterable[str] = ()) -> None:
        self._replacements = [pair for each in _chain(error) for pair in _replacements(each)]
        self._replacements += [(secret, MASK) for secret in _as_shown(secrets)]

    def clean(self, text: str) -> str:
        """The text without them."""
        for found, instead in self._replacements:
            text = text.replace(found, instead)
        return text


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, its causes, and the members of groups."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _CHAIN:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        members: Sequence[BaseException] = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        waiting += [other for other in (each.__cause__, each.__context__, *members) if other is not None]


def _replacements(error: BaseException) -> Iterator[tuple[str, str]]:
    """Line by line, as a traceback may indent them."""
    lines = text_of(error).splitlines()
    if isinstance(error, ValidationError):
        yield from ((found[0], f"[type={found[1]}]") for line in lines if (found := _INPUT.search(line)) is not None)
    if hasattr(error, "hide_parameters"):  # an error of SQLAlchemy, whose engine may be anybody's
        yield from ((line, "[parameters are hidden]") for line in lines if line.startswith("[parameters: "))
    detail = getattr(getattr(error, "diag", None), "message_detail", None)  # an error of PostgreSQL
    if isinstance(detail, str):
        yield from ((line, "(hidden)") for line in detail.splitlines() if len(line) >= SHORTEST_SECRET)


def _as_shown(secrets: Iterable[str]) -> list[str]:
    """The secrets as they are and as `repr` and JSON write them; the longest first, as one may be within another."""
    known = {secret for _, secret in zip(range(MOST_SECRETS), secrets, strict=False)}
    known |= {written(secret)[1:-1] for secret in known for written in (repr, ascii, json.dumps)}
    return sorted((secret for secret in known if len(secret) >= SHORTEST_SECRET), key=len, reverse=True)
