"""Jobs that are started by their functions, and parameters by position."""

import inspect
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast, get_overloads, get_type_hints

import pytest
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import Session

from horae import Horae, InvalidJobType, InvalidParameters, InvalidRequest, JobContext, JobState
from horae.client.jobs.typed_starts import AsyncStart, Start
from horae.storage.engine.database import Database
from horae.types import JobFunction
from horae.types.options import START_OPTIONS, StartKeywords
from tests.harness.applications import application


class Jobs:
    """A function with a context, and a coroutine function without one."""

    def __init__(self, horae: Horae) -> None:
        @horae.job
        def add(left: int, job: JobContext, right: int = 1, *, label: str = "") -> int:
            return left + right

        @horae.job
        async def double(number: int) -> int:
            return number * 2

        self.add: JobFunction[..., int] = add
        self.double = double


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """No statement is new here."""
    return sqlite_database


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as horae:
        yield horae


@pytest.fixture
def jobs(horae: Horae) -> Jobs:
    return Jobs(horae)


def test_a_function_starts_a_job_of_itself(horae: Horae, jobs: Jobs) -> None:
    job = jobs.add.start(left=2, label="a")
    assert horae.jobs.get(job.id).params == {"left": 2, "right": 1, "label": "a"}
    assert job.type == "add"


async def test_a_function_starts_a_job_from_a_coroutine(horae: Horae, jobs: Jobs) -> None:
    job = await jobs.double.aio.start(4)
    assert horae.jobs.get(job.id).params == {"number": 4}
    done = await jobs.double.with_options(sync=True).aio.start(number=4)
    assert await horae.aio.jobs.wait(done) == 8


def test_parameters_by_position_skip_the_context(horae: Horae, jobs: Jobs) -> None:
    started = [
        jobs.add.start(2, 3),
        horae.jobs.start(jobs.add, 2, right=3),
        horae.jobs.start(jobs.add, 2, 3, owner="alice"),
    ]
    assert [job.params for job in started] == [{"left": 2, "right": 3, "label": ""}] * 3


async def test_parameters_by_position_in_a_coroutine(horae: Horae, jobs: Jobs) -> None:
    job = await horae.aio.jobs.start(jobs.add, 2, right=3)
    assert job.params == {"left": 2, "right": 3, "label": ""}


@pytest.mark.parametrize(
    ("given", "named", "expected"),
    [
        ((1, 2, "x"), {}, r"'add': 3 parameters came by position, and it takes 2 \(left, right\)"),
        ((1,), {"left": 2}, "'add': parameter 'left' came by position and by name"),
    ],
)
def test_wrong_positions_are_refused(
    horae: Horae, jobs: Jobs, given: tuple[Any, ...], named: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InvalidRequest, match=expected):
        jobs.add.start(*given, **named)
    with pytest.raises(InvalidRequest, match=expected):
        horae.jobs.start(jobs.add, *given, **named)
    assert horae.jobs.list().jobs == []


def test_a_wrong_value_is_refused(jobs: Jobs) -> None:
    with pytest.raises(InvalidParameters, match="left"):
        jobs.add.start("two")


def test_options_before_parameters(jobs: Jobs) -> None:
    slow = jobs.add.with_options(queue="slow", priority=1)
    job = slow.with_options(owner="alice", priority=2).start(2)
    assert (job.queue, job.owner, job.priority) == ("slow", "alice", 2)
    assert slow.start(2).owner is None


def test_wrong_options_are_refused_when_they_are_given(jobs: Jobs) -> None:
    wrong: dict[str, Any] = {"ownr": "alice"}
    with pytest.raises(InvalidRequest, match="there is no option 'ownr'; there are owner, queue,"):
        jobs.add.with_options(**wrong)
    with pytest.raises(InvalidRequest, match="priority is"):
        jobs.add.with_options(priority=2**80)


def test_a_job_in_a_session_of_the_caller(horae: Horae, jobs: Jobs) -> None:
    horae.open()
    with Session(horae.components.database.engine) as session:
        jobs.add.with_options(session=session).start(1)
        session.rollback()
        job = jobs.add.with_options(session=session).start(2)
        session.commit()
    assert [each.id for each in horae.jobs.list().jobs] == [job.id]


async def test_a_job_in_an_async_session_of_the_caller(
    horae: Horae, jobs: Jobs, database: Database
) -> None:
    horae.open()
    engine = create_async_engine(f"sqlite+aiosqlite:///{database.url.database}")
    async with engine.connect() as connection:
        await jobs.add.with_options(session=connection).aio.start(1)
        assert horae.jobs.list().jobs == []
        await connection.commit()
    await engine.dispose()
    assert len(horae.jobs.list().jobs) == 1


def test_what_has_options_is_started_by_its_own_method(horae: Horae, jobs: Jobs) -> None:
    prepared: Any = jobs.add.with_options(queue="slow")
    with pytest.raises(InvalidJobType, match=r"with_options\(…\).start\(…\)"):
        horae.jobs.start(prepared, left=1)


def test_a_function_of_no_application_says_so() -> None:
    @JobFunction
    def alone() -> None: ...

    with pytest.raises(InvalidRequest, match="'alone' belongs to no application; declare it with"):
        alone.start()


def test_the_result_of_a_job(horae: Horae, jobs: Jobs) -> None:
    done = jobs.add.with_options(sync=True).start(2)
    assert done.state is JobState.FINISHED
    assert horae.jobs.wait(done) == horae.jobs.result_of(done) == 3


@pytest.mark.parametrize("face", [Start, AsyncStart])
def test_type_checkers_are_told_each_option(face: type[Any]) -> None:
    named = SimpleNamespace(
        __module__=face.__module__, __qualname__=f"{face.__qualname__}.__call__"
    )
    overloads = get_overloads(cast("Callable[..., Any]", named))
    required = {
        name: get_type_hints(overload)[name]
        for overload in overloads
        for name, argument in inspect.signature(overload).parameters.items()
        if argument.kind is argument.KEYWORD_ONLY and argument.default is argument.empty
    }
    assert required.keys() == START_OPTIONS - {"job_type"}
    declared = StartKeywords.__annotations__
    by_name = get_type_hints(overloads[-1])
    for name in declared.keys() - {"session", "sync"}:
        assert required[name] == by_name[name] == declared[name], name
