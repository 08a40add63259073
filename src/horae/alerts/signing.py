"""The signature of a webhook: HMAC-SHA256 of the moment and the body, with a shared secret.

The moment is a part of what is signed, so that a request that was recorded cannot be sent again
later.
"""

import hashlib
import hmac
import time
from typing import Final

from horae.domain.times import Duration, parse_duration
from horae.errors import InvalidRequest

HEADER: Final = "Horae-Signature"
VERSION: Final = "v1"
SHORTEST_SECRET: Final = 16
"""Minimum length of a secret in characters."""


def sign(secret: str, body: bytes, moment: int) -> str:
    """Return the value of the header; `moment`: in whole seconds since 1970."""
    return f"t={moment},{VERSION}={_digest(secret, body, moment)}"


def verify(
    secret: str,
    body: bytes,
    header: str | None,
    *,
    tolerance: Duration = "5m",
    now: float | None = None,
) -> bool:
    """Return whether a webhook was signed with this secret, lately: for whoever receives it.

    `body`: as it was received; `header`: that of the name `Horae-Signature`; `tolerance`: the
    maximum age; `now`: in seconds since 1970, by default the time of this machine.
    """
    moment, signatures = None, []
    for part in (header or "").split(","):
        name, _, value = part.strip().partition("=")
        if name == "t" and value.isascii() and value.isdecimal():
            moment = int(value[:15])
        elif name == VERSION:
            signatures.append(value)
    if moment is None:
        return False
    age = (time.time() if now is None else now) - moment
    if abs(age) > parse_duration("tolerance", tolerance).total_seconds():
        return False
    expected = _digest(secret, body, moment).encode()
    return any(hmac.compare_digest(expected, each.encode()) for each in signatures)


def check_secret(secret: str) -> str:
    """Return a secret. Raises `InvalidRequest` for one that could be guessed."""
    if len(secret) < SHORTEST_SECRET:
        raise InvalidRequest(
            f"the secret of a webhook has {len(secret)} characters, expected at least"
            f" {SHORTEST_SECRET}; make one with `openssl rand -hex 32`"
        )
    return secret


def _digest(secret: str, body: bytes, moment: int) -> str:
    return hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
