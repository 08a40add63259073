"""Waiting jobs that cannot run are named when a node starts, and by `find_misfits`."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from horae import Horae, Secret
from horae.domain.jobs.job import JobId
from horae.storage.engine.database import Database
from horae.storage.jobs import waiting_sample
from horae.types.waiting_jobs import Misfit, find_misfits
from tests.harness.applications import application
from tests.harness.nodes import running_node
from tests.harness.waiting import until_logged


def raising(value: int) -> int:
    raise RuntimeError(f"cannot check {value}")


def secretive(value: str) -> str:
    raise ValueError(f"{value} is too short")


def misfits_of(database: Database, declare: Callable[[Horae], Any]) -> list[Misfit]:
    """What does not fit an application with these types."""
    with application(database) as changed:
        declare(changed)
        return find_misfits(database, changed.registry)


def before(horae: Horae) -> list[JobId]:
    """Start jobs as the last release did: two waiting imports, one that is due later, and one that has ended."""

    @horae.job
    def load(path: str, token: Annotated[str, Secret()] = "hunter2") -> None: ...

    @horae.job
    def nothing() -> None: ...

    started = [
        horae.jobs.start(load, path="a.csv").id,
        horae.jobs.start(load, path="b.csv").id,
        horae.jobs.start(load, path="c.csv", delay="1 day").id,
    ]
    horae.jobs.cancel(horae.jobs.start(load, path="d.csv").id)
    horae.jobs.start(nothing)
    return started


def test_jobs_that_do_not_fit_are_counted_with_the_first_and_its_problem(
    horae: Horae, database: Database
) -> None:
    first = before(horae)[0]

    def declare(changed: Horae) -> None:
        @changed.job
        def load(url: str, token: Annotated[str, Secret()] = "") -> None: ...

        @changed.job
        def nothing() -> None: ...

    [misfit] = misfits_of(database, declare)
    assert (misfit.type, misfit.first, misfit.count) == ("load", first, 3)
    assert misfit.problem is not None
    assert "url: Field required" in misfit.problem
    assert "path: " in misfit.problem


def test_a_changed_type_that_takes_the_old_parameters_is_no_misfit(
    horae: Horae, database: Database
) -> None:
    before(horae)

    def declare(changed: Horae) -> None:
        @changed.job
        def load(path: str, token: Annotated[str, Secret()] = "", limit: int = 10) -> None: ...

        @changed.job
        def nothing() -> None: ...

    assert misfits_of(database, declare) == []


def test_a_type_that_is_gone_is_a_misfit_without_a_problem(
    horae: Horae, database: Database
) -> None:
    first = before(horae)[0]

    def declare(changed: Horae) -> None:
        @changed.job
        def nothing() -> None: ...

    assert misfits_of(database, declare) == [Misfit("load", first, None, 3)]


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (Annotated[str, Secret(), AfterValidator(secretive)], "is too short"),
        (Annotated[str, AfterValidator(raising)], "their check raises RuntimeError"),
    ],
)
def test_a_problem_shows_no_secret_and_a_broken_validator_stops_nothing(
    kind: Any, problem: str, horae: Horae, database: Database
) -> None:
    before(horae)

    def declare(changed: Horae) -> None:
        def load(path: str, token: str) -> None: ...

        load.__annotations__["token"] = kind
        changed.job(load)

    [misfit, gone] = misfits_of(database, declare)
    assert gone.type == "nothing"
    assert misfit.problem is not None
    assert problem in misfit.problem
    assert "hunter2" not in misfit.problem


def test_only_a_sample_is_read_and_no_huge_parameters(horae: Horae, database: Database) -> None:
    ids = before(horae)
    huge = horae.jobs.start("load", path="x" * waiting_sample.LONGEST)
    read = database.autocommit(waiting_sample.sample_of_waiting)
    assert huge.id not in {job.id for job in read}
    assert {job.id for job in read} >= set(ids)
    assert len(database.autocommit(waiting_sample.sample_of_waiting, 2)) == 2


async def test_a_node_names_at_its_start_what_cannot_run(
    horae: Horae, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    before(horae)

    @horae.job
    def gone() -> None: ...

    await horae.aio.jobs.start("gone", delay="1 day")
    with application(database) as changed:

        @changed.job
        def load(url: str) -> None: ...

        async with running_node(changed):
            await until_logged(caplog, "do not fit their type load", "jobs of type gone wait")
    assert "url: Field required" in caplog.text
