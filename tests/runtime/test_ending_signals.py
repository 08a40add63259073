"""A signal that ends the process of a job, whatever the process does at that moment."""

import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from horae import Horae, JobContext
from horae.contrib.celery.message_node import OWN_PROCESS, MessageNode
from horae.contrib.celery.own_process import OwnProcess
from horae.domain.jobs.job import Job, JobId
from horae.storage.engine.database import Database
from horae.storage.jobs import dispatching
from horae.storage.outcomes import settling
from tests.harness.applications import attempts_of
from tests.harness.nodes import until_state
from tests.runtime.test_dispatching import FakeBackend, dispatcher

Bodies = list[Callable[[], None]]
Moment = tuple[str, Any, str]
BEFORE_CLAIM, AFTER_CLAIM = (
    ("before", dispatching, "claim_sent"),
    ("after", dispatching, "claim_sent"),
)
BEFORE_RUN, AFTER_RUN = ("before", OwnProcess, "perform"), ("after", OwnProcess, "perform")
BEFORE_END = ("before", settling, "settle")


class ByOtherSystem(SystemExit):
    """Ends the process, as the handlers of Celery do."""


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


@pytest.fixture
def ending(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal for which the process has a handler."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise ByOtherSystem

    number: signal.Signals = getattr(request, "param", signal.SIGTERM)
    usual = signal.signal(number, end)
    yield number
    assert signal.getsignal(number) is end
    signal.signal(number, usual)


@pytest.fixture
def worker(horae: Horae) -> Iterator[MessageNode]:
    """The node of a process that may be ended to stop a body."""
    node = MessageNode(horae.components, OWN_PROCESS)
    yield node
    node.close()


@pytest.fixture
def bodies(horae: Horae) -> Bodies:
    """What the body of the next job does."""
    horae.registry.backends["celery"] = FakeBackend()
    todo: Bodies = []

    @horae.job(backend="celery")
    def export(job: JobContext) -> str:
        for each in todo:
            each()
        return "exported"

    return todo


def sent(horae: Horae) -> JobId:
    job = horae.jobs.start("export")
    dispatcher(horae).dispatch()
    return job.id


def run_to_the_signal(horae: Horae, worker: MessageNode) -> Job:
    job_id = sent(horae)
    with pytest.raises(ByOtherSystem):
        worker.run_job(job_id)
    return horae.jobs.get(job_id)


def call_at(monkeypatch: pytest.MonkeyPatch, moment: Moment, also: Callable[[], None]) -> None:
    """Call a function before or after another one."""
    order, where, name = moment
    usual = getattr(where, name)

    def both(*arguments: Any) -> Any:
        if order == "before":
            also()
        answer = usual(*arguments)
        if order == "after":
            also()
        return answer

    monkeypatch.setattr(where, name, both)


@pytest.mark.parametrize(
    "moment",
    [BEFORE_CLAIM, AFTER_CLAIM, BEFORE_RUN],
    ids=["before claim", "after claim", "before run"],
)
def test_a_job_that_has_not_begun_goes_back(
    horae: Horae,
    worker: MessageNode,
    bodies: Bodies,
    monkeypatch: pytest.MonkeyPatch,
    ending: signal.Signals,
    moment: Moment,
) -> None:
    begun: list[int] = []
    bodies.append(lambda: begun.append(1))
    call_at(monkeypatch, moment, lambda: signal.raise_signal(ending))
    job = run_to_the_signal(horae, worker)
    assert (job.state, job.attempt, begun) == ("pending", 0, [])


@pytest.mark.usefixtures("bodies")
@pytest.mark.parametrize("moment", [AFTER_RUN, BEFORE_END], ids=["after run", "before end"])
def test_the_end_of_a_job_is_written(
    horae: Horae,
    worker: MessageNode,
    monkeypatch: pytest.MonkeyPatch,
    ending: signal.Signals,
    moment: Moment,
) -> None:
    call_at(monkeypatch, moment, lambda: signal.raise_signal(ending))
    assert run_to_the_signal(horae, worker).state == "finished"


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP], indirect=True)
def test_a_body_is_interrupted(
    horae: Horae, worker: MessageNode, bodies: Bodies, ending: signal.Signals
) -> None:
    bodies.append(lambda: signal.raise_signal(ending))
    job = run_to_the_signal(horae, worker)
    assert str(job.error).startswith("the node stopped before the job ended;")


def test_another_signal_does_not_disturb_the_end(
    horae: Horae,
    worker: MessageNode,
    bodies: Bodies,
    monkeypatch: pytest.MonkeyPatch,
    ending: signal.Signals,
) -> None:
    """A supervisor may signal all processes of a worker, whose main process then signals the others once more."""
    bodies.append(lambda: signal.raise_signal(ending))
    call_at(monkeypatch, BEFORE_END, lambda: signal.raise_signal(ending))
    assert run_to_the_signal(horae, worker).state == "failed"


def test_the_second_signal_ends_a_body_that_ignores_the_first_one(
    horae: Horae,
    worker: MessageNode,
    bodies: Bodies,
    monkeypatch: pytest.MonkeyPatch,
    ending: signal.Signals,
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(
        "os.kill", lambda pid, number: killed.append(number) if pid == os.getpid() else None
    )

    def ignore() -> None:
        with pytest.raises(SystemExit):
            signal.raise_signal(ending)
        signal.raise_signal(ending)
        assert killed == [signal.SIGKILL]

    bodies.append(ignore)
    job = run_to_the_signal(horae, worker)
    assert (killed, job.state, attempts_of(horae, job.id)) == (
        [signal.SIGKILL],
        "failed",
        ["interrupted"],
    )


def test_a_body_that_exits_does_not_end_the_process(
    horae: Horae, worker: MessageNode, bodies: Bodies
) -> None:
    def leave() -> None:
        raise SystemExit(3)

    bodies.append(leave)
    job_id = sent(horae)
    assert worker.run_job(job_id)
    assert horae.jobs.get(job_id).state == "failed"


async def test_a_claim_that_ctrl_c_interrupts_is_handed_back(
    horae: Horae, worker: MessageNode, bodies: Bodies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an interactive session the process goes on, so nobody would rescue the job."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    call_at(monkeypatch, AFTER_CLAIM, interrupt)
    job_id = sent(horae)
    with pytest.raises(KeyboardInterrupt):
        worker.run_job(job_id)
    assert (await until_state(horae, job_id, "pending")).attempt == 0
