"""Which database an alias of Django's `DATABASES` stands for, as the URL that Horae opens."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from horae.errors import ConfigurationError

OF_DJANGO: Final = frozenset(
    {
        "assume_role",
        "client_encoding",
        "context",
        "cursor_factory",
        "isolation_level",
        "pool",
        "prepare_threshold",
        "row_factory",
        "server_side_binding",
    }
)
"""Options of a PostgreSQL database that Django or psycopg reads, and not the server's library."""


READ: Final = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
"""What the URL of a database is made of."""
_read: Final[dict[str, tuple[list[Any], str]]] = {}
"""The URL of each alias, and what it was made of: it is asked for at each call."""
UNREAD: Final = "sqlite:///the-database-of-an-alias-that-was-not-read.db"
"""The URL until that of the alias is read."""


def connection_of(alias: str) -> BaseDatabaseWrapper:
    """Return Django's connection of this thread, which may not be open yet.

    Raises `ConfigurationError` for an alias that does not exist.
    """
    if alias not in connections.settings:
        raise ConfigurationError(
            f"HORAE['using']: {alias!r} is not in DATABASES, which has"
            f" {', '.join(map(repr, connections.settings))}"
        )
    wrapper: BaseDatabaseWrapper = connections[alias]
    return wrapper


def is_of_file(wrapper: BaseDatabaseWrapper) -> bool:
    """Return whether a connection of Django leads to a SQLite database."""
    return wrapper.vendor == "sqlite"


def url_of(alias: str) -> str:
    """Return the URL of the database that the alias stands for now: a test may have replaced it.

    Raises `ConfigurationError` for another engine than PostgreSQL and SQLite, and for a SQLite
    database in memory.
    """
    wrapper = connection_of(alias)
    given: Mapping[str, Any] = wrapper.settings_dict
    values = [given[name] for name in READ]
    seen = _read.get(alias)
    if seen is not None and seen[0] == values:
        return seen[1]
    match wrapper.vendor:
        case "postgresql":
            url = _of_server(given)
        case "sqlite":
            name = str(given["NAME"])
            if name in ("", ":memory:") or name.startswith("file:"):
                raise ConfigurationError(
                    f"DATABASES[{alias!r}]: {name or 'an empty name'!r} is a database in memory,"
                    " and Horae needs a file that other connections can open; for tests, write"
                    f" 'TEST': {{'NAME': BASE_DIR / 'test.sqlite3'}} there"
                )
            url = f"sqlite:///{quote(str(Path(name).absolute()))}"
        case _:
            raise ConfigurationError(
                f"DATABASES[{alias!r}]: Horae needs PostgreSQL or SQLite, and the engine is"
                f" {given['ENGINE']!r}; name the alias of such a database in HORAE['using']"
            )
    # Options may be changed where they are, so they are copied.
    _read[alias] = [*values[:-1], dict(given["OPTIONS"])], url
    return url


def _of_server(given: Mapping[str, Any]) -> str:
    options = {
        name: str(value)
        for name, value in given["OPTIONS"].items()
        if name not in OF_DJANGO and value is not None
    }
    if role := given["OPTIONS"].get("assume_role"):
        options["options"] = f"{options.get('options', '')} -c role={role}".strip()
    # A host may be a folder or a list, which are no host in a URL.
    options |= {name.lower(): str(given[name]) for name in ("HOST", "PORT") if given.get(name)}
    user = quote(given["USER"] or "", safe="")
    password = f":{quote(given['PASSWORD'], safe='')}" if given["PASSWORD"] else ""
    before = f"{user}{password}@" if user else ""
    query = f"?{urlencode(options)}" if options else ""
    return f"postgresql://{before}/{quote(given['NAME'] or '', safe='')}{query}"
