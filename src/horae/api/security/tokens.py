"""The configured tokens. Imports no web framework, because every application checks its tokens."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from horae.api.security.actor import Actor, Role
from horae.domain.names import is_id
from horae.errors import ConfigurationError

SHORTEST_SECRET: Final = 16
"""Minimum number of characters of a secret; shorter ones could be guessed."""
FORM: Final = (
    "id:role:secret, such as alice:owner:…; roles are owner, viewer, read_only, staff, joined by +"
)


@dataclass(frozen=True, slots=True)
class Token:
    """An actor, and the digest of its secret."""

    actor: Actor
    digest: bytes


def tokens_of(entries: Iterable[str]) -> list[Token]:
    """Parse the configured tokens; the text of a `ConfigurationError` contains no part of them."""
    tokens: list[Token] = []
    for number, entry in enumerate(entries, 1):
        name, _, rest = entry.partition(":")
        roles, _, secret = rest.partition(":")
        if not is_id(name) or not set(roles.split("+")) <= set(Role):
            raise ConfigurationError(f"tokens (HORAE_TOKENS): number {number} is not {FORM}")
        if len(secret) < SHORTEST_SECRET or not (secret.isascii() and secret.isprintable()):
            raise ConfigurationError(
                f"tokens (HORAE_TOKENS): the secret of number {number} needs at least"
                f" {SHORTEST_SECRET} characters, all of them printable ASCII, as `openssl rand -hex"
                " 24` makes them"
            )
        actor = Actor(name, frozenset(Role(role) for role in roles.split("+")))
        tokens.append(Token(actor, digest_of(secret)))
    if len({token.digest for token in tokens}) < len(tokens):
        raise ConfigurationError("tokens (HORAE_TOKENS): two of them have the same secret")
    return tokens


def digest_of(secret: str) -> bytes:
    """Return the digest that is compared and stored in place of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
