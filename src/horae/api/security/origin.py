"""Where a request comes from: this machine or another, this site or another."""

import ipaddress
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import urlsplit

FORWARDED: Final = ("forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip")
"""A request with one of these came through a proxy, so its peer says nothing of who asks."""

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def is_loopback(host: str | None) -> bool:
    """Whether an address, or a name, is this machine's own and nobody else can reach it."""
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
    """The name that the request asks for, without its port; None for one that cannot be."""
    return _name(headers.get("host", ""))


def is_same_site(headers: Mapping[str, str], trusted: Collection[str] = ()) -> bool:
    """Whether the request was made by a page of ours, by a trusted one, or by no page at all."""
    origin = headers.get("origin")
    if origin is not None and origin in trusted:
        return True
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return False
    # The scheme is left out: a proxy that ends TLS hides it.
    return origin is None or (_netloc(origin) == headers.get("host", "").lower() != "")


def was_forwarded(headers: Mapping[str, str]) -> bool:
    """Whether a proxy has passed the request on."""
    return any(name in headers for name in FORWARDED) or any(name.startswith("x-forwarded-") for name in headers)


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _name(netloc: str) -> str | None:
    try:
        return urlsplit(f"//{netloc}").hostname
    except ValueError:
        return None
