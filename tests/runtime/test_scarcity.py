"""A machine that has no file descriptor left for a while: the node continues."""

import errno
from typing import Any

import pytest

from horae import Horae
from horae.runtime.liveness.membership import FileMembership
from horae.storage.engine.database import Database
from tests.harness.applications import application
from tests.harness.nodes import running_node, until_state
from tests.harness.waiting import until_logged


async def test_a_node_outlives_a_lack_of_descriptors(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    left = iter(range(2))

    def look(_membership: Any) -> bool:
        if next(left, None) is not None:
            raise OSError(errno.EMFILE, "Too many open files")
        return False

    monkeypatch.setattr(FileMembership, "may_miss_a_node", property(look))
    if database.dialect != "sqlite":
        monkeypatch.setattr("horae.runtime.liveness.membership.DatabaseMembership.may_miss_a_node", property(look))
    with application(database) as horae:
        async with running_node(with_work(horae)):
            await until_logged(caplog, "the sweeper failed for lack of a resource")
            job = await horae.aio.jobs.start("work")
            await until_state(horae, job.id, "finished")


def with_work(horae: Horae) -> Horae:
    @horae.job
    def work() -> None: ...

    return horae
