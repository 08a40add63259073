"""Sessions of browsers: a cookie with a key that says nothing, bound to the host and the path that it was given for."""

import hashlib
import secrets
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.requests import HTTPConnection
from starlette.responses import Response

from horae.errors import DatabaseBusy
from horae.storage.engine.database import Database
from horae.storage.operations import sessions

NAME: Final = "horae_session"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session is good: cookies are not told apart by port, so its own name tells them apart."""

    host: str
    path: str
    secure: bool

    @classmethod
    def of(cls, request: HTTPConnection) -> "Place":
        """Where this request goes."""
        secure = request.scope.get("scheme") in ("https", "wss")
        return cls(request.headers.get("host", "").lower(), f"{request.scope.get('root_path', '')}/", secure)

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        name = f"{NAME}_{_hash(self.host, self.path)[:8]}"
        return f"__Host-{name}" if self.secure and self.path == "/" else name

    def hash_of(self, key: str) -> str:
        """What is stored of a key: somewhere else it is another one's."""
        return _hash(self.host, self.path, key)


class Sessions:
    """Begins, finds and ends them; calls the database, so call it on a thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, place: Place, token_hash: str) -> str:
        """Begin a session of whoever this token stands for; the key for the cookie."""
        key = secrets.token_urlsafe(32)
        self._database.transact(sessions.add, place.hash_of(key), token_hash)
        return key

    def token_of(self, place: Place, key: str) -> str | None:
        """The hash of the token that the session stands for; None if there is none, or no longer."""
        found = self._database.autocommit(sessions.find, place.hash_of(key))
        if found is None:
            return None
        token_hash, wants_renewal = found
        if wants_renewal:
            with suppress(DatabaseBusy):  # a later request will; this one waits for no writer
                self._database.transact_at_once(sessions.renew, place.hash_of(key))
        return token_hash

    def end(self, place: Place, key: str) -> None:
        """End a session; harmless if there is none."""
        self._database.autocommit(sessions.end, place.hash_of(key))


def give(response: Response, place: Place, key: str) -> None:
    """Put the key into a cookie that no script reads and no other site makes a browser send."""
    response.set_cookie(
        place.cookie, key, max_age=int(sessions.LONGEST), path=place.path, secure=place.secure, httponly=True,
        samesite="strict",
    )  # fmt: skip


def take_back(response: Response, place: Place) -> None:
    """Make the browser forget the key."""
    response.delete_cookie(place.cookie, path=place.path, secure=place.secure, httponly=True, samesite="strict")


def _hash(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
