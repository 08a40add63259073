"""A node whose database gets tables that it cannot use: it claims no more jobs, finishes its own, and ends."""

import threading
from asyncio import TaskGroup

import pytest
from sqlalchemy import Connection

from horae import Horae, SchemaMismatch
from horae.domain.jobs.job import JobState
from horae.runtime.timing import Timing
from horae.storage.migrations import runner
from horae.storage.migrations.version import HEAD
from horae.storage.nodes import nodes
from tests.harness.applications import execute
from tests.harness.nodes import running_node, until_set, until_state
from tests.harness.waiting import until_logged

NEWER = "UPDATE horae_alembic_version SET version_num = '9999', oldest_compatible = :oldest"
AT_ONCE = Timing(schema_every=0.02)


async def test_it_ends_in_an_orderly_way(horae: Horae, caplog: pytest.LogCaptureFixture) -> None:
    begun, release = threading.Event(), threading.Event()

    @horae.job
    def work() -> str:
        begun.set()
        release.wait()
        return "done"

    first = horae.jobs.start(work).id
    later = list[int]()

    async def migrate() -> None:
        await until_set(begun)
        execute(horae, NEWER, oldest="9999")
        await until_logged(
            caplog,
            "claims no more jobs and ends after its grace period: this database was migrated",
        )
        later.append(horae.jobs.start(work).id)
        release.set()

    async with TaskGroup() as tasks:
        tasks.create_task(migrate())
        with pytest.raises(SchemaMismatch, match=r"newer version \(revision 9999"):
            await horae.node(concurrency=1, timing=AT_ONCE).run()
    assert horae.jobs.get(first).state is JobState.FINISHED
    assert horae.jobs.get(later[0]).state is JobState.PENDING
    assert horae.components.database.autocommit(nodes.view) == []


async def test_it_goes_on_with_newer_tables_that_it_can_use(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, check = threading.Event(), runner.check_open

    def checking(connection: Connection) -> None:
        check(connection)
        checked.set()

    @horae.job
    def work() -> None: ...

    execute(horae, NEWER, oldest=HEAD)
    async with running_node(horae, timing=AT_ONCE):  # it starts beside them as well
        monkeypatch.setattr(runner, "check_open", checking)
        await until_set(checked)
        await until_state(horae, horae.jobs.start(work).id, "finished")
