"""Writes the log that bodies keep of themselves, and lets the outside checker examine a database with it."""

import json
import os
import time
from pathlib import Path
from typing import Any, Final

from horae import JobContext
from horae.storage.engine.database import Database
from tests.checker.__main__ import connection_to
from tests.checker.body_log import read
from tests.checker.checks import check
from tests.checker.settings import Settings

LOG_VARIABLE: Final = "HORAE_BODY_LOG"
"""Names the file that bodies log to; nothing is logged if it is not set."""


def log_body(what: str, job: JobContext) -> None:
    """Log `begin`, `effect` or `end` of a body, with the monotonic clock that all processes of a machine share."""
    if (file := os.environ.get(LOG_VARIABLE)) is not None:
        append(Path(file), what=what, job=job.id, attempt=job.attempt, lease=job.claim.lease, node=str(os.getpid()))


def append(file: Path, **record: Any) -> None:
    """Append a record in one write, so that a kill cannot cut it off."""
    line = json.dumps({**record, "at": time.monotonic()}) + "\n"
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def findings(database: Database, log: Path | None = None, **settings: bool) -> list[str]:
    """Return what the outside checker finds; empty if all rules hold. `settings`: what the test has made legal."""
    with connection_to(database.url.render_as_string(hide_password=False)) as connection:
        found = check(connection, read(*([] if log is None else [log])), Settings(**settings))
    return [str(finding) for finding in found]
