"""The failed tests that `.ci/run` lists at its end."""

import subprocess
import sys
from pathlib import Path

from tests.harness.failed import failed_last

TESTS = """
def test_holds(): pass
def test_breaks(): assert False
"""


def test_the_tests_that_failed_last_are_named(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:randomly",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode == 1
    assert failed_last(tmp_path / ".pytest_cache/v/cache/lastfailed") == [
        "test_one.py::test_breaks"
    ]


def test_no_test_is_listed_if_none_was_run(tmp_path: Path) -> None:
    assert failed_last(tmp_path / "lastfailed") == []
