"""The one-time login link that `horae run` prints if no other authentication is configured."""

import hmac
import secrets
import threading

from horae.api.security.tokens import digest_of

PATH = "api/session/link/{key}/"


class OneTimeLink:
    """The key of a link until the link is used. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._digest: bytes | None = None

    def make(self) -> str:
        """Return a new link, relative to where the API is served; invalidates the previous one."""
        key = secrets.token_urlsafe(24)
        with self._lock:
            self._digest = digest_of(key)
        return PATH.format(key=key)

    def is_valid(self, key: str) -> bool:
        """Return whether this is the valid key."""
        digest = self._digest
        return digest is not None and hmac.compare_digest(digest, digest_of(key))

    def spend(self, key: str) -> bool:
        """Return whether this is the valid key, and invalidate it if so."""
        with self._lock:
            valid = self.is_valid(key)
            if valid:
                self._digest = None
        return valid
