"""Built-in authentication: a token of the settings, a browser session, or by explicit choice this
machine.
"""

import hmac
from collections.abc import Callable
from functools import partial
from typing import Final

from starlette.requests import HTTPConnection

from horae.api.security.actor import Actor, Role
from horae.api.security.link import OneTimeLink
from horae.api.security.login_throttle import LoginThrottle
from horae.api.security.origin import host_name, is_loopback, is_same_site, was_forwarded
from horae.api.security.sessions import Place, Sessions
from horae.api.security.tokens import digest_of, tokens_of
from horae.settings import Settings
from horae.storage.engine.database import Database

LOCAL: Final = Actor("local", frozenset({Role.STAFF}))
OF_LINK: Final = digest_of("the one-time link").hex()
"""Stored in place of a token's hash in a session that began with the login link."""


class BuiltIn:
    """Identifies users by a token in `Authorization: Bearer …`, or by a browser session."""

    def __init__(self, settings: Settings, database: Database) -> None:
        """Raises `ConfigurationError`."""
        self.tokens = tokens_of(token.get_secret_value() for token in settings.tokens)
        self.link, self.throttle = OneTimeLink(), LoginThrottle()
        self._sessions, self._database = Sessions(database), database
        self._local_staff = settings.local_staff

    @property
    def is_by_link(self) -> bool:
        """Whether the one-time login link is the only way to log in."""
        return not self.tokens and not self._local_staff

    async def __call__(self, request: HTTPConnection) -> Actor | None:
        """Identify the user of a request."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme:
            return (
                await self._by_header(request, given.strip())
                if scheme.lower() == "bearer"
                else None
            )
        place = Place.of(request)
        if key := request.cookies.get(place.cookie):
            token_hash = await self._database.in_thread(
                partial(self._sessions.token_of, place, key)
            )
            if token_hash is not None and (actor := self._actors().get(token_hash)) is not None:
                return actor
        return from_this_machine(request) if self._local_staff else None

    def find(self, secret: str) -> Actor | None:
        """Return the owner of a secret, in constant time for valid and invalid ones."""
        digest = digest_of(secret)
        found = None
        for token in self.tokens:
            if hmac.compare_digest(token.digest, digest):
                found = token.actor
        return found

    async def begin(self, place: Place, secret: str | None = None) -> str:
        """Start a session for a secret or the login link; return the key for the cookie."""
        token_hash = OF_LINK if secret is None else digest_of(secret).hex()
        begin: Callable[[], str] = partial(self._sessions.begin, place, token_hash)
        return await self._database.in_thread(begin)

    async def end(self, request: HTTPConnection) -> None:
        """End the session of this browser. Idempotent."""
        place = Place.of(request)
        if key := request.cookies.get(place.cookie):
            await self._database.in_thread(partial(self._sessions.end, place, key))

    async def _by_header(self, request: HTTPConnection, secret: str) -> Actor | None:
        found = self.find(secret)
        if found is None:
            await self.throttle.wrong(address_of(request))
        return found

    def _actors(self) -> dict[str, Actor]:
        """The actors of valid sessions by hash; sessions of a removed token are invalid."""
        if not self.tokens:
            return {OF_LINK: LOCAL}
        return {token.digest.hex(): token.actor for token in self.tokens}


def address_of(request: HTTPConnection) -> str:
    """Return the origin of a request, as far as it is known."""
    return "somewhere" if request.client is None else request.client.host


def from_this_machine(request: HTTPConnection) -> Actor | None:
    """Return the actor `local`, staff, for a request from this machine, to a local name and not
    cross-site.
    """
    peer = None if request.client is None else request.client.host
    near = (
        is_loopback(peer)
        and is_loopback(host_name(request.headers))
        and not was_forwarded(request.headers)
    )
    return LOCAL if near and is_same_site(request.headers) else None
