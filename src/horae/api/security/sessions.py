"""Browser sessions: a cookie with an opaque key, bound to the host and path of its creation."""

import hashlib
import secrets
from contextlib import suppress
from dataclasses import dataclass
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
    """Creates, finds and ends sessions. Queries the database, so call it on a thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, scope: CookieScope, token_hash: str) -> str:
        """Start a session for the owner of a token; return the key for the cookie."""
        key = secrets.token_urlsafe(32)
        self._database.transact(sessions.add, scope.hash_of(key), token_hash)
        return key

    def token_of(self, scope: CookieScope, key: str) -> str | None:
        """Return the hash of the session's token; None for an unknown or expired session."""
        found = self._database.autocommit(sessions.find, scope.hash_of(key))
        if found is None:
            return None
        token_hash, wants_renewal = found
        if wants_renewal:
            # This request does not wait for a lock; a later one will renew it.
            with suppress(DatabaseBusy):
                self._database.transact_at_once(sessions.renew, scope.hash_of(key))
        return token_hash

    def end(self, scope: CookieScope, key: str) -> None:
        """End a session. Idempotent."""
        self._database.autocommit(sessions.end, scope.hash_of(key))


def set_cookie(response: Response, scope: CookieScope, key: str) -> None:
    """Set a cookie that scripts cannot read and that cross-site requests do not carry."""
    response.set_cookie(
        scope.cookie,
        key,
        max_age=int(sessions.LONGEST),
        path=scope.path,
        secure=scope.secure,
        httponly=True,
        samesite="strict",
    )


def delete_cookie(response: Response, scope: CookieScope) -> None:
    """Delete the cookie."""
    response.delete_cookie(
        scope.cookie, path=scope.path, secure=scope.secure, httponly=True, samesite="strict"
    )


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
