"""The demonstration: what `make demo ONCE=1` prints is what happens."""

import subprocess
import sys

import pytest

from tests.e2e.serving import ROOT


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_all_parts_come_out_right() -> None:
    command = [sys.executable, "-m", "examples.demo", "--once"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stdout[-3000:] + shown.stderr[-3000:]
    assert shown.stdout.splitlines()[-1] == "All five came out right."
