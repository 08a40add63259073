"""The tokens of the settings. It imports nothing of the web: they are checked wherever an application is made."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from horae.api.security.actor import Actor, Role
from horae.domain.names import is_id
from horae.errors import ConfigurationError

SHORTEST_SECRET: Final = 16
WRITTEN: Final = "id:role:secret, as in alice:owner:… with the roles owner, read_only and staff, joined by +"


@dataclass(frozen=True, slots=True)
class Token:
    """Somebody, and the digest of the secret that shows it."""

    actor: Actor
    digest: bytes


def tokens_of(entries: Iterable[str]) -> list[Token]:
    """The tokens of the settings; raises `ConfigurationError`, which repeats no part of any of them."""
    tokens = [_token(number, entry) for number, entry in enumerate(entries, 1)]
    if len({token.digest for token in tokens}) < len(tokens):
        raise ConfigurationError("tokens (HORAE_TOKENS): two of them have the same secret")
    return tokens


def digest_of(secret: str) -> bytes:
    """What is compared, and kept, in place of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _token(number: int, entry: str) -> Token:
    name, _, rest = entry.partition(":")
    roles, _, secret = rest.partition(":")
    if not is_id(name) or not set(roles.split("+")) <= set(Role):
        raise ConfigurationError(f"tokens (HORAE_TOKENS): number {number} is not {WRITTEN}")
    if len(secret) < SHORTEST_SECRET or not (secret.isascii() and secret.isprintable()):
        raise ConfigurationError(
            f"tokens (HORAE_TOKENS): the secret of number {number} needs at least {SHORTEST_SECRET} characters, all of "
            "them printable ASCII, as `openssl rand -hex 24` makes them"
        )
    return Token(Actor(name, frozenset(Role(role) for role in roles.split("+"))), digest_of(secret))
