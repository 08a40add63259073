"""A link that lets one browser in, once: `horae run` prints it where nothing else says who may."""

import hmac
import secrets
import threading

from horae.api.security.tokens import digest_of

PATH = "api/session/link/{key}/"


class OneTimeLink:
    """The key of a link until it is spent. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._digest: bytes | None = None

    def make(self) -> str:
        """A new link, relative to where the interface is served; an older one is good no longer."""
        key = secrets.token_urlsafe(24)
        with self._lock:
            self._digest = digest_of(key)
        return PATH.format(key=key)

    def spend(self, key: str) -> bool:
        """Whether this is the key, which it then is no longer."""
        with self._lock:
            is_right = self._digest is not None and hmac.compare_digest(self._digest, digest_of(key))
            if is_right:
                self._digest = None
        return is_right
