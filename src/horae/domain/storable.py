"""Which texts every database stores, and Python reads again: no NUL, no half of a surrogate pair, no endless number."""

import json
import re
import sys
from typing import Final

# An escaped NUL after an even number of backslashes; after an odd one it is the text "\u0000" itself.
_ESCAPED_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def is_storable(text: str) -> bool:
    """Whether the text can be stored as it is."""
    return "\x00" not in text and not _has_surrogates(text)


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


def storable(text: str) -> str:
    """The text with a mark in place of what cannot be stored."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
