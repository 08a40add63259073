"""An application whose hooks run in child processes; variables of the environment let them fail."""

import asyncio
import errno
import logging
import os
import signal
import sys
import time
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from horae import Horae, JobContext

HOW: Final = "TEST_CHILD_HOOK"
"""How the hook at the start of a child ends; it succeeds if this is not set."""
NOTE: Final = "TEST_CHILD_NOTE"
"""Names the file to which the hook writes the id of its process before it ends so."""

START: Final = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)

horae = Horae("sqlite:////nowhere/horae.db")
calls: list[str] = []


@horae.on_child_start
def set_up() -> None:
    how = os.environ.get(HOW)
    calls.append("set up")
    if how is None:
        return
    if NOTE in os.environ:
        Path(os.environ[NOTE]).write_text(str(os.getpid()))
    match how:
        case "raise":
            raise LookupError("no licence")
        case "sys.exit":
            sys.exit("enough")
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "lack":
            raise OSError(errno.EMFILE, "too many open files")
        case _:
            wait_until_told()


def wait_until_told() -> None:
    """Wait for a file beside that of the variable, which only some tests make."""
    go = Path(f"{os.environ.get(NOTE, '/nowhere')}.go")
    while not go.exists():
        time.sleep(0.01)


@horae.on_child_start
async def set_up_later() -> None:
    await asyncio.sleep(0)
    calls.append("set up later")


@horae.around
def surround(job: JobContext) -> Generator[None]:
    calls.append("in")
    yield
    calls.append(f"out {job.ended and job.ended.outcome}")


@horae.job(isolation="process")
def told() -> list[Any]:
    return [os.getpid(), *calls]


@horae.job(isolation="process")
async def told_later() -> list[Any]:
    return [os.getpid(), *calls]


@horae.job(isolation="process")
def grow(megabytes: int) -> int:
    calls.append("x" * (megabytes << 20))
    return os.getpid()


@horae.job(isolation="process")
def wait_for_file(path: str) -> int:
    while not Path(path).exists():
        time.sleep(0.01)
    return os.getpid()


@horae.job(isolation="process")
def run_on(begun: str) -> None:
    Path(begun).touch()
    time.sleep(60)


@horae.job(isolation="process")
def log_lines(count: int) -> None:
    log = logging.getLogger("shop.child")
    log.setLevel(logging.INFO)
    log.propagate = False
    for number in range(count):
        log.info("line %d", number)
