"""Which texts every database stores, and Python reads again: no NUL, no half of a surrogate pair, no endless number."""

import json
import re
import sys
from decimal import Decimal
from typing import Final

# An escaped NUL after an even number of backslashes; after an odd one it is the text "\u0000" itself.
_ESCAPED_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_EXPONENT: Final = re.compile(r"\d[eE]\+?\d")
_STRING_OR_EXPONENT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?[eE]\+?\d+')
LONGEST_TEXT: Final = 20_000


def is_storable(text: str) -> bool:
    """Whether the text can be stored as it is."""
    return "\x00" not in text and not _has_surrogates(text)


def has_control(text: str) -> bool:
    """Whether it could break a line of a log, or steer a terminal."""
    return _CONTROL.search(text) is not None


def escaped(text: str) -> str:
    """The text on one line, with what would steer a terminal spelled out."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def is_storable_json(text: str) -> bool:
    """Whether JSON text, with nothing escaped but what must be, holds only strings that can be stored."""
    return not _has_surrogates(text) and _ESCAPED_NUL.search(text) is None


def unreadable_json(text: str) -> str | None:
    """Why Python would refuse to read this JSON text again, and every list with it: a whole number that is too long."""
    if len(text) <= sys.int_info.default_max_str_digits:
        return None
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return None


def spelled_out(text: str) -> str:
    """JSON text in which large floats have all their digits, for of 1e22 PostgreSQL makes a whole number."""
    return text if _EXPONENT.search(text) is None else _STRING_OR_EXPONENT.sub(_spelled_out, text)


def fits(text: str, most: int) -> bool:
    """Whether a text has at most so many bytes."""
    return len(text) * 4 <= most or len(text.encode()) <= most


def too_long(most: int, limit: str) -> str:
    """What to say of JSON that does not fit."""
    return f"more than {most:,} bytes of JSON; store it and pass its name, or raise {limit}"


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """The text, or its beginning and its end: what went wrong may stand at either."""
    if len(text) <= most:
        return text
    note = " … {:,} characters left out … "
    half = (most - len(note.format(len(text)))) // 2
    return text[:half] + note.format(len(text) - 2 * half) + text[-half:]


def storable(text: str) -> str:
    """The text with a mark in place of what cannot be stored."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _spelled_out(found: re.Match[str]) -> str:
    if found[0].startswith('"'):
        return found[0]
    digits = format(Decimal(found[0]), "f")
    return digits if "." in digits else f"{digits}.0"


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
