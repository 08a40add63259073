"""A process of the fork server is like one of `python -m`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.forked import ROOT, ForkedProcess
from tests.harness.node_processes import wait_until

PROGRAM = """
import os, signal, sys
print(__name__, sys.argv[1:], os.getcwd(), os.environ["GIVEN"], "OTHER" in os.environ, __spec__.name)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, flush=True)
if sys.argv[1] == "wait":
    sys.stdin.read()
sys.exit(7)
"""
FORGETFUL = """
from pathlib import Path
from tests.harness.forked import ForkedProcess
import os, sys
process = ForkedProcess("program", ["wait"], environment={"GIVEN": "1"}, folder=Path(sys.argv[1]), stdin=-1)
print(process.pid, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def started(folder: Path, *arguments: str) -> ForkedProcess:
    pipe = subprocess.PIPE
    return ForkedProcess(
        "program", arguments, environment={"GIVEN": "yes"}, folder=folder, stdin=pipe, stdout=pipe
    )


def test_it_has_its_own_arguments_folder_environment_and_exit_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER", "1")
    process = started(folder, "a", "b")
    printed, _ = process.communicate(30)
    assert printed == f"__main__ ['a', 'b'] {folder} yes False program\nTrue\n"
    assert (process.returncode, process.poll()) == (7, 7)


def test_it_runs_until_it_is_killed_or_its_input_ends(folder: Path) -> None:
    one, other = started(folder, "wait"), started(folder, "wait")
    assert one.stdout is not None
    assert one.stdout.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        one.wait(0.01)
    one.kill()
    one.communicate(30)
    other.communicate(30)
    assert (one.returncode, other.returncode) == (-signal.SIGKILL, 7)


def test_it_does_not_outlive_the_process_that_started_it(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-c", FORGETFUL, str(folder)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    pid = int(ended.stdout)
    wait_until(lambda: not Path(f"/proc/{pid}").exists() or is_zombie(pid))


def is_zombie(pid: int) -> bool:
    """Whether it has ended, and only its parent has not noticed yet."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(") ")[-1].startswith("Z")
