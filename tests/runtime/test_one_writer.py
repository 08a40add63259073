"""SQLite has one writer: a body that holds its lock delays others, and does no other harm."""

import asyncio
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Horae, JobContext, JobState, JobStopped
from horae.runtime.liveness.membership import FileMembership
from horae.runtime.timing import SweeperTiming, Timing
from tests.harness.applications import attempt_of, attempts_of, rows
from tests.harness.figures import figure
from tests.harness.nodes import running_node, until, until_released, until_set, until_state
from tests.harness.waiting import Record, until_stored


@pytest.fixture
def horae(tmp_path: Path, migrated_sqlite: Path) -> Iterator[Horae]:
    file = tmp_path / "horae.db"
    shutil.copy(migrated_sqlite, file)
    with closing(Horae(f"sqlite:///{file}")) as horae:
        with horae.components.database.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE effects (job INTEGER NOT NULL)")
        yield horae


class Holder:
    """A body that holds the write lock until it is released, or told to stop."""

    def __init__(self, horae: Horae) -> None:
        self.holds, self.release, self.stopped_at = threading.Event(), threading.Event(), 0.0

        @horae.job(transaction="read committed")
        def hold(job: JobContext) -> str:
            job.connection.exec_driver_sql(f"INSERT INTO effects VALUES ({job.id})")
            self.holds.set()
            try:
                while not self.release.is_set():
                    job.progress.set(40, "holding")
            except JobStopped:
                self.stopped_at = time.monotonic()
                raise
            return "done"


async def test_starts_wait_and_reading_goes_on(horae: Horae) -> None:
    holder = Holder(horae)

    @horae.job
    async def other() -> int:
        return 1

    async with running_node(horae):
        held = await horae.aio.jobs.start("hold")
        await until_set(holder.holds)
        async with asyncio.TaskGroup() as group:
            starting = group.create_task(horae.aio.jobs.start(other))

            async def shown() -> bool:
                seen = await horae.aio.jobs.get(held.id)
                return (seen.progress_percentage, seen.label) == (40, "holding")

            await until(shown)
            assert len((await horae.aio.jobs.list()).jobs) == 1
            assert not starting.done()
            holder.release.set()
        assert await horae.aio.jobs.wait(starting.result().id, timeout="20s") == 1
        assert (await until_state(horae, held.id, "finished")).result == "done"


async def test_no_node_is_declared_dead_meanwhile(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other node looks often, and can write nothing either."""
    holder = Holder(horae)
    other = Horae(horae.settings.database, busy_timeout=timedelta(milliseconds=100))
    looks = Record[int]()
    find_dead = "horae.runtime.liveness.membership.FileMembership.find_dead"

    def counted(self: object) -> object:
        looks.append(1)
        return original(self)  # type: ignore[arg-type]

    original = FileMembership.find_dead
    monkeypatch.setattr(find_dead, counted)
    with closing(other):
        async with (
            running_node(horae, timing=Timing(sweeper=SweeperTiming(round=0.05))) as one,
            running_node(other, timing=Timing(sweeper=SweeperTiming(round=0.05))) as two,
        ):
            held = await horae.aio.jobs.start("hold")
            await until_set(holder.holds)
            seen = len(looks)
            await looks.reaches(seen + 6)
            listed = {node_id for (node_id,) in rows(horae, "SELECT id FROM horae_nodes")}
            assert listed == {one.id, two.id}
            holder.release.set()
            assert (await until_state(horae, held.id, "finished", "failed")).result == "done"
    assert attempts_of(horae, held.id) == ["finished"]


@pytest.mark.parametrize("crowd", [0, 20])
async def test_it_can_be_cancelled(horae: Horae, crowd: int) -> None:
    """Also while more callers wait for the lock than there are threads for the database."""
    holder = Holder(horae)

    @horae.job
    async def other() -> int:
        return 1

    async with running_node(horae):
        held = await horae.aio.jobs.start("hold")
        await until_set(holder.holds)
        async with asyncio.TaskGroup() as group:
            asked = time.monotonic()
            cancelling = group.create_task(horae.aio.jobs.cancel(held.id, by="bob"))
            for _ in range(crowd):
                group.create_task(horae.aio.jobs.start(other))
        cancelled = cancelling.result()
        figure(
            f"a body that holds the lock, {crowd} callers waiting: heard after "
            f"{holder.stopped_at - asked:.2f} s, cancelled within {time.monotonic() - asked:.2f} s"
        )
        assert holder.stopped_at - asked < horae.settings.busy_timeout.total_seconds()
        assert (cancelled.state, cancelled.cancelled_by) == (JobState.CANCELLED, "bob")
        await until_released(horae, held.id)
    assert rows(horae, "SELECT job FROM effects") == []
    assert attempts_of(horae, held.id) == ["cancelled"]


async def test_a_body_that_commits_first_cannot_be_cancelled(horae: Horae) -> None:
    holds, release = threading.Event(), threading.Event()

    @horae.job(transaction="read committed")
    def deaf(job: JobContext) -> str:
        job.connection.exec_driver_sql(f"INSERT INTO effects VALUES ({job.id})")
        holds.set()
        release.wait(20)
        vars(attempt_of(job))["take_order"] = lambda _order, **_: None
        return "done"

    async with running_node(horae):
        held = await horae.aio.jobs.start(deaf)
        await until_set(holds)
        async with asyncio.TaskGroup() as group:
            cancelling = group.create_task(_outcome(horae, held.id))
            release.set()
        job = await until_released(horae, held.id)
    expected = {"finished": "JobNotCancellable", "cancelled": "cancelled"}
    assert cancelling.result() == expected[job.state]
    assert (rows(horae, "SELECT job FROM effects") == [(held.id,)]) == (job.state == "finished")


async def _outcome(horae: Horae, job_id: int) -> str:
    try:
        return (await horae.aio.jobs.cancel(job_id)).state.value
    except Exception as error:  # noqa: BLE001 - which it is, is the question
        return type(error).__name__


async def test_a_lock_that_is_held_too_long_is_an_error_that_names_it(horae: Horae) -> None:
    holder = Holder(horae)
    impatient = Horae(horae.settings.database, busy_timeout=timedelta(milliseconds=50))

    @impatient.job
    async def other() -> int:
        return 1

    with closing(impatient):
        async with running_node(horae):
            held = await horae.aio.jobs.start("hold")
            await until_set(holder.holds)
            with pytest.raises(Exception, match="horae doctor"):
                await impatient.aio.jobs.start(other)
            holder.release.set()
            await until_state(horae, held.id, "finished")


async def test_a_node_that_cannot_unregister_itself_still_counts_as_left(horae: Horae) -> None:
    holder = Holder(horae)
    impatient = Horae(horae.settings.database, busy_timeout=timedelta(milliseconds=50))
    with closing(impatient):
        async with running_node(horae, timing=Timing(sweeper=SweeperTiming(round=0.2))):
            async with running_node(impatient) as leaving:
                held = await horae.aio.jobs.start("hold")
                await until_set(holder.holds)
            assert (leaving.id,) in rows(horae, "SELECT id FROM horae_nodes")
            holder.release.set()
            await until_state(horae, held.id, "finished")
            await until_stored(
                horae, lambda: (leaving.id,) not in rows(horae, "SELECT id FROM horae_nodes")
            )
