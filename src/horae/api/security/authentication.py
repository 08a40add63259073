"""Built-in authentication: a configured token, a browser session, or (if allowed) this machine."""

import hmac
from typing import Final

from starlette.requests import HTTPConnection

from horae.api.security.actor import Actor, Role
from horae.api.security.link import OneTimeLink
from horae.api.security.login_throttle import LoginThrottle
from horae.api.security.origin import host_name, is_loopback, is_same_site, was_forwarded
from horae.api.security.sessions import Sessions
from horae.api.security.tokens import digest_of, tokens_of
from horae.settings import Settings
from horae.storage.engine import Database

LOCAL: Final = Actor("local", frozenset({Role.STAFF}))
OF_LINK: Final = digest_of("the one-time link").hex()
"""The value stored instead of a token's hash in a session that began with the login link."""


class BuiltIn:
    """Identifies users by a token in `Authorization: Bearer …`, or by a browser session."""

    def __init__(self, settings: Settings, database: Database) -> None:
        """Raises `ConfigurationError`."""
        self.tokens = tokens_of(token.get_secret_value() for token in settings.tokens)
        self.link, self.throttle, self.sessions = OneTimeLink(), LoginThrottle(), Sessions(database)
        self._local_staff = settings.local_staff

    @property
    def is_by_link(self) -> bool:
        """Whether the one-time login link is the only way to log in."""
        return not self.tokens and not self._local_staff

    async def __call__(self, request: HTTPConnection) -> Actor | None:
        """Identify the user of a request."""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() != "bearer":
                return None
            found = self.find(secret.strip())
            if found is None:
                await self.throttle.wrong(address_of(request))
            return found
        if token_hash := await self.sessions.token_of(request):
            # A session is invalid once its token was removed.
            actors = {token.digest.hex(): token.actor for token in self.tokens} or {OF_LINK: LOCAL}
            if token_hash in actors:
                return actors[token_hash]
        return from_this_machine(request) if self._local_staff else None

    def find(self, secret: str) -> Actor | None:
        """Return the owner of a secret, in constant time for valid and invalid ones."""
        digest = digest_of(secret)
        found = None
        for token in self.tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token.actor
        return found


def address_of(request: HTTPConnection) -> str:
    """Return the origin of a request, as far as known."""
    return "somewhere" if request.client is None else request.client.host


def from_this_machine(request: HTTPConnection) -> Actor | None:
    """Return the staff actor `local` for a same-site request from this machine to a local name."""
    peer = None if request.client is None else request.client.host
    near = (
        is_loopback(peer)
        and is_loopback(host_name(request.headers))
        and not was_forwarded(request.headers)
    )
    return LOCAL if near and is_same_site(request.headers) else None
