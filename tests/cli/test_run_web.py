"""What `horae run` serves: at which address, beside what else, and what happens to requests when the node ends."""

import json
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from horae import Horae
from horae.cli.serving.web import servers_of
from horae.domain.jobs.job import JobId
from horae.storage.engine.database import Database
from horae.storage.nodes import nodes
from tests.cli.conftest import call, values
from tests.cli.running import ON_SQLITE, Begin


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another process has."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def addresses(ready: str) -> list[str]:
    return re.findall(r"http://127\.0\.0\.1:\d+/", ready)


def read(url: str) -> Any:
    answer = httpx.get(url, timeout=20)
    assert answer.status_code == 200, answer.text
    return answer.json()


@ON_SQLITE
def test_a_node_serves_until_its_last_job_has_ended(
    begin: Begin, start: Callable[..., JobId], folder: Path
) -> None:
    node = begin("--port", "0")
    (url,) = addresses(node.ready)
    job = start("wait_at_the_gate")
    assert node.line() == "begun"
    node.signal(signal.SIGTERM)
    node.logs("SIGTERM: shutting down")
    assert read(f"{url}api/jobs/{job}/")["state"] == "started"
    (folder / "gate").write_text("open")
    assert node.end() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)


@ON_SQLITE
def test_without_roles_it_is_a_web_server_and_no_node(
    begin: Begin, start: Callable[..., JobId], database: Database
) -> None:
    server = begin("--port", "0", "--no-worker", "--no-scheduler", "--log-format", "json")
    ready = json.loads(server.ready)
    assert ready["nodes"] == []
    job = start("wait_at_the_gate")
    assert read(f"{ready['urls'][0]}api/jobs/{job}/")["state"] == "pending"
    assert database.autocommit(nodes.view) == []
    server.signal(signal.SIGTERM)
    assert server.end() == 0


@ON_SQLITE
def test_the_role_web_alone_is_a_web_server_and_no_node(begin: Begin, database: Database) -> None:
    server = begin("--roles", "web", "--port", "0", "--log-format", "json")
    ready = json.loads(server.ready)
    assert ready["nodes"] == database.autocommit(nodes.view) == []
    assert read(f"{ready['urls'][0]}readyz") == {"status": "ready"}
    server.signal(signal.SIGTERM)
    assert server.end() == 0


@ON_SQLITE
def test_a_node_that_serves_http_has_the_role_web(begin: Begin, database: Database) -> None:
    node = begin("--roles", "web,worker", "--port", "0")
    [url] = addresses(node.ready)
    assert [view.roles for view in database.autocommit(nodes.view)] == [["worker", "web"]]
    assert [item["roles"] for item in read(f"{url}api/nodes/")["nodes"]] == [["worker", "web"]]
    node.signal(signal.SIGTERM)
    assert node.end() == 0


@ON_SQLITE
def test_several_applications_have_a_port_each(begin: Begin) -> None:
    both = begin("application:other", "--port", "0")
    first, second = addresses(both.ready)
    assert first != second
    assert read(f"{first}api/jobs/") == read(f"{second}api/jobs/") == {"jobs": [], "next": None}
    both.signal(signal.SIGTERM)
    assert both.end() == 0


def test_a_port_that_was_asked_for_must_be_free(taken: int, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    refused = call("run", "tests.cli.shop:horae", "--port", str(taken), "--database", url)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"cannot listen on 127.0.0.1:{taken}" in refused.stderr
    assert refused.stderr.endswith("; choose another port, or 0 for a free one\n")


def test_a_default_port_that_another_node_has_is_done_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    horae = Horae(f"sqlite:///{tmp_path}/horae.db")
    with ExitStack() as stack:
        with suppress(OSError):  # somebody has it already
            stack.enter_context(socket.create_server(("127.0.0.1", horae.settings.port)))
        assert servers_of([horae]) == []
    horae.close()
    (warned,) = caplog.messages
    assert warned.startswith("no HTTP API and no dashboard, as with --no-api: host, port (HORAE_")
    assert warned.endswith("; choose another port, or 0 for a free one")


def test_public_access_without_users_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    refused = call(
        "run", "tests.cli.shop:horae", "--host", "0.0.0.0", "--port", "0", "--database", url
    )
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "HORAE_TOKENS" in refused.stderr


def test_a_refused_start_leaves_nothing_open(tmp_path: Path) -> None:
    """Else the application would go on with the database of that call, whatever the next one names."""
    first, second = (f"sqlite:///{tmp_path}/{number}.db" for number in (1, 2))
    refused = call(
        "run", "tests.cli.shop:horae", "--host", "0.0.0.0", "--port", "0", "--database", first
    )
    assert refused.exit_code == 2
    assert call("migrate", "up", "--database", second).exit_code == 0
    started = call(
        "jobs",
        "start",
        "import_csv",
        "path=a",
        "--app",
        "tests.cli.shop:horae",
        "--database",
        second,
    )
    assert started.exit_code == 0, started.stderr
    assert [
        job["id"] for job in values(call("jobs", "list", "--json", "--database", second))["jobs"]
    ] == [1]
