"""The origin of a request: this machine or another, this site or another."""

import ipaddress
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import urlsplit

FORWARDED: Final = (
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "true-client-ip",
    "cf-connecting-ip",
)
"""Headers of proxies; with one of them the peer address is not the user's."""

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def is_loopback(host: str | None) -> bool:
    """Return whether an address or a name is a loopback one, which other machines cannot reach."""
    if host is None:
        return False
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def host_name(headers: Mapping[str, str]) -> str | None:
    """Return the requested host name without its port; None if it is invalid."""
    try:
        return urlsplit(f"//{headers.get('host', '')}").hostname
    except ValueError:
        return None


def is_same_site(headers: Mapping[str, str], trusted: Collection[str] = ()) -> bool:
    """Return whether a request comes from our own page, a trusted one, or no page at all."""
    origin = headers.get("origin")
    if origin is not None and origin in trusted:
        return True
    # A browser says by itself whether the page has the origin of the address that it requests. That
    # also holds behind a proxy that changes the host, as servers for development do.
    if (site := headers.get("sec-fetch-site")) is not None:
        return site in ("same-origin", "none")
    if origin is None:
        return True
    # The scheme is not compared, because it is unknown behind a proxy that terminates TLS.
    try:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower() != ""
    except ValueError:
        return False


def was_forwarded(headers: Mapping[str, str]) -> bool:
    """Return whether the request came through a proxy."""
    return any(name in headers for name in FORWARDED) or any(
        name.startswith("x-forwarded-") for name in headers
    )
