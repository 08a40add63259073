"""The checks at the end of a soak find what they are meant to find."""

import os
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, create_engine, text

from benchmarks.soak import application, checks, history
from benchmarks.soak.calls import Calls, Worker
from benchmarks.soak.faults import Disturbance
from benchmarks.soak.measures import process_figures, table_figures
from benchmarks.soak.run import disturbed, unexpected_lines
from horae import Horae
from horae.errors import Unavailable
from horae.storage.engine import Database
from tests.harness.applications import declare_as, url_of

pytestmark = pytest.mark.one_database


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    for statement in (application.EFFECTS, application.CREATIONS):
        database.transact(Connection.execute, text(statement))
    with closing(Horae(url_of(database))) as horae:
        declare_as(horae, application.horae)
        yield horae


@pytest.fixture
def engine(horae: Horae) -> Iterator[Engine]:
    engine = create_engine(horae.components.database.url)
    yield engine
    engine.dispose()


def execute(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.execute(text(statement))


class TestHistory:
    def test_rows_deleted_by_the_clean_up_are_restored(self, horae: Horae, engine: Engine) -> None:
        history.keep_deleted_rows(engine)
        horae.schedules.add(
            application.paced, name="often", every="1h", fixed=True, config={"seconds": [0.0]}
        )
        job = horae.jobs.start("transactional", seed=1, sync=True)
        horae.jobs.clean_up("0s")
        assert history.jobs(engine) == {}
        assert history.put_back(engine) == []
        assert history.jobs(engine) == {"finished": 1}
        assert horae.jobs.attempts(job.id)
        assert [len(moments) for moments in history.moments(engine)] == [1, 1]

    def test_a_row_that_came_back_is_found(self, horae: Horae, engine: Engine) -> None:
        history.keep_deleted_rows(engine)
        horae.jobs.start("quick", sync=True)
        horae.jobs.clean_up("0s")
        execute(engine, "INSERT INTO horae_jobs SELECT * FROM deleted_horae_jobs")
        [problem] = history.put_back(engine)
        assert "horae_jobs" in problem

    def test_pick_ups(self, horae: Horae, engine: Engine) -> None:
        horae.jobs.start("quick", sync=True)
        [(due, began)] = history.pick_ups(engine)
        assert 0 <= began - due < 60


class TestRulesOfTheApplication:
    @pytest.mark.parametrize(
        ("change", "found"),
        [
            ("DELETE FROM creations", "jobs without what their hook wrote with them"),
            (
                "INSERT INTO creations VALUES (999)",
                "rows that a hook wrote for a job that does not exist",
            ),
            (
                "UPDATE horae_jobs SET state = 'failed' WHERE type = 'transactional'",
                "transactional jobs that failed without an attempt that failed",
            ),
        ],
    )
    def test_each_broken_rule_is_found(
        self, horae: Horae, engine: Engine, change: str, found: str
    ) -> None:
        horae.jobs.start("transactional", seed=1, sync=True)
        horae.jobs.start("hooked")
        assert history.broken(engine) == []
        execute(engine, change)
        assert any(found in problem for problem in history.broken(engine))


def test_the_outside_checker_names_a_job_that_never_ended(horae: Horae, tmp_path: Path) -> None:
    job = horae.jobs.start("quick")
    found = checks.outside(url_of(horae.components.database), tmp_path / "bodies.log")
    assert any(f"job {job.id} " in problem for problem in found)


def test_figures_of_processes_and_tables(engine: Engine) -> None:
    assert process_figures(os.getpid())["memory"][0] > 1
    with engine.connect() as connection:
        found = {
            (figure, subject): value for figure, subject, value, _ in table_figures(connection)
        }
    assert found["rows", "horae_jobs"] == 0
    assert found["size", "horae_jobs"] > 0


def test_unexpected_lines_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "node-1.log"
    log.write_text(
        "INFO all is well\n2026 ERROR asyncio: Task exception was never retrieved\nValueError: expected\n"
    )
    assert unexpected_lines(log) == [
        "node-1.log: 2026 ERROR asyncio: Task exception was never retrieved"
    ]


@pytest.mark.parametrize(("at", "found"), [(9.0, False), (10.0, True), (14.9, True), (15.1, False)])
def test_measurements_soon_after_a_fault_are_marked_as_disturbed(at: float, found: bool) -> None:
    assert disturbed(at, [Disturbance("kill", 10.0, 12.0)]) is found


class TestCalls:
    def test_errors_that_callers_must_expect_are_counted(self) -> None:
        calls = Calls()

        def call() -> None:
            raise Unavailable("the server restarts")

        assert calls.attempt("start", call) is None
        assert (dict(calls.refused), calls.unexpected) == ({"start: Unavailable": 1}, [])

    def test_other_errors_are_reported(self) -> None:
        calls = Calls()

        def call() -> None:
            raise KeyError("no")

        calls.attempt("start", call)
        assert calls.unexpected == ["start: KeyError: 'no'"]

    def test_a_step_that_fails_is_reported_and_repeated(self) -> None:
        calls, repeated = Calls(), threading.Event()
        steps = iter([1, 0])

        def step() -> None:
            if next(steps, 0) == 0:
                repeated.set()
            else:
                raise ValueError("no")

        worker = Worker("reader", step, lambda: 0.0, calls)
        worker.start()
        assert repeated.wait(30)
        worker.stop()
        worker.join()
        assert calls.unexpected == ["reader: ValueError: no"]
