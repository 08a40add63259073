"""Redis is killed while nodes run jobs, stays away, and comes back: only live state and hints are missing meanwhile."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from sqlalchemy import text

from horae import Horae, JobState
from horae.live.redis import RedisLiveStore
from horae.storage.engine import Database
from tests.harness.applications import url_of
from tests.harness.checked import findings
from tests.harness.fault_application import SCHEMA, fault_application
from tests.harness.node_processes import NodeProcess, wait_until
from tests.harness.redis import RedisServer

JOBS = 15
"""Jobs of each kind that are started in each phase."""
KINDS = ("threaded", "looped", "fragile")


@pytest.fixture
def own_redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    """A server that this test may kill; the nodes and this process use it."""
    with RedisServer() as server:
        monkeypatch.setenv("HORAE_REDIS", server.url())
        yield server


def start(horae: Horae) -> int:
    for kind in KINDS:
        horae.jobs.start_many(kind, [{"seed": number} for number in range(JOBS)])
    return len(KINDS) * JOBS


@pytest.mark.slow
def test_jobs_end_once_while_redis_is_away_and_after_it_is_back(
    database: Database, own_redis: RedisServer, tmp_path: Path, body_log: Path
) -> None:
    database.transact(lambda connection: connection.execute(text(SCHEMA)))
    with ExitStack() as stack:
        horae = stack.enter_context(closing(fault_application(url_of(database))))
        assert isinstance(horae.components.live, RedisLiveStore)
        nodes = [stack.enter_context(NodeProcess(database, tmp_path)) for _ in "ab"]
        for node in nodes:
            node.ready()

        def finished() -> int:
            return horae.jobs.count().get(JobState.FINISHED, 0)

        started = start(horae)
        wait_until(lambda: finished() >= JOBS)
        own_redis.kill()  # with jobs under way, whose progress and cancels go through it
        started += start(horae)
        cancelled = horae.jobs.start("fragile", delay="1h", seed=1)
        assert horae.jobs.cancel(cancelled.id).state is JobState.CANCELLED
        wait_until(lambda: finished() == started, within=60)
        own_redis.start()
        started += start(horae)
        wait_until(lambda: finished() == started, within=60)
        assert horae.jobs.count() == {JobState.FINISHED: started, JobState.CANCELLED: 1}
        assert list(horae.audit().findings) == []
        assert [node.end() for node in nodes] == [os.EX_OK] * 2
    assert findings(database, body_log) == []
