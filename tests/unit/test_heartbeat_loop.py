"""The process that sends a node's heartbeats, when its connection is lost."""

import os
from typing import Any

import pytest

from horae.storage.nodes import heartbeat_process
from horae.storage.nodes.heartbeat_process import (
    HeartbeatLoop,
    HelperConfig,
    NodeEnded,
    NodeProcess,
    ServerConnection,
)


def test_the_others_are_notified_of_a_node_that_ends_between_two_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    executed: list[str] = []
    reported: list[str] = []

    class EndsLater(NodeProcess):
        def __init__(self) -> None:
            self.pid, self.is_gone = os.getppid(), True

        def wait(self, seconds: float, descriptor: int | None = None, events: int = 0) -> bool:
            if seconds > 0:  # the pause after the first attempt to connect
                raise NodeEnded
            return False

    class SecondAttempt(ServerConnection):
        attempts = 0

        def __init__(self, *_: Any) -> None:
            type(self).attempts += 1
            if self.attempts == 1:
                raise OSError("the server starts")

        def finish(self, timeout: float) -> None: ...

        def execute(self, statement: tuple[str, list[str]], timeout: float) -> list[str | None]:
            executed.append(statement[0])
            return []

    monkeypatch.setattr(heartbeat_process, "ServerConnection", SecondAttempt)
    monkeypatch.setattr(heartbeat_process, "report", reported.append)
    config: HelperConfig = {
        "path": [],
        "node": 1,
        "connect": {},
        "bounds": None,
        "lock": None,
        "beat": ("beat", []),
        "ended": ("ended", []),
        "every": 1.0,
        "timeout": 1.0,
    }
    HeartbeatLoop(config, EndsLater()).run()
    assert (reported, executed) == (["lost 0 the server starts"], ["ended"])
