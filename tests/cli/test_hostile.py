"""Whatever the arguments are, the answer is a line and an exit code, never a traceback."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.cli.conftest import call

LONG: Final = "9" * 4301
HOSTILE: Final = [
    ["schedules", "show", LONG],
    ["schedules", "show", "a\x1b[2J\nb"],
    ["schedules", "pause", "²"],
    ["jobs", "show", LONG],
    ["jobs", "show", "-1"],
    ["jobs", "cancel", str(2**63)],
    ["jobs", "list", "--owner", "\n"],
    ["jobs", "list", "--limit", LONG],
    ["jobs", "start", "work", "a=" + "[" * 5000],
    ["queues", "pause", "a\nb"],
    ["queues", "limit", "a", LONG],
    ["cron", "next", "9" * 5000],
    ["nodes", "list", "--json"],
    ["types", "show", "\x7f"],
    ["--database", "postgresql://u:hunter2@h:port/n", "jobs", "list"],
    ["--database", "sqlite:////", "jobs", "list"],
    ["--database", "sqlite:////proc", "doctor"],
    ["--database", "postgresql://[::1/n", "doctor"],
    ["--database", "mysql://h/n", "doctor"],
    ["--database", "", "migrate", "status"],
    ["--app", "a:b:c", "jobs", "list"],
    ["--app", ":", "types", "list"],
    ["--app", "os:path", "types", "list"],
    ["run", "--grace", LONG],
]


@pytest.mark.parametrize(
    "typed", HOSTILE, ids=lambda typed: " ".join(typed)[:40].encode("ascii", "replace").decode()
)
def test_each_odd_input_gives_one_line_and_an_exit_code(
    typed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HORAE_DATABASE", f"sqlite:///{tmp_path}/horae.db")
    answered = call(*typed)
    assert answered.exit_code in {0, 1, 2}
    assert "Traceback" not in answered.output + answered.stderr
    assert "unexpected error" not in answered.stderr
    assert "hunter2" not in answered.output + answered.stderr


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    program: list[str | bytes] = [sys.executable, "-m", "horae", "jobs", "list", "--owner", b"\xff"]
    answered = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (answered.returncode, answered.stdout) == (2, "")
    assert answered.stderr == "Error: an argument is not valid UTF-8 or contains a NUL character\n"
