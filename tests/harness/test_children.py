"""What a node forks in tests is like what it starts elsewhere, and ends with it."""

import os
from pathlib import Path

import pytest

from horae import Horae
from horae.runtime.liveness import heartbeat
from horae.storage.engine import Database
from tests.harness.applications import application, rows
from tests.harness.children import ForkedChildren, spawn_children, start_forked_helper
from tests.harness.nodes import running_node, until
from tests.runtime.test_heartbeat import LIMITS, helper_of


@pytest.mark.postgres
async def test_the_helper_of_a_heartbeat_is_forked_and_beats(postgres_database: Database) -> None:
    with application(postgres_database) as horae:
        async with running_node(horae, liveness=LIMITS) as node:
            helper = helper_of(node)
            await until(lambda: rows(horae, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'"))
            assert helper_of(node) == helper, "it has ended, and another one was started"
            assert b"fork_server" in program_of(helper)
            before = beat_of(horae)
            await until(lambda: beat_of(horae) != before)
        await until(lambda: not is_there(helper))


def is_there(process: int | None) -> bool:
    return Path(f"/proc/{process}").exists()


def program_of(process: int | None) -> bytes:
    return Path(f"/proc/{process}/cmdline").read_bytes()


def beat_of(horae: Horae) -> object:
    return rows(horae, "SELECT heartbeat_at, process_ended FROM horae_nodes")


def test_a_child_sees_the_environment_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORAE_TEST_SEEN", "yes")
    child = ForkedChildren().Process(target=_leave_if_seen, args=(os.getpid(),), daemon=False)
    child.start()
    child.join(30)
    assert child.exitcode == 7


def _leave_if_seen(parent: int) -> None:
    os._exit(7 if os.environ.get("HORAE_TEST_SEEN") == "yes" and os.getppid() != parent else 1)


def test_after_a_test_that_replaced_what_is_spawned_helpers_are_forked_again() -> None:
    with pytest.MonkeyPatch.context() as patch:
        spawn_children(patch)
        patch.setattr(heartbeat, "start_helper", lambda *_: None)
    assert vars(heartbeat)["start_helper"] is start_forked_helper
