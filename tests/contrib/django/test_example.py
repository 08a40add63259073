"""The bookshop of `examples/django`: its own tests pass, on both databases, and it has no more to write for Horae."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import django
import pytest

from tests.harness.node_processes import ROOT
from tests.harness.postgres import PostgresServer

EXAMPLE: Final = ROOT / "examples" / "django"


def manage(folder: Path, *arguments: str, **variables: str) -> str:
    """Run a command of the project; raises AssertionError with its output if it fails."""
    return run_in(folder, "manage.py", *arguments, **variables)


def run_in(folder: Path, *arguments: str, **variables: str) -> str:
    """Run Python with these arguments; raises AssertionError with its output if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


@pytest.fixture
def bookshop(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "*.db*")
    return shutil.copytree(EXAMPLE, tmp_path / "bookshop", ignore=ignored)


def test_its_tests_pass_on_a_file(bookshop: Path) -> None:
    before = sorted(path.name for path in bookshop.iterdir())
    assert "Ran 6 tests" in manage(bookshop, "test")
    # Django 5.2 cannot share its tests with processes of a fork server, which Python 3.14 starts.
    if sys.version_info < (3, 14) or django.VERSION >= (6,):
        assert "Ran 6 tests" in manage(bookshop, "test", "--parallel", "2")
    assert sorted(path.name for path in bookshop.iterdir()) == before


SPAWNING: Final = """
import multiprocessing
from django.core.management import execute_from_command_line
multiprocessing.set_start_method("spawn")
execute_from_command_line(["manage.py", "test", "--parallel", "2"])
"""


def test_its_tests_pass_in_processes_that_are_not_forked(bookshop: Path) -> None:
    """As on macOS, and with Python 3.14: Django would read the copies of the database into memory there."""
    before = sorted(path.name for path in bookshop.iterdir())
    assert "Ran 6 tests" in run_in(
        bookshop, "-c", SPAWNING, DJANGO_SETTINGS_MODULE="bookshop.settings"
    )
    assert sorted(path.name for path in bookshop.iterdir()) == before


@pytest.mark.slow
def test_its_tests_pass_on_a_server(bookshop: Path, postgres_server: PostgresServer) -> None:
    at = f"127.0.0.1:{postgres_server.port}"
    assert "Ran 6 tests" in manage(bookshop, "test", BOOKSHOP_SERVER=at)


def test_its_migrations_are_complete(bookshop: Path) -> None:
    manage(bookshop, "makemigrations", "--check")


def test_it_needs_few_lines_of_horae() -> None:
    """The lines that name Horae, beyond the use of `horae` itself."""
    lines = [
        line
        for path in EXAMPLE.rglob("*.py")
        if path.name != "tests.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if "horae" in line.lower() and not line.strip().startswith(("#", '"""'))
    ]
    assert len(lines) <= 20, lines
