"""Bodies of fault tests log what they do, and each test ends with the outside checker."""

from pathlib import Path

import pytest

from tests.harness.body_log import LOG_VARIABLE
from tests.harness.node_processes import BODY_LOG


@pytest.fixture(autouse=True)
def body_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that bodies log to, in this process as in those of nodes."""
    monkeypatch.setenv(LOG_VARIABLE, str(tmp_path / BODY_LOG))
    return tmp_path / BODY_LOG
