"""Amounts of memory as people write them."""

import re
from typing import Final

from horae.errors import InvalidRequest
from horae.quoting import quoted

_UNITS: Final = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}
_SIZE: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([a-z]{0,3})", re.IGNORECASE)


def parse_size(name: str, given: object) -> int:
    """Return the bytes of a text such as `500MB` or `1.5GiB`, or of a number.

    Raises `InvalidRequest`.
    """
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    found = _SIZE.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None or found[2].lower() not in _UNITS:
        raise InvalidRequest(
            f"{name} is {quoted(given)}, expected a number of bytes or a text such as 500MB or 2GiB"
        )
    return int(float(found[1]) * _UNITS[found[2].lower()])
