"""URLs of databases: which ones are allowed, how they are completed, and how they are shown.

A PostgreSQL URL may name several servers, as libpq's may:
`postgresql://first:5432,second:5432/name`. SQLAlchemy has no such form, and reads the hosts from
the query instead.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from horae.errors import ConfigurationError
from horae.redaction import shown_url
from horae.storage.engine.dialect import POSTGRESQL, SQLITE

DRIVER: Final = "postgresql+psycopg"
SEVERAL_HOSTS: Final = re.compile(
    r"(?P<before>[\w+]+://(?:[^:/]*(?::[^@]*)?@)?)(?P<hosts>[^/?@]*,[^/?@]*)(?P<after>(?:[/?].*)?)",
    re.DOTALL,
)
"""A URL with a list of hosts after the user and the password, which may also contain commas."""
HOST_AND_PORT: Final = re.compile(
    r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]\s]+))(?::(?P<port>[0-9]+))?"
)
USER: Final = re.compile(r"(?<=://)(?:[^/@]*@)?")
USUAL_PORT: Final = "5432"
WRITABLE: Final = {"target_session_attrs": "read-write"}
"""Added to a URL with several hosts: the first that answers may be a standby."""
PREFERS_STANDBY: Final = {"target_session_attrs": "prefer-standby"}
"""Added instead to a URL with several hosts that is only read from."""


def normalised(
    url: str | URL, setting: str = "database", several: Mapping[str, str] = WRITABLE
) -> URL:
    """Return the URL with Horae's driver; raises `ConfigurationError`, which names the setting.

    `several`: defaults that are added to the query if the URL names several hosts.
    """
    parsed = _parse(url, setting)
    backend = {"postgres": POSTGRESQL}.get(parsed.get_backend_name(), parsed.get_backend_name())
    if backend == POSTGRESQL:
        return _check_hosts(parsed.set(drivername=DRIVER), setting, several)
    if backend != SQLITE:
        raise ConfigurationError(
            f"{setting}: {backend!r} is not supported; allowed are sqlite and postgresql"
        )
    if parsed.database in (None, "", ":memory:"):
        raise ConfigurationError(
            f"{setting}: SQLite needs a file that other processes can open, as in sqlite:///horae.db"
        )
    return parsed.set(drivername="sqlite")


def missing_file(url: str | URL) -> Path | None:
    """Return the URL's SQLite file if it does not exist, else None; raises `ConfigurationError`."""
    file = file_of(url)
    try:
        return None if file is None or file.exists() else file
    except OSError:  # its name is too long
        return file


def file_of(url: str | URL) -> Path | None:
    """Return the URL's SQLite file, None for other databases; raises `ConfigurationError`."""
    parsed = normalised(url)
    if parsed.get_backend_name() != SQLITE or (parsed.database or "").startswith("file:"):
        return None
    return Path(parsed.database or "")


def with_real_path(url: URL) -> URL:
    """Return a normalised URL with the absolute path of its SQLite file, without links.

    Processes find each other by the files beside the database, so they must agree where these are;
    and a body may change the working directory of its process.
    """
    file = file_of(url)
    return url if file is None else url.set(database=str(file.resolve()))


def shown(url: str | URL) -> str:
    """Return the URL without any passwords, and with several hosts in libpq's form."""
    parsed = normalised(url)
    if not has_several_hosts(parsed):
        return shown_url(parsed.render_as_string(hide_password=True))
    servers = ",".join(
        f"{f'[{host}]' if ':' in host else host}:{port}" for host, port in servers_of(parsed)
    )
    without = parsed.difference_update_query(["host", "port"]).render_as_string(hide_password=True)
    return shown_url(USER.sub(lambda user: user[0] + servers, without, count=1))


def has_several_hosts(url: URL) -> bool:
    """Return whether a normalised URL names several servers."""
    return url.get_backend_name() == POSTGRESQL and len(servers_of(url)) > 1


def servers_of(url: URL) -> list[tuple[str, str]]:
    """Return the host and port of each PostgreSQL server in a URL; a host may be a socket folder.

    The driver of the URL does not matter: the URL may come from an application's own engine.
    """
    arguments = driver_arguments(url.set(drivername=DRIVER))
    hosts = str(arguments.get("host") or "").split(",")
    ports = [port or USUAL_PORT for port in str(arguments.get("port") or "").split(",")]
    return list(zip(hosts, ports if len(ports) == len(hosts) else ports * len(hosts), strict=True))


def driver_arguments(url: URL) -> dict[str, Any]:
    """Return the arguments of the driver for a PostgreSQL URL."""
    [*_, arguments] = url.get_dialect()().create_connect_args(url)
    return dict(arguments)


def _parse(url: str | URL, setting: str) -> URL:
    """Parse a URL, which may name several hosts; raises `ConfigurationError`."""
    text = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    several = SEVERAL_HOSTS.fullmatch(text)
    try:
        parsed = make_url(url if several is None else several["before"] + several["after"])
    except (ArgumentError, ValueError):  # their texts repeat the URL
        hidden = "this (not shown, because it may hold a password)"
        shown_text = repr(text[:100]) if re.fullmatch(r"[\w./ -]*", text) else hidden
        raise ConfigurationError(
            f"{setting}: {shown_text} is not a database URL; write sqlite:///horae.db or postgresql://host/name"
        ) from None
    if "@" in (parsed.host or ""):  # the end of a password: as a host it would be shown
        raise ConfigurationError(f"{setting}: in a user name or password write '@' as %40")
    if parsed.get_backend_name() == SQLITE and not all(
        "=" in option for option in text.partition("?")[2].split("&") if option
    ):  # SQLAlchemy would drop the end of the path, and open another file
        raise ConfigurationError(f"{setting}: in the path of a SQLite file write '?' as %3F")
    if several is None or not parsed.get_backend_name().startswith("postgres"):
        return parsed
    found = [HOST_AND_PORT.fullmatch(each) for each in several["hosts"].split(",")]
    if not all(found):
        raise ConfigurationError(
            f"{setting}: {several['hosts'][:200]!r} is not a list of hosts; write them as in "
            "postgresql://first:5432,second:5432/name"
        )
    servers = [each.groupdict() for each in found if each is not None]
    hosts = ",".join(each["address"] or each["name"] for each in servers)
    ports = ",".join(each["port"] or USUAL_PORT for each in servers)
    return parsed.update_query_dict({"host": hosts, "port": ports})


def _check_hosts(url: URL, setting: str, added: Mapping[str, str]) -> URL:
    if not {"host", "port"} & url.query.keys():
        return url
    try:
        several = has_several_hosts(url)
    except (ArgumentError, ValueError):
        raise ConfigurationError(
            f"{setting}: the hosts and ports of the URL do not match; write them as in "
            "postgresql://first:5432,second:5432/name"
        ) from None
    missing = {name: value for name, value in added.items() if several and name not in url.query}
    return url.update_query_dict(missing) if missing else url
