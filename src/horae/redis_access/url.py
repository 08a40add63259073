"""Checks the URL of a Redis server. Does not import the client library."""

from typing import Final
from urllib.parse import parse_qs, urlsplit

from horae.quoting import quoted

SCHEMES: Final = ("redis", "rediss", "unix")
"""The schemes for TCP, TCP with TLS, and a Unix socket."""
OPTIONS: Final = (
    "db",
    "username",
    "password",
    "ssl_ca_certs",
    "ssl_ca_path",
    "ssl_ca_data",
    "ssl_certfile",
    "ssl_keyfile",
    "ssl_password",
    "ssl_cert_reqs",
    "ssl_check_hostname",
    "ssl_ciphers",
)
"""The options that a URL may have after `?`: where the server is and how it is trusted.

Timeouts and repeats are Horae's own, so that no call waits longer or fails otherwise than it
expects.
"""
EXPECTED: Final = (
    "expected redis://[user:password@]host[:port][/number], rediss:// for TLS, or unix:///path"
)


def checked_redis_url(url: str) -> str:
    """Return the URL; raise `ValueError` without the URL itself if it names no Redis server."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"it is not a URL; {EXPECTED}") from error
    if parts.scheme not in SCHEMES:
        raise ValueError(
            f"its scheme is {parts.scheme!r}; {EXPECTED}"
            if "://" in url
            else f"no scheme; {EXPECTED}"
        )
    if parts.scheme == "unix":
        if not parts.path or parts.hostname:
            raise ValueError(f"it has no absolute path; {EXPECTED}")
    elif not parts.hostname or port == 0:
        raise ValueError(f"it has no host; {EXPECTED}")
    # The client library ignores any other path.
    elif (number := parts.path.removeprefix("/")) and not (number.isascii() and number.isdigit()):
        raise ValueError(f"its path is no database number, such as /0; {EXPECTED}")
    if unknown := sorted(parse_qs(parts.query, keep_blank_values=True).keys() - set(OPTIONS)):
        raise ValueError(f"unknown option {quoted(unknown[0])}; there are {', '.join(OPTIONS)}")
    return url
