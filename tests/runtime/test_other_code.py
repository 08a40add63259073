"""Jobs that a program with other code has started, as while nodes are replaced one by one."""

from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import override

from horae import Horae, JobContext
from horae.domain.jobs import Claim, Failed, JobId, Outcome, StoppedEarly
from horae.runtime.bodies.outcome import outcome_of
from horae.storage.engine import Database
from horae.types import Attempt, JobType
from tests.harness.applications import application
from tests.harness.nodes import running_node, until_state
from tests.harness.waiting import Record, until_logged


class File(BaseModel, extra="forbid"):
    path: str


def declare_old(horae: Horae, kind: str, ran: Record[str]) -> None:
    """Declare a job type as the old release has it."""
    match kind:
        case "thread":

            @horae.job(name="load")
            def load(path: str) -> None:
                ran.append("old")

        case "coroutine":

            @horae.job(name="load")
            async def load_async(path: str) -> None:
                ran.append("old")

        case "batch":

            @horae.job(name="load", batch=2, within="0s")
            def load_many(jobs: list[JobContext[File]]) -> None:
                ran.append("old")

        case _:

            @horae.job(name="load")
            def load_all() -> None:
                ran.append("old")


@pytest.mark.parametrize("kind", ["thread", "coroutine", "batch", "no parameters"])
async def test_an_old_node_leaves_a_job_with_a_new_parameter_to_a_new_node(
    kind: str, horae: Horae, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    ran = Record[str]()
    declare_old(horae, kind, ran)
    with application(database) as changed:

        @changed.job
        def load(path: str, limit: int = 10) -> None:
            ran.append("new")

        async with running_node(horae):
            job = await changed.aio.jobs.start(load, path="a.csv")
            await until_logged(caplog, "limit: Extra inputs are not permitted")
            async with running_node(changed):
                ended = await until_state(changed, job.id, "finished", "failed")
    assert (ended.state, ended.attempt, ran) == ("finished", 1, ["new"])


def outcome(text: str, uncounted: int = 0) -> Outcome | None:
    """Return the outcome of a job with these stored parameters, claimed so often without counting."""

    class Load(JobType[File]):
        type = "load"
        params = File

        @override
        def run(self, job: JobContext[File]) -> None: ...

    claim = Claim(JobId(1), "load", "default", 0, None, text, 1, 1, 1 + uncounted, None, "{}")
    attempt = Attempt(claim, Load(), lambda _percentage, _label: None)
    try:
        attempt.params = attempt.job_type.parameters.load(text)
        File.model_validate({})  # as what surrounds a body may do
    except ValueError as error:
        return outcome_of(attempt, error)
    raise AssertionError("nothing was raised")


def test_a_job_is_put_off_for_a_quarter_of_an_hour() -> None:
    delays = list[float]()
    while isinstance(later := outcome('{"name": "a"}', len(delays)), StoppedEarly):
        assert later.again
        delays.append(later.delay)
    assert delays[:7] == [1, 2, 4, 8, 16, 32, 60]
    assert sum(delays) == pytest.approx(15 * 60, rel=0.05)
    assert isinstance(later, Failed)
    assert not later.final


@pytest.mark.parametrize("text", ['{"path": 1}', "[]", "{", '{"path": "a"}'])
def test_what_no_other_node_would_take_either_fails(text: Any) -> None:
    assert isinstance(outcome(text), Failed)


def test_the_reason_names_parameters_without_their_values() -> None:
    later = outcome('{"path": "a.csv", "token": "hunter2"}')
    assert isinstance(later, StoppedEarly)
    assert "token: Extra inputs are not permitted" in later.reason
    assert "hunter2" not in later.reason
