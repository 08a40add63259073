"""The two built-in ways to tell who asks: a token from the settings, and being on this machine."""

import hmac
from collections.abc import Sequence
from typing import Final

from starlette.requests import HTTPConnection, Request

from horae.api.security.actor import Actor, Authenticate, Role
from horae.api.security.origin import host_name, is_loopback, is_same_site, was_forwarded
from horae.api.security.tokens import Token, digest_of, tokens_of
from horae.settings import Settings

COOKIE: Final = "horae_token"
LOCAL: Final = Actor("local", frozenset({Role.STAFF}))


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
        digest = digest_of(secret)
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
