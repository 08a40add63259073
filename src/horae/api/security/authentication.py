"""The two built-in ways to tell who asks: a token from the settings, and being on this machine."""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.requests import HTTPConnection, Request

from horae.api.security.actor import LONGEST_ID, Actor, Authenticate, Role
from horae.api.security.origin import host_name, is_loopback, is_same_site, was_forwarded
from horae.errors import ConfigurationError
from horae.settings import Settings

COOKIE: Final = "horae_token"
SHORTEST_SECRET: Final = 16
LOCAL: Final = Actor("local", frozenset({Role.STAFF}))
WRITTEN: Final = "id:role:secret, as in alice:owner:… with the roles owner, read_only and staff, joined by +"


@dataclass(frozen=True, slots=True)
class Token:
    """Somebody, and the digest of the secret that shows it."""

    actor: Actor
    digest: bytes


class BearerTokens:
    """Knows people by a token in `Authorization: Bearer …`, or in the cookie that the session endpoint sets."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens

    def __call__(self, request: HTTPConnection) -> Actor | None:
        """Who asks."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme:
            return self.find(given.strip()) if scheme.lower() == "bearer" else None
        return self.find(request.cookies.get(COOKIE, ""))

    def find(self, secret: str) -> Actor | None:
        """Whose secret this is. Takes as long for a wrong one as for a right one."""
        digest = _digest(secret)
        found = None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token.actor
        return found


def from_this_machine(request: HTTPConnection) -> Actor | None:
    """`local`, who is staff: a peer on this machine, asking for a name of it, and no page of another site."""
    peer = None if request.client is None else request.client.host
    near = is_loopback(peer) and is_loopback(host_name(request.headers)) and not was_forwarded(request.headers)
    return LOCAL if near and is_same_site(request.headers) else None


def built_in(settings: Settings) -> Authenticate:
    """Tokens where the settings have some, and then nothing else; loopback otherwise. Raises `ConfigurationError`."""
    tokens = tokens_of(secret.get_secret_value() for secret in settings.tokens)
    if tokens:
        return BearerTokens(tokens)

    def local(request: Request) -> Actor | None:
        return from_this_machine(request)

    return local


def tokens_of(entries: Iterable[str]) -> list[Token]:
    """The tokens of the settings; raises `ConfigurationError`, which never says a secret."""
    tokens = [_token(number, entry) for number, entry in enumerate(entries, 1)]
    if len({token.digest for token in tokens}) < len(tokens):
        raise ConfigurationError("tokens (HORAE_TOKENS): two of them have the same secret")
    return tokens


def _token(number: int, entry: str) -> Token:
    name, _, rest = entry.partition(":")
    roles, _, secret = rest.partition(":")
    if not name or len(name) > LONGEST_ID or not set(roles.split("+")) <= set(Role):
        raise ConfigurationError(f"tokens (HORAE_TOKENS): number {number} is not {WRITTEN}")
    if len(secret) < SHORTEST_SECRET:
        raise ConfigurationError(
            f"tokens (HORAE_TOKENS): the secret of {name!r} is shorter than {SHORTEST_SECRET} characters"
        )
    return Token(Actor(name, frozenset(Role(role) for role in roles.split("+"))), _digest(secret))


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
