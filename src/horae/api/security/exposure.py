"""Refuses to be reached from elsewhere by people who are not known."""

from horae.api.security.actor import Authenticate
from horae.api.security.origin import is_loopback
from horae.errors import ConfigurationError
from horae.settings import Settings

ANY_NAME = "*"


def check_exposure(host: str, settings: Settings, authenticate: Authenticate | None = None) -> None:
    """Refuse to listen beyond this machine without a way to tell who asks; raises `ConfigurationError`."""
    if settings.local_staff and not is_loopback(host):
        raise ConfigurationError(
            f"local_staff (HORAE_LOCAL_STAFF): {host!r} (HORAE_HOST) can be reached from elsewhere; it is for 127.0.0.1"
        )
    if is_loopback(host) or settings.tokens or authenticate is not None:
        return
    raise ConfigurationError(
        f"host (HORAE_HOST): {host!r} can be reached from elsewhere, and nothing says who may ask: set HORAE_TOKENS, "
        "or give the application an `authenticate` function; 127.0.0.1 needs neither"
    )


def allowed_hosts(settings: Settings, *, known: bool) -> tuple[str, ...]:
    """The names that requests may ask for: those of the settings; else any if people are known, else this machine's."""
    if settings.allowed_hosts is not None:
        return tuple(name.lower() for name in settings.allowed_hosts)
    return (ANY_NAME,) if known else ()


def is_allowed(name: str | None, allowed: tuple[str, ...]) -> bool:
    """Whether a request may ask for this name; names of this machine always may."""
    if name is None:
        return False
    return ANY_NAME in allowed or name.lower() in allowed or is_loopback(name)
