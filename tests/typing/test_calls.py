"""mypy and pyright accept the calls of `calls.py` that they should accept, and no others."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
CALLS: Final = "tests/typing/calls.py"


@pytest.mark.slow
def test_mypy() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", CALLS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_pyright() -> None:
    if shutil.which("node") is None and not (ROOT / ".venv" / "bin" / "node").exists():
        pytest.skip("pyright needs Node.js, which `make web` installs")
    done = subprocess.run(
        ["scripts/with-node", sys.executable, "-m", "pyright", CALLS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
