"""URLs of databases: which ones are supported, and how they are shown without passwords."""

import re
from pathlib import Path

from sqlalchemy import URL, make_url

from horae.errors import ConfigurationError
from horae.redaction import shown_url
from horae.storage.engine.dialect import POSTGRESQL, SQLITE


def normalised(url: str | URL, setting: str = "database") -> URL:
    """Return the URL with the driver that Horae uses; raises `ConfigurationError` for other databases."""
    try:
        parsed = make_url(url)
    except Exception:  # noqa: BLE001 - the text of any error repeats the URL
        raise ConfigurationError(
            f"{setting}: {_shown_input(url)} is not a database URL; write sqlite:///horae.db or postgresql://host/name"
        ) from None
    backend = {"postgres": POSTGRESQL}.get(parsed.get_backend_name(), parsed.get_backend_name())
    if backend == POSTGRESQL:
        return parsed.set(drivername="postgresql+psycopg")
    if backend != SQLITE:
        raise ConfigurationError(f"{setting}: {backend!r} is not supported; allowed are sqlite and postgresql")
    if parsed.database in (None, "", ":memory:"):
        raise ConfigurationError(
            f"{setting}: SQLite needs a file that other processes can open, as in sqlite:///horae.db"
        )
    return parsed.set(drivername="sqlite")


def missing_file(url: str | URL) -> Path | None:
    """Return the SQLite file of the URL if it does not exist, else None; raises `ConfigurationError`."""
    parsed = normalised(url)
    if parsed.get_backend_name() != SQLITE or (parsed.database or "").startswith("file:"):
        return None
    file = Path(parsed.database or "")
    return None if file.exists() else file


def shown(url: str | URL) -> str:
    """Return the URL without passwords, neither of its user nor in its query."""
    return shown_url(normalised(url).render_as_string(hide_password=True))


def _shown_input(url: str | URL) -> str:
    """Return text that is not a URL for an error message, unless a password may be in it."""
    text = str(url)
    return repr(text[:100]) if re.fullmatch(r"[\w./ -]*", text) else "this (not shown, as it may hold a password)"
