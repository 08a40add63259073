"""Browser sessions: a cookie with an opaque key, bound to the host and path of its creation."""

import hashlib
import secrets
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.requests import HTTPConnection
from starlette.responses import Response

from horae.errors import DatabaseBusy
from horae.storage.engine import Database
from horae.storage.operations import sessions

NAME: Final = "horae_session"


@dataclass(frozen=True, slots=True)
class CookieScope:
    """The host and path for which a session was begun.

    The ports of a host share cookies, so each port has a cookie name of its own.
    """

    host: str
    path: str
    secure: bool

    @classmethod
    def of(cls, request: HTTPConnection) -> "CookieScope":
        """Return the host and path of a request."""
        secure = request.scope.get("scheme") in ("https", "wss")
        return cls(
            request.headers.get("host", "").lower(),
            f"{request.scope.get('root_path', '')}/",
            secure,
        )

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        name = f"{NAME}_{_hash(self.host, self.path)[:8]}"
        return f"__Host-{name}" if self.secure and self.path == "/" else name

    def hash_of(self, key: str) -> str:
        """Return the stored hash of a key, which differs between hosts and paths."""
        return _hash(self.host, self.path, key)


class Sessions:
    """Begins, finds and ends the sessions of browsers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, request: HTTPConnection, response: Response, token_hash: str) -> None:
        """Start a session for the owner of a token, by a cookie that scripts cannot read and that
        cross-site requests do not carry.
        """
        scope, key = CookieScope.of(request), secrets.token_urlsafe(32)
        key_hash = scope.hash_of(key)
        await self._database.in_thread(
            lambda: self._database.transact(sessions.add, key_hash, token_hash)
        )
        response.set_cookie(
            scope.cookie,
            key,
            max_age=int(sessions.LONGEST),
            path=scope.path,
            secure=scope.secure,
            httponly=True,
            samesite="strict",
        )

    async def token_of(self, request: HTTPConnection) -> str | None:
        """Return the hash of the session's token; None for an unknown or expired session."""
        key_hash = _key_hash_of(request)
        return key_hash and await self._database.in_thread(partial(self._find, key_hash))

    async def end(self, request: HTTPConnection) -> None:
        """End the session of this browser. Idempotent."""
        if key_hash := _key_hash_of(request):
            await self._database.in_thread(
                lambda: self._database.autocommit(sessions.end, key_hash)
            )

    def _find(self, key_hash: str) -> str | None:
        found = self._database.autocommit(sessions.find, key_hash)
        if found is None:
            return None
        token_hash, wants_renewal = found
        if wants_renewal:
            # This request does not wait for a lock; a later one will renew it.
            with suppress(DatabaseBusy):
                self._database.transact_at_once(sessions.renew, key_hash)
        return token_hash


def delete_cookie(request: HTTPConnection, response: Response) -> None:
    """Delete the cookie."""
    scope = CookieScope.of(request)
    response.delete_cookie(
        scope.cookie, path=scope.path, secure=scope.secure, httponly=True, samesite="strict"
    )


def _key_hash_of(request: HTTPConnection) -> str | None:
    scope = CookieScope.of(request)
    key = request.cookies.get(scope.cookie)
    return scope.hash_of(key) if key else None


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
