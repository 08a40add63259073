"""`horae run` as a process of its own: how it begins, what it says, and how it ends by signal."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final

import pytest

from horae.domain.job import JobId, JobState
from horae.storage import nodes, reading
from horae.storage.database import Database
from tests.cli.conftest import call

PATIENCE: Final = 60.0
APPLICATION: Final = """
import sys, threading, time
from pathlib import Path
from horae import Horae, JobContext

horae = Horae()
GATE = Path(__file__).with_name("gate")

def say(word):
    print(word, flush=True)

@horae.job
def wait_at_the_gate(job: JobContext) -> str:
    job.log.info("at the gate")
    say("begun")
    return GATE.read_text()  # a named pipe: until somebody writes

@horae.job(max_attempts=2)
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
def elsewhere(number: int) -> int:
    return number * 2

other = Horae()

@other.job
def of_the_other() -> str:
    return "hello"
"""


class Running:
    """A `horae run` under way. What its bodies print comes on its stdout."""

    def __init__(self, folder: Path, url: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "horae", "run", "application:horae", "--database", url, *arguments]
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )  # fmt: skip
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

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Its exit code, once it has ended by itself."""
        self.log += self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def _line_of(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


Begin = Callable[..., Running]


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

    def begin(*arguments: str) -> Running:
        node = Running(folder, database.url.render_as_string(hide_password=False), *arguments)
        running.append(node)
        assert "ready" in node.ready
        return node

    yield begin
    for node in running:
        node.close()


@pytest.fixture
def start(folder: Path, database: Database) -> Callable[..., JobId]:
    """Start a job of the application, from another process than the node's."""

    def start(*arguments: str, app: str = "application:horae") -> JobId:
        command = [sys.executable, "-m", "horae", "jobs", "start", *arguments, "--app", app]
        url = database.url.render_as_string(hide_password=False)
        done = subprocess.run([*command, "--database", url], cwd=folder, capture_output=True, text=True, check=True)
        return JobId(int(done.stdout))

    return start


def state_of(database: Database, job_id: JobId) -> JobState:
    return database.autocommit(reading.states, [job_id])[job_id]


def wait_for(database: Database, job_id: JobId) -> str:
    waited = call("jobs", "wait", str(job_id), "--database", database.url.render_as_string(hide_password=False))
    assert waited.exit_code == 0, waited.stderr
    return waited.stdout.strip()


def test_a_term_in_the_middle_lets_the_job_end(
    begin: Begin, start: Callable[..., JobId], database: Database, folder: Path
) -> None:
    node = begin("--name", "left", "--concurrency", "2", "--grace", "1m")
    assert [view.name for view in database.autocommit(nodes.view)] == ["left"]
    job = start("wait_at_the_gate")
    assert node.line() == "begun"
    late = start("elsewhere", "number=1", "--delay", "1h")
    node.signal(signal.SIGTERM)
    (folder / "gate").write_text("open")
    assert node.end() == 0
    assert state_of(database, job) is JobState.FINISHED
    assert state_of(database, late) is JobState.PENDING
    assert database.autocommit(nodes.view) == []
    assert "SIGTERM: no new jobs" in node.log
    assert f"at the gate [job={job} type=wait_at_the_gate lease=1 node=" in node.log


def test_a_second_signal_ends_it_at_once(begin: Begin, start: Callable[..., JobId], database: Database) -> None:
    node = begin()
    job = start("stubborn")
    assert node.line() == "begun"
    node.signal(signal.SIGINT)
    node.logs("SIGINT: no new jobs")
    node.signal(signal.SIGINT)
    assert node.end() == 128 + signal.SIGINT
    assert state_of(database, job) is JobState.STARTED


def test_a_blocked_loop_cannot_keep_the_second_signal_away(begin: Begin, start: Callable[..., JobId]) -> None:
    node = begin()
    start("blocks_the_loop")
    assert node.line() == "begun"
    node.signal(signal.SIGINT)
    node.signal(signal.SIGTERM)  # another one: two of a kind may arrive as one
    assert node.end() in (128 + signal.SIGINT, 128 + signal.SIGTERM)


@pytest.mark.slow
@pytest.mark.parametrize(("body", "settled"), [("stubborn", JobState.PENDING), ("deaf", JobState.FAILED)])
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_body_that_ignores_every_order_dies_with_the_process(
    body: str, settled: JobState, begin: Begin, start: Callable[..., JobId], database: Database
) -> None:
    node = begin("--grace", "0")
    job = start(body)
    assert node.line() == "begun"
    node.signal(signal.SIGTERM)
    assert node.end() == 0
    assert state_of(database, job) is settled
    assert database.autocommit(nodes.view) == []


@pytest.mark.slow
def test_the_job_of_a_killed_node_is_run_by_another(
    begin: Begin, start: Callable[..., JobId], database: Database
) -> None:
    first = begin()
    job = start("stubborn")
    assert first.line() == "begun"
    first.signal(signal.SIGKILL)
    assert first.end() == -signal.SIGKILL
    second = begin()
    assert second.line() == "begun"
    (attempt,) = database.autocommit(reading.attempts, job)
    assert attempt.outcome == "crashed"


def test_json_logs_and_children(begin: Begin, start: Callable[..., JobId], database: Database, folder: Path) -> None:
    node = begin("--log-format", "json", "--queues", "default, other")
    ready = json.loads(node.ready)
    assert (ready["event"], ready["nodes"][0]["queues"]) == ("ready", ["default", "other"])
    job = start("wait_at_the_gate")
    assert node.line() == "begun"
    (folder / "gate").write_text("open")
    assert wait_for(database, job) == '"open"'
    assert wait_for(database, start("elsewhere", "number=21")) == "42"
    node.signal(signal.SIGTERM)
    assert node.end() == 0
    records = [json.loads(line) for line in node.log.splitlines()]
    assert all(
        {"timestamp", "level", "logger", "message", "job", "type", "lease", "node"} <= set(each) for each in records
    )
    (of_the_job,) = [record for record in records if record["message"] == "at the gate"]
    assert [of_the_job[name] for name in ("job", "type", "lease", "node")] == [
        job,
        "wait_at_the_gate",
        1,
        ready["nodes"][0]["id"],
    ]


def test_several_applications_each_have_a_node(begin: Begin, start: Callable[..., JobId], database: Database) -> None:
    node = begin("application:other", "--concurrency", "3")
    assert [view.concurrency for view in database.autocommit(nodes.view)] == [3, 3]
    assert wait_for(database, start("of_the_other", app="application:other")) == '"hello"'
    node.signal(signal.SIGINT)
    assert node.end() == 0
    assert database.autocommit(nodes.view) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tests.cli.shop:horae", "--no-worker", "--no-scheduler"], "leave nothing to do"),
        ([], "say what to run, as in `horae run app:horae`"),
        (["tests.cli.shop:horae", "tests.cli.shop:horae"], "is named twice"),
        (["tests.cli.shop:horae", "--grace", "soon"], "interval 'soon'"),
        (["tests.cli.shop:horae", "--concurrency", "0"], "--concurrency"),
        (["tests.cli.shop:horae", "--queues", ","], "queues: an empty list serves nothing"),
        (["tests.cli.shop:horae", "--log-format", "xml"], "--log-format"),
    ],
)
def test_what_cannot_be_run(arguments: list[str], message: str, tmp_path: Path) -> None:
    refused = call("run", *arguments, "--database", f"sqlite:///{tmp_path}/horae.db", env={"HORAE_APP": None})
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert message in refused.stderr
