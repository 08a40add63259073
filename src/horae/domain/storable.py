"""What every database can store and Python can read again: texts without a NUL, a lone surrogate or
a huge whole number, and numbers that fit their columns.
"""

import json
import re
import sys
from decimal import Decimal
from typing import Final

from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.sentences import SentenceCode

LARGEST_NUMBER: Final = 2**31 - 1
"""The largest value of an INTEGER column, such as a priority, a number of attempts or a limit."""
LARGEST_ID: Final = 2**63 - 1
"""The largest value of a BIGINT column: of the id of a job or a schedule."""
SIMPLE: Final = 2_000
"""Characters of a JSON text in which no whole number is too long to be read again."""
# An escaped NUL after an even number of backslashes; after an odd one it is the text "\u0000"
# itself.
_ESCAPED_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_EXPONENT: Final = re.compile(r"\d[eE]\+?\d")
_STRING_OR_ALTERED: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?[eE]\+?\d+|-0\.0(?![\deE])'
)


def bounded_number(
    name: str, given: object, least: int = 1, most: int = LARGEST_NUMBER, besides: str = ""
) -> int:
    """Return a whole number within bounds; `besides`: what else it may be, for the error.

    Raises `InvalidRequest`.
    """
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise InvalidRequest(
            f"{name} is {quoted(given)}, expected a whole number from {least} to {most}{besides}",
            SentenceCode.VALUE_BETWEEN,
            least=least,
            most=most,
        )
    return given


def is_storable(text: str) -> bool:
    """Return whether the text can be stored unchanged."""
    return "\x00" not in text and not _has_surrogates(text)


def has_control(text: str) -> bool:
    """Return whether the text has a character that could break a line of a log or control a
    terminal.
    """
    return _CONTROL.search(text) is not None


def escaped(text: str) -> str:
    """Return the text on one line, with control characters written as escapes."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def is_storable_json(text: str) -> bool:
    """Return whether all strings in a JSON text can be stored; it has no needless escapes."""
    if _has_surrogates(text):
        return False
    # Searching by the expression is slow, and hardly any text has this escape.
    return "\\u0000" not in text or _ESCAPED_NUL.search(text) is None


def is_simple_json(text: str, most: int) -> bool:
    """Return whether JSON that was encoded, and has no floats, can be stored as it is.

    `most`: the maximum number of bytes.
    """
    return len(text) <= SIMPLE and len(text) * 4 <= most and "\\u0000" not in text


def unreadable_json(text: str) -> str | None:
    """Return why Python would refuse to read this JSON text again (a whole number is too long), or
    None.

    One such row would make every list that contains it unreadable.
    """
    if len(text) <= sys.int_info.default_max_str_digits:
        return None
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return None


def spelled_out(text: str) -> str:
    """Write the floats in a JSON text so that every database returns the same.

    PostgreSQL would turn 1e22 into a whole number, and has no negative zero.
    """
    if "-0.0" not in text and _EXPONENT.search(text) is None:
        return text
    return _STRING_OR_ALTERED.sub(_spelled_out, text)


def fits(text: str, most: int) -> bool:
    """Return whether the text has at most `most` bytes in UTF-8."""
    return len(text) * 4 <= most or len(text.encode()) <= most


def too_long(most: int, limit: str) -> str:
    """Return the error for JSON longer than `most` bytes; the option `limit` sets this bound."""
    return f"more than {most:,} bytes of JSON; store it and pass its name, or raise {limit}"


def shortened(text: str, most: int = 20_000) -> str:
    """Return a long text's beginning and end: an error's cause may be in either."""
    if len(text) <= most:
        return text
    note = " … {:,} characters left out … "
    half = (most - len(note.format(len(text)))) // 2
    return text[:half] + note.format(len(text) - 2 * half) + text[-half:]


def storable(text: str) -> str:
    """Return the text with a replacement character for each character that cannot be stored."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _spelled_out(found: re.Match[str]) -> str:
    if found[0].startswith('"'):
        return found[0]
    if found[0] == "-0.0":
        return "0.0"
    digits = format(Decimal(found[0]), "f")
    return digits if "." in digits else f"{digits}.0"


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
