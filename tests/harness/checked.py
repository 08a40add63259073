"""Lets the outside checker examine the database of a test."""

from pathlib import Path

from horae.storage.engine import Database
from tests.checker.__main__ import connection_to
from tests.checker.body_log import read
from tests.checker.checks import check
from tests.checker.settings import Settings


def findings(database: Database, log: Path | None = None, **settings: bool) -> list[str]:
    """Return what the outside checker finds; empty if all rules hold. `settings`: what the test has made legal."""
    with connection_to(database.url.render_as_string(hide_password=False)) as connection:
        found = check(connection, read(*([] if log is None else [log])), Settings(**settings))
    return [str(finding) for finding in found]
