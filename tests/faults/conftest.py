"""Bodies of fault tests log what they do, and each test ends with the outside checker."""

from pathlib import Path

import pytest

from tests.harness.body_log import LOG_VARIABLE
from tests.harness.forked import start_fork_server
from tests.harness.node_processes import BODY_LOG

HERE = Path(__file__).parent


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the fork server before the first test: on a busy machine its imports took longer than a test may take."""
    if not session.config.option.collectonly and any(
        item.path.is_relative_to(HERE) for item in session.items
    ):
        start_fork_server()


@pytest.fixture(autouse=True)
def body_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that bodies log to, in this process as in those of nodes."""
    monkeypatch.setenv(LOG_VARIABLE, str(tmp_path / BODY_LOG))
    return tmp_path / BODY_LOG
