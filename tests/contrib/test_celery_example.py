"""The demonstration of jobs in a Celery worker (`make demo-celery`)."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]


def run(**environment: str) -> "subprocess.CompletedProcess[str]":
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    variables = {**os.environ, "PYTHONPATH": paths, **environment}
    command = [sys.executable, "-m", "examples.celery", "--once"]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_it_ends_by_itself_when_all_came_out_right() -> None:
    ended = run()
    assert (ended.returncode, "All 6 came out right." in ended.stdout) == (0, True), (
        ended.stdout + ended.stderr
    )


def test_what_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    ended = run(PATH=str(tmp_path))
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.startswith("The demonstration cannot run: no Redis server found")
    assert ended.stdout.count("\n") == 1
