"""`horae watch`: what it prints, its exit codes, and what it sends."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from tests.alerts.receiver import receiver
from tests.api.timetable import make_late
from tests.cli.conftest import Call, call, values
from tests.harness.applications import application
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.one_database


@pytest.fixture(autouse=True)
def log_as_it_was() -> Iterator[None]:
    """Undo what the command sets for its whole process, which is that of the tests here."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    logging.captureWarnings(capture=False)


def late(horae: Horae) -> int:
    @horae.job
    def work() -> None: ...

    schedule = horae.schedules.add("work", name="nightly", cron="0 3 * * *").id
    make_late(horae, schedule, 600)
    return schedule


def test_nothing_is_wrong(bare: Call, url: str) -> None:
    result = bare("watch", "--once")
    assert (result.exit_code, result.stdout.strip()) == (0, "nothing is wrong")
    assert values(bare("watch", "--once", "--json")) == {
        "ok": True,
        "delivered": True,
        "notices": [],
        "alerts": [],
    }


def test_what_is_wrong_is_printed_and_sent(bare: Call, database: Database) -> None:
    with application(database) as horae, receiver() as server:
        schedule = late(horae)
        result = bare(
            "watch", "--once", "--webhook", server.url, "--allow-internal", "127.0.0.1",
            "--slack", server.url, "--name", "shop", "--secret", "a secret of enough letters",
        )  # fmt: skip
        assert result.exit_code == 1
        assert "schedule 'nightly' should have started 10 min ago" in result.stdout
        signed, slack = sorted(
            server.requests, key=lambda each: "Horae-Signature" not in each.headers
        )
        assert json.loads(signed.body)["alert"]["key"] == f"schedule_late:{schedule}"
        assert json.loads(slack.body)["text"].startswith("*ALERT* schedule 'nightly'")
        assert "Horae-Signature" not in slack.headers
        as_json = bare("watch", "--once", "--json")
        found = json.loads(as_json.stdout)
        assert (as_json.exit_code, found["ok"]) == (1, False)
        assert found["alerts"][0]["rule"] == "schedule_late"


def test_a_notice_that_nobody_takes_is_a_failure(bare: Call, database: Database) -> None:
    with application(database) as horae:
        late(horae)
        result = bare("watch", "--once", "--json", "--webhook", "http://127.0.0.1:9/x")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["delivered"] is False


def test_a_ping_that_nobody_answers_is_a_failure(
    bare: Call, caplog: pytest.LogCaptureFixture
) -> None:
    result = bare("watch", "--once", "--ping", "https://127.0.0.1:1/token")
    assert result.exit_code == 1
    assert "ping https://127.0.0.1 has failed: " in caplog.text
    assert "token" not in caplog.text


def test_a_database_that_is_away(tmp_path: Path) -> None:
    result = call("--database", "postgresql+psycopg://a:sesame@127.0.0.1:1/b", "watch", "--once")
    assert result.exit_code == 1
    assert "the database cannot be read" in result.stdout
    assert "sesame" not in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--webhook", "ftp://x"], "must begin with https://"),
        (["--webhook", "https://x", "--secret", "short"], "at least 16"),
        (["--email", "ops@example.com"], "--email needs a mail server"),
        (["--queue-late", "soon"], "queue_late"),
        (["--every", "0s"], "every"),
        (["--allow-internal", "10.0.0.0/99", "--ping", "https://x"], "no network"),
    ],
)
def test_wrong_calls(bare: Call, arguments: list[str], message: str) -> None:
    result = bare("watch", "--once", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.slow
def test_it_watches_until_a_signal(database: Database, tmp_path: Path) -> None:
    url = database.url.render_as_string(hide_password=False)
    printed = tmp_path / "printed"
    with application(database) as horae:
        schedule = late(horae)
        with printed.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "horae", "--database", url, "watch", "--json"],
                stdout=output,
                env={**os.environ, "HORAE_WATCH_PING": "http://127.0.0.1:9/"},
            )
            try:
                wait_until(printed.read_text)
                process.send_signal(signal.SIGTERM)
                assert process.wait(20) == 0
            finally:
                process.kill()
                process.wait()
    [line] = printed.read_text().splitlines()
    notice = json.loads(line)
    assert (notice["event"], notice["alert"]["key"]) == ("begun", f"schedule_late:{schedule}")
