"""The log that bodies keep of themselves, which the outside checker reads (`tests.checker.body_log` has its format)."""

import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from horae import JobContext

LOG_VARIABLE: Final = "TEST_BODY_LOG"
"""Names the file that bodies log to; nothing is logged if it is not set."""


def log_body(what: str, job: JobContext) -> None:
    """Log `begin`, `effect` or `end` of a body, with the monotonic clock that all processes of a machine share."""
    if (file := os.environ.get(LOG_VARIABLE)) is not None:
        append(
            Path(file),
            what=what,
            job=job.id,
            attempt=job.attempt,
            lease=job.claim.lease,
            node=str(os.getpid()),
        )


@contextmanager
def logged(job: JobContext) -> Generator[None]:
    """Log the begin and the end of a body; the end also if it raises, but not if its process is killed."""
    log_body("begin", job)
    try:
        yield
    finally:
        log_body("end", job)


def append(file: Path, **record: Any) -> None:
    """Append a record in one write, so that a kill cannot cut it off."""
    line = json.dumps({**record, "at": time.monotonic()}) + "\n"
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
