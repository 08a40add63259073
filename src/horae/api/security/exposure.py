"""Refuses to listen for other machines without authentication."""

from horae.api.security.actor import Authenticate
from horae.api.security.origin import is_loopback
from horae.errors import ConfigurationError
from horae.settings import Settings

ANY_NAME = "*"


def check_exposure(host: str, settings: Settings, authenticate: Authenticate | None = None) -> None:
    """Raise `ConfigurationError` for a host that others can reach without authentication."""
    if settings.local_staff and not is_loopback(host):
        raise ConfigurationError(
            f"local_staff (HORAE_LOCAL_STAFF): {host!r} (HORAE_HOST) can be reached from other"
            " machines; use 127.0.0.1"
        )
    if is_loopback(host) or settings.tokens or authenticate is not None:
        return
    raise ConfigurationError(
        f"host (HORAE_HOST): {host!r} can be reached from other machines, and there is no"
        " authentication: set HORAE_TOKENS, or give the application an `authenticate` function;"
        " 127.0.0.1 needs neither"
    )


def allowed_hosts(settings: Settings, *, known: bool) -> tuple[str, ...]:
    """Return the permitted host names: the configured ones; by default any with authentication, and
    only local ones without it.
    """
    if settings.allowed_hosts is not None:
        return tuple(name.lower() for name in settings.allowed_hosts)
    return (ANY_NAME,) if known else ()


def is_allowed(name: str | None, allowed: tuple[str, ...]) -> bool:
    """Return whether a host name is permitted; loopback names always are."""
    if name is None:
        return False
    return ANY_NAME in allowed or name.lower() in allowed or is_loopback(name)
