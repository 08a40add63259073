"""`horae run --reload`: the process is replaced when code changes, and the jobs of the old one end in order."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import pytest

from horae.cli.serving.reloading import Reloading, command_without_reload
from horae.errors import ConfigurationError

PATIENCE: Final = 60
ONE: Final = """
from horae import Horae
horae = Horae("sqlite:///jobs.db")

@horae.job
def first() -> None: ...
"""
TWO: Final = f"{ONE}\n@horae.job\ndef second() -> None: ...\n"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "shop.py").write_text(ONE)
    (tmp_path / "horae.toml").write_text('app = "shop:horae"')
    running = subprocess.Popen(
        [sys.executable, "-m", "horae", "run", "--reload", "--no-api"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    yield running
    running.terminate()
    running.communicate(timeout=PATIENCE)


def line_with(stream: IO[str] | None, words: str) -> str:
    assert stream is not None
    return next(line for line in stream if words in line)


@pytest.mark.slow
def test_a_change_replaces_the_process_and_a_broken_one_waits_for_the_next(
    program: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert "1 job type," in line_with(program.stdout, "is ready")
    (tmp_path / "shop.py").write_text("1 / 0\n")
    line_with(program.stderr, "changed: shop.py; restarting")
    line_with(program.stderr, "SIGTERM: shutting down")
    line_with(program.stderr, "ZeroDivisionError")
    line_with(program.stderr, "the process ended with 2; the next change starts it")
    (tmp_path / "shop.py").write_text(TWO)
    assert "2 job types," in line_with(program.stdout, "is ready")
    program.send_signal(signal.SIGTERM)
    assert program.wait(PATIENCE) == 0
    assert "SIGTERM: shutting down" in program.communicate()[1]


def test_the_package_is_an_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'horae\[reload\]'"):
        Reloading([], tmp_path).run()


def test_the_child_runs_the_same_command_without_the_flag() -> None:
    command = ["python", "-m", "horae", "run", "--reload", "app:horae", "--no-api"]
    assert command_without_reload(command) == [
        *(sys.executable, "-m", "horae", "run", "app:horae", "--no-api")
    ]
