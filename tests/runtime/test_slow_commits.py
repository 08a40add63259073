"""A commit that the server does not answer, as one that has lost its synchronous standby to a promotion."""

import logging
from datetime import timedelta

import pytest

from horae import Backoff, Horae, JobContext
from horae.runtime.timing import RunMonitorTiming, Timing
from tests.harness.applications import attempts_of, execute, rows
from tests.harness.nodes import running_node, signals_of, until, until_released

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]

HANGING = """
    CREATE TABLE effects (job BIGINT NOT NULL, attempt INTEGER NOT NULL);
    CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.attempt = 1 THEN PERFORM pg_sleep(1.5); END IF;
            RETURN NULL;
        END $$;
    CREATE CONSTRAINT TRIGGER hangs AFTER INSERT ON effects
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hang();
"""
WAITS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' AND wait_event = 'PgSleep'"
SHUT_DOWN = "its connection is shut down"
SOON = Backoff(base=timedelta(seconds=0.01), jitter=0)


@pytest.fixture
def effects(horae: Horae) -> None:
    execute(horae, HANGING)


@pytest.fixture(params=["sync", "async"])
def writes(request: pytest.FixtureRequest, horae: Horae, effects: None) -> str:
    """The name of a job type that writes within its transaction."""
    insert = "INSERT INTO effects VALUES ({0.id}, {0.attempt})"
    if request.param == "sync":

        @horae.job(transaction="read committed", max_attempts=2, backoff=SOON)
        def write(job: JobContext) -> None:
            job.connection.exec_driver_sql(insert.format(job))

    else:

        @horae.job(name="write", transaction="read committed", max_attempts=2, backoff=SOON)
        async def write_async(job: JobContext) -> None:
            await job.async_connection.exec_driver_sql(insert.format(job))

    return "write"


def timing(within: float, after_loss: float) -> Timing:
    return Timing(run_monitor=RunMonitorTiming(commit_within=within, commit_after_loss=after_loss))


async def test_a_job_whose_commit_took_effect_after_all_is_finished_once(
    horae: Horae, writes: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "horae.runtime"):
        async with running_node(horae, timing=timing(0.2, 60.0)):
            job = await horae.aio.jobs.start(writes)
            await until_released(horae, job.id)
    assert SHUT_DOWN in caplog.text
    assert attempts_of(horae, job.id) == ["finished"]
    assert rows(horae, "SELECT job, attempt FROM effects") == [(job.id, 1)]


async def test_a_job_whose_commit_is_lost_is_attempted_again(
    horae: Horae, writes: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_node(horae, timing=timing(60.0, 0.1)) as node:
        job = await horae.aio.jobs.start(writes)
        [(pid,)] = await until(lambda: rows(horae, WAITS))
        signals_of(node).contact_regained.send()  # the server may be another one from now on
        await until(lambda: SHUT_DOWN in caplog.text)
        execute(horae, "SELECT pg_terminate_backend(:pid)", pid=pid)
        await until_released(horae, job.id)
    assert rows(horae, "SELECT job, attempt FROM effects") == [(job.id, 2)]
    assert attempts_of(horae, job.id) == ["failed", "finished"]
