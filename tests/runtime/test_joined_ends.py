"""Ends that a busy worker of another system writes together with its next claim."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError

from horae import DatabaseUnavailable, Horae, JobContext
from horae.domain.jobs.job import JobId
from horae.runtime.claims.settler import UNSTORABLE
from horae.runtime.inline.message_node import MessageNode
from horae.runtime.timing import InlineTiming, Timing
from horae.storage.engine.database import Database
from horae.storage.outcomes import ending_claim
from tests.harness.applications import attempts_of, execute, url_of
from tests.harness.nodes import until_state
from tests.runtime.test_dispatching import FakeBackend, dispatcher

PATIENT = InlineTiming(join_within=3600.0, short_body=3600.0, busy_within=3600.0)
MakeWorker = Callable[[InlineTiming], MessageNode]
pytestmark = pytest.mark.postgres


@pytest.fixture
def database(postgres_database: Database) -> Database:
    return postgres_database


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with closing(Horae(url_of(database))) as horae:

        @horae.job(backend="celery", max_count=None)
        def export(job: JobContext) -> int:
            return job.id

        @horae.job(backend="celery", max_count=None)
        def fails() -> None:
            raise RuntimeError("no")

        horae.registry.backends["celery"] = FakeBackend()
        yield horae


@pytest.fixture
def make_worker(horae: Horae) -> Iterator[MakeWorker]:
    made: list[MessageNode] = []

    def make(timing: InlineTiming) -> MessageNode:
        made.append(MessageNode(horae.components, "celery", timing=Timing(inline=timing)))
        return made[-1]

    yield make
    for worker in made:
        worker.close()


def sent(horae: Horae, *types: str) -> list[JobId]:
    started = [horae.jobs.start(kind).id for kind in types]
    dispatcher(horae).dispatch()
    return started


def states(horae: Horae, *jobs: JobId) -> list[str]:
    return [horae.jobs.get(job_id).state for job_id in jobs]


async def test_the_end_of_a_short_body_is_written_with_the_next_claim(
    horae: Horae, make_worker: MakeWorker
) -> None:
    worker = make_worker(PATIENT)
    first, second, third = sent(horae, "export", "export", "export")
    worker.run_job(first)  # the process was idle, so the next message may come late
    assert states(horae, first) == ["finished"]
    worker.run_job(second)
    assert states(horae, second) == ["started"]
    statements: list[str] = []
    event.listen(
        horae.components.database.autocommit_engine,
        "before_cursor_execute",
        lambda *args: statements.append(args[2]),
    )
    worker.run_job(third)
    assert len(statements) == 1
    assert states(horae, second, third) == ["finished", "started"]
    assert horae.jobs.get(second).result == second
    assert len(attempts_of(horae, second)) == 1
    worker.close()
    assert states(horae, third) == ["finished"]
    assert horae.audit().findings == []


async def test_an_end_does_not_wait_long_for_a_claim(horae: Horae, make_worker: MakeWorker) -> None:
    worker = make_worker(InlineTiming(busy_within=3600.0, short_body=3600.0))
    first, second = sent(horae, "export", "export")
    worker.run_job(first)
    worker.run_job(second)
    await until_state(horae, second, "finished")


@pytest.mark.parametrize(
    "timing",
    [
        InlineTiming(join_within=3600.0, busy_within=3600.0, short_body=0.0),
        InlineTiming(busy_within=0.0),
    ],
)
async def test_ends_are_written_at_once(
    horae: Horae, make_worker: MakeWorker, timing: InlineTiming
) -> None:
    worker = make_worker(timing)
    jobs = sent(horae, "export", "export")
    for job_id in jobs:
        worker.run_job(job_id)
        assert states(horae, job_id) == ["finished"]


async def test_failures_are_written_at_once(horae: Horae, make_worker: MakeWorker) -> None:
    worker = make_worker(PATIENT)
    first, failing = sent(horae, "export", "fails")
    worker.run_job(first)
    worker.run_job(failing)
    assert states(horae, failing) == ["failed"]


@pytest.fixture
def waiting(horae: Horae, make_worker: MakeWorker) -> tuple[MessageNode, JobId, JobId]:
    """A worker, a job of which the end waits, and one that was sent."""
    worker = make_worker(PATIENT)
    first, ended, other = sent(horae, "export", "export", "export")
    worker.run_job(first)
    worker.run_job(ended)
    assert states(horae, ended) == ["started"]
    return worker, ended, other


async def test_a_message_that_comes_twice(
    horae: Horae, waiting: tuple[MessageNode, JobId, JobId]
) -> None:
    worker, ended, other = waiting
    assert not worker.run_job(ended)
    assert states(horae, ended, other) == ["finished", "pending"]
    assert len(attempts_of(horae, ended)) == 1


async def test_a_job_that_is_cancelled_while_its_end_waits(
    horae: Horae, waiting: tuple[MessageNode, JobId, JobId]
) -> None:
    worker, ended, other = waiting
    horae.jobs.cancel(ended)
    assert worker.run_job(other)
    worker.close()
    assert states(horae, ended, other) == ["cancelled", "finished"]
    assert horae.jobs.get(ended).node_id is None


async def test_a_result_that_cannot_be_stored(
    horae: Horae, waiting: tuple[MessageNode, JobId, JobId]
) -> None:
    worker, ended, other = waiting
    execute(
        horae,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$",
    )
    execute(
        horae,
        f"CREATE TRIGGER refuse BEFORE UPDATE ON horae_jobs FOR EACH ROW "
        f"WHEN (old.id = {ended} AND new.state = 'finished') EXECUTE FUNCTION refuse()",
    )
    assert worker.run_job(other)
    worker.close()
    assert states(horae, ended, other) == ["failed", "finished"]
    assert horae.jobs.get(ended).human_readable_error == UNSTORABLE


@pytest.mark.parametrize("committed", [True, False])
async def test_an_answer_that_is_lost(
    horae: Horae,
    waiting: tuple[MessageNode, JobId, JobId],
    monkeypatch: pytest.MonkeyPatch,
    *,
    committed: bool,
) -> None:
    worker, ended, other = waiting

    def lose(*args: Any) -> Any:
        if committed:
            ending_claim.end_and_claim(*args)
        error = psycopg.OperationalError("the connection is lost")
        raise DBAPIError.instance("UPDATE", (), error, psycopg.Error, connection_invalidated=True)

    monkeypatch.setattr("horae.runtime.inline.message_node.end_and_claim", lose)
    with pytest.raises(DatabaseUnavailable):
        worker.run_job(other)
    await until_state(horae, ended, "finished")
    assert horae.jobs.get(ended).result == ended
    await until_state(horae, other, "pending")
    assert len(attempts_of(horae, ended)) == 1
    monkeypatch.undo()
    dispatcher(horae).dispatch()
    assert worker.run_job(other)
    worker.close()
    assert states(horae, other) == ["finished"]
    assert horae.audit().findings == []


def test_a_fork_leaves_the_ends_to_its_parent(
    horae: Horae, waiting: tuple[MessageNode, JobId, JobId]
) -> None:
    worker, ended, _ = waiting
    child = os.fork()
    if child == 0:
        worker.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert states(horae, ended) == ["started"]
