"""The hot path: how many statements a start, a claimed batch and a settled batch take."""

import asyncio
from collections.abc import Iterator
from random import Random

import pytest

from horae import Horae
from horae.domain.jobs import NodeId
from horae.runtime.journal.files import Begun
from horae.runtime.journal.journal import entry_of
from horae.runtime.liveness.rescue import Rescuer
from horae.storage.engine import Database
from tests.harness.applications import application, counted_statements, execute
from tests.storage.arrange import NODE, claimed, settled, success

JOBS = 50


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as horae:

        @horae.job(name="import")
        async def _load(number: int = 0) -> None: ...

        horae.jobs.start("import")
        asyncio.run(horae.aio.jobs.start("import"))  # the first call opens connections
        yield horae


def test_a_start_is_one_statement(horae: Horae) -> None:
    with counted_statements(horae) as statements:
        horae.jobs.start("import", number=1)
        horae.jobs.start("import", number=1, owner="alice", delay="1h", meta={"trace": "0"})
        asyncio.run(horae.aio.jobs.start("import"))
    assert len(statements) == 3


def test_starts_that_share_an_insert_are_few_statements(horae: Horae) -> None:
    async def start_all() -> None:
        async with asyncio.TaskGroup() as callers:
            for _ in range(JOBS):
                callers.create_task(horae.aio.jobs.start("import"))

    with counted_statements(horae) as statements:
        asyncio.run(start_all())
    assert len(statements) <= 4


def test_a_batch_is_one_statement_to_start_claim_and_settle(horae: Horae) -> None:
    database = horae.components.database
    settling = 2 if database.is_file else 1  # PostgreSQL also writes the attempts in one statement
    with counted_statements(horae) as statements:
        horae.jobs.start_many("import", [{"number": n} for n in range(JOBS)])
        assert len(statements) == 1
        claims = claimed(database, limit=JOBS)
        assert len(claims) == JOBS
        assert len(statements) == 2
        assert len(settled(database, *map(success, claims)).settled) == JOBS
        assert len(statements) == 2 + settling


@pytest.mark.parametrize("finished", [False, True])
def test_a_rescue_takes_no_statement_for_each_job(horae: Horae, *, finished: bool) -> None:
    """Those that a dead node left are thousands, if they were short or it was slow to write."""
    database, begun = horae.components.database, Begun(None)

    def begun_by(_node: NodeId) -> Begun:
        return begun

    counts: list[int] = []
    for number in (2, JOBS):
        execute(horae, "DELETE FROM horae_jobs")
        horae.jobs.start_many("import", [{"number": n} for n in range(number)])
        claims = claimed(database, limit=number)
        if finished:
            begun = Begun(frozenset(-entry_of(claim) for claim in claims))
        rescuer = Rescuer(horae.registry, Random(0), begun_by)
        with counted_statements(horae) as statements:
            rescued, _ = database.transact(rescuer.rescue, [NODE])
        assert len(rescued) == number
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_runs_that_may_overlap_end_without_a_statement_for_each(horae: Horae) -> None:
    counts: list[int] = []
    for number in (2, JOBS):
        names = [f"{number} {each}" for each in range(number)]
        for name in names:
            horae.schedules.add("import", name=name, cron="0 0 1 1 *", overlap="allow_all")
            horae.schedules.run_now(name)
        claims = claimed(horae.components.database, limit=number + 2)[-number:]
        with counted_statements(horae) as statements:
            ended = settled(horae.components.database, *map(success, claims))
        assert len(ended.runs) == number
        counts.append(len(statements))
    assert counts[0] == counts[1]
