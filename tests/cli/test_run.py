"""`horae run` as a process of its own: how it starts, what it prints, and how signals end it."""

import json
import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from horae.domain.jobs.job import JobId, JobState
from horae.storage.engine.database import Database
from horae.storage.jobs import reading
from horae.storage.nodes import nodes
from tests.cli.conftest import call
from tests.cli.running import ON_SQLITE, Begin, Running

pytestmark = pytest.mark.one_database


def state_of(database: Database, job_id: JobId) -> JobState:
    return database.autocommit(reading.states, [job_id])[job_id]


def wait_for(database: Database, job_id: JobId) -> str:
    waited = call(
        "jobs",
        "wait",
        str(job_id),
        "--database",
        database.url.render_as_string(hide_password=False),
    )
    assert waited.exit_code == 0, waited.stderr
    return waited.stdout.strip()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_lets_the_job_end(
    ending: signal.Signals,
    begin: Begin,
    start: Callable[..., JobId],
    database: Database,
    folder: Path,
) -> None:
    node = begin("--name", "left", "--concurrency", "2", "--grace", "1m")
    assert [view.name for view in database.autocommit(nodes.view)] == ["left"]
    job = start("wait_at_the_gate")
    assert node.line() == "begun"
    late = start("elsewhere", "number=1", "--delay", "1h")
    node.signal(ending)
    (folder / "gate").write_text("open")
    assert node.end() == 0
    assert state_of(database, job) is JobState.FINISHED
    assert state_of(database, late) is JobState.PENDING
    assert database.autocommit(nodes.view) == []
    assert f"{ending.name}: shutting down" in node.log
    assert f"at the gate [job={job} type=wait_at_the_gate lease=1 node=" in node.log


@ON_SQLITE
def test_a_term_while_the_application_is_loaded_is_no_crash(url: str, folder: Path) -> None:
    (folder / "application.py").write_text(
        "import threading\nprint('loading', flush=True)\nthreading.Event().wait()"
    )
    with closing(Running(folder, url)) as node:
        assert node.ready == "loading"
        node.signal(signal.SIGTERM)
        assert (node.end(), node.log) == (0, "")


@ON_SQLITE
def test_a_second_signal_ends_it_at_once(
    begin: Begin, start: Callable[..., JobId], database: Database
) -> None:
    node = begin()
    job = start("stubborn")
    assert node.line() == "begun"
    node.signal(signal.SIGINT)
    node.logs("SIGINT: shutting down")
    node.insist(signal.SIGINT)
    assert node.end() == 128 + signal.SIGINT
    assert state_of(database, job) is JobState.STARTED


@ON_SQLITE
def test_a_blocked_loop_cannot_keep_the_second_signal_away(
    begin: Begin, start: Callable[..., JobId]
) -> None:
    node = begin()
    start("blocks_the_loop")
    assert node.line() == "begun"
    node.insist(signal.SIGINT)
    assert node.end() == 128 + signal.SIGINT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "settled"), [("stubborn", JobState.PENDING), ("deaf", JobState.FAILED)]
)
@ON_SQLITE
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


@ON_SQLITE
def test_json_logs_and_children(
    begin: Begin, start: Callable[..., JobId], database: Database, folder: Path
) -> None:
    node = begin("--log-format", "json", "--queues", "default, other")
    ready = json.loads(node.ready)
    assert (ready["event"], ready["nodes"][0]["queues"]) == ("ready", ["default", "other"])
    job = start("wait_at_the_gate")
    assert node.line() == "begun"
    (folder / "gate").write_text("open")
    assert wait_for(database, job) == '"open"'
    child = start("elsewhere", "number=21")
    assert wait_for(database, child) == "42"
    node.signal(signal.SIGTERM)
    assert node.end() == 0
    records = [json.loads(line) for line in node.log.splitlines()]
    assert all(
        {"timestamp", "level", "logger", "message", "job", "type", "lease", "node"} <= set(each)
        for each in records
    )
    assert [record["job"] for record in records if record["message"] == "in a child"] == [child]
    (of_the_job,) = [record for record in records if record["message"] == "at the gate"]
    assert [of_the_job[name] for name in ("job", "type", "lease", "node")] == [
        job,
        "wait_at_the_gate",
        1,
        ready["nodes"][0]["id"],
    ]


@ON_SQLITE
def test_several_applications_each_have_a_node(
    begin: Begin, start: Callable[..., JobId], database: Database
) -> None:
    node = begin("application:other", "--concurrency", "3")
    assert [view.concurrency for view in database.autocommit(nodes.view)] == [3, 3]
    assert wait_for(database, start("of_the_other", app="application:other")) == '"hello"'
    node.signal(signal.SIGINT)
    assert node.end() == 0
    assert database.autocommit(nodes.view) == []


@pytest.mark.parametrize(
    ("roles", "queues", "shown"),
    [
        ("worker", "a,b", ["worker"]),
        ("scheduler", None, ["scheduler"]),
        ("worker,scheduler", None, ["scheduler", "worker"]),
    ],
)
def test_a_node_has_the_roles_and_queues_that_are_named(
    begin: Begin, database: Database, roles: str, queues: str | None, shown: list[str]
) -> None:
    node = begin("--roles", roles, *(["--queues", queues] if queues else []), switches=False)
    assert "http" not in node.ready
    assert ("runs no jobs" in node.ready) == ("worker" not in shown)
    [view] = database.autocommit(nodes.view)
    assert (view.roles, view.queues) == (shown, queues.split(",") if queues else None)
    assert database.autocommit(nodes.schedulers) == ([view.id] if "scheduler" in shown else [])
    node.signal(signal.SIGTERM)
    assert node.end() == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["tests.cli.shop:horae", "--no-worker", "--no-scheduler", "--no-api"],
            "leave nothing to run",
        ),
        (["tests.cli.shop:horae", "--roles", ""], "expected one or more of worker, scheduler, web"),
        (
            ["tests.cli.shop:horae", "--roles", "worker,cook"],
            "'cook' is no role; expected one or more of worker",
        ),
        (
            ["tests.cli.shop:horae", "--roles", "worker", "--no-api"],
            "do not combine it with --no-worker",
        ),
        ([], "name the application to run, such as `horae run app:horae`"),
        (["tests.cli.shop:horae", "tests.cli.shop:horae"], "is named twice"),
        (["tests.cli.shop:horae", "--grace", "soon"], "interval 'soon'"),
        (["tests.cli.shop:horae", "--concurrency", "0"], "--concurrency"),
        (["tests.cli.shop:horae", "--queues", ","], "queues: an empty list serves nothing"),
        (["tests.cli.shop:horae", "--log-format", "xml"], "--log-format"),
    ],
)
def test_a_wrong_application_or_option_is_refused(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    refused = call(
        "run", *arguments, "--database", f"sqlite:///{tmp_path}/horae.db", env={"HORAE_APP": None}
    )
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert message in refused.stderr
