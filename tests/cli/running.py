"""`horae run` as a process of its own, with an application whose bodies wait for the test."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import pytest

from horae.domain.jobs.job import JobId
from horae.storage.engine.database import Database
from tests.harness.forked import ForkedProcess

PATIENCE: Final = 60.0
APPLICATION: Final = """
import sys, threading, time
from pathlib import Path
from horae import Backoff, Horae, JobContext

horae = Horae()
GATE = Path(__file__).with_name("gate")

def say(word):
    print(word, flush=True)

@horae.job
def wait_at_the_gate(job: JobContext) -> str:
    job.log.info("at the gate")
    say("begun")
    return GATE.read_text()  # a named pipe: until somebody writes

@horae.job(max_attempts=2, backoff=Backoff(base="0s"))
def stubborn() -> None:
    say("begun")
    while True:
        try:
            threading.Event().wait()
        except BaseException:
            pass

@horae.job
async def blocks_the_loop() -> None:
    say("begun")
    GATE.read_text()

@horae.job
async def deaf() -> None:
    import asyncio
    say("begun")
    while True:
        try:
            await asyncio.Event().wait()
        except BaseException:
            say("ignored")

@horae.job(isolation="process")
def elsewhere(job: JobContext, number: int) -> int:
    job.log.warning("in a child")
    return number * 2

other = Horae()

@other.job
def of_the_other() -> str:
    return "hello"
"""


class Running:
    """A `horae run` under way, without a web server unless a port is named. What its bodies print is on its stdout."""

    def __init__(self, folder: Path, url: str, *arguments: str, switches: bool = True) -> None:
        """`switches`: add what a node needs beside its arguments to serve HTTP to this machine, or not to serve it."""
        command = ["run", "application:horae", "--database", url, *arguments]
        if switches:
            command.append("--local-staff" if "--port" in arguments else "--no-api")
        self.process = ForkedProcess(
            "horae",
            command,
            environment=os.environ,
            folder=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.log = ""
        self.ready = self.line()

    def line(self) -> str:
        """The next line on stdout."""
        return _line_of(self.process.stdout).rstrip("\n")

    def logs(self, words: str) -> None:
        """Wait until the log says so."""
        while words not in (line := _line_of(self.process.stderr)):
            assert line, self.log
            self.log += line
        self.log += line

    def insist(self, number: signal.Signals) -> None:
        """Send a signal again and again until the process has ended."""
        while self.process.poll() is None:
            self.signal(number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(0.05)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Its exit code, once it has ended by itself."""
        self.log += self.process.communicate(timeout=PATIENCE)[1]
        return self.process.wait()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def _line_of(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


Begin = Callable[..., Running]
ON_SQLITE: Final = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""For what a program does in the same way on both databases: each start of one takes seconds."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "application"
    folder.mkdir()
    (folder / "application.py").write_text(APPLICATION)
    os.mkfifo(folder / "gate")
    return folder


@pytest.fixture
def begin(folder: Path, database: Database) -> Iterator[Begin]:
    """Begin a `horae run` with these arguments, and wait until it says that it is ready."""
    running: list[Running] = []

    def begin(*arguments: str, switches: bool = True) -> Running:
        node = Running(
            folder,
            database.url.render_as_string(hide_password=False),
            *arguments,
            switches=switches,
        )
        running.append(node)
        if "ready" not in node.ready:
            code = node.end()
            pytest.fail(
                f"the node ended with {code} before it was ready; it said {node.ready!r}, and logged:\n{node.log}"
            )
        return node

    yield begin
    for node in running:
        node.close()


@pytest.fixture
def start(folder: Path, database: Database) -> Callable[..., JobId]:
    """Start a job of the application, from another process than the node's."""

    def start(*arguments: str, app: str = "application:horae") -> JobId:
        url = database.url.render_as_string(hide_password=False)
        done = ForkedProcess(
            "horae",
            ["jobs", "start", *arguments, "--app", app, "--database", url],
            environment=os.environ,
            folder=folder,
            stdout=subprocess.PIPE,
        )
        return JobId(int(done.communicate(PATIENCE)[0]))

    return start
