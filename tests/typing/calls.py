"""Calls that type checkers accept, and calls that they refuse.

Nothing here runs. An error that a line expects and a checker does not report is an error too, because the comment is then
unused. `make lint` runs both checkers.
"""
# mypy: disable-error-code="empty-body"
# pyright: reportUnnecessaryTypeIgnoreComment=true

from datetime import date
from typing import Any, assert_type

from django.core.wsgi import get_wsgi_application
from pydantic import BaseModel

from horae import Horae, Job, JobContext, JobType, Unique
from horae.contrib.django import wsgi_with_horae

horae = Horae()
jobs, aio = horae.jobs, horae.aio.jobs


class Page(BaseModel):
    url: str


@horae.job
def plain(path: str, times: int = 1) -> int: ...


@horae.job(max_attempts=3)
def with_context(job: JobContext, path: str) -> date: ...


@horae.job
def only_context(job: JobContext) -> None: ...


@horae.job
async def coroutine(path: str, values: dict[str, Any]) -> int: ...


@horae.job(queue="slow")
async def coroutine_with_context(job: JobContext, path: str) -> list[str]: ...


@horae.job
def anything(value: Any) -> int: ...


@horae.job
def named_only(*, path: str) -> int: ...


@horae.job(batch=10, within="1s")
def batch(jobs: list[JobContext[Page]]) -> list[int]: ...


@horae.cron("0 3 * * *")
def nightly() -> None: ...


@horae.register
class Import(JobType):
    type = "import"

    def run(self, job: JobContext) -> int: ...


def accepted() -> None:
    """Parameters that the function takes, and the type of its result."""
    assert_type(plain.start(path="a"), Job[int])
    assert_type(plain.start("a", times=2), Job[int])
    assert_type(with_context.start(path="a"), Job[date])
    assert_type(only_context.start(), Job[None])
    assert_type(coroutine.start("a", values={"b": 1}), Job[int])
    assert_type(coroutine_with_context.start(path="a"), Job[list[str]])
    assert_type(anything.start(value=1), Job[int])
    assert_type(named_only.start(path="a"), Job[int])
    assert_type(nightly.start(), Job[None])
    assert_type(
        batch.start(url="a"), Job[Any]
    )  # the fields of a model are checked when it is called

    assert_type(jobs.start(plain, path="a"), Job[int])
    assert_type(jobs.start(plain, "a"), Job[int])
    assert_type(jobs.start(with_context, path="a"), Job[date])
    assert_type(jobs.start(only_context), Job[None])
    assert_type(jobs.start(coroutine, path="a", values={"b": 1}), Job[int])
    assert_type(jobs.start(coroutine_with_context, path="a"), Job[list[str]])
    assert_type(jobs.start(anything, value=object()), Job[int])

    assert_type(jobs.start(batch, url="a"), Job[Any])
    assert_type(jobs.start(batch, url="a", owner="alice"), Job[Any])

    assert_type(plain(path="a"), int)
    plain.on_error(lambda job, error: None)


def accepted_with_options() -> None:
    """Options beside parameters, or before them."""
    assert_type(jobs.start(with_context, path="a", owner="alice"), Job[date])
    assert_type(jobs.start(plain, path="a", delay="5m", priority=3, sync=True), Job[int])
    assert_type(jobs.start(coroutine_with_context, path="a", unique=Unique()), Job[list[str]])
    assert_type(jobs.start(only_context, after=[plain.start("a"), 3]), Job[None])
    assert_type(with_context.with_options(owner="alice", queue="slow").start(path="a"), Job[date])
    assert_type(plain.with_options(sync=True).start("a"), Job[int])

    assert_type(jobs.start("import", path="a", queue="slow"), Job[Any])
    assert_type(jobs.start(Import, path="a"), Job[Any])


async def accepted_async() -> None:
    """The same in coroutines."""
    assert_type(await plain.aio.start(path="a"), Job[int])
    assert_type(await with_context.aio.start("a"), Job[date])
    assert_type(await coroutine_with_context.aio.start(path="a"), Job[list[str]])
    assert_type(await coroutine.with_options(owner="a").aio.start("a", values={}), Job[int])
    assert_type(await aio.start(coroutine_with_context, path="a"), Job[list[str]])
    assert_type(await aio.start(with_context, path="a", owner="alice"), Job[date])
    assert_type(await aio.start("import"), Job[Any])


async def results() -> None:
    """What `wait` returns."""
    assert_type(jobs.wait(with_context.start("a")), date)
    assert_type(jobs.wait(coroutine_with_context.start("a"), timeout="5s"), list[str])
    assert_type(await aio.wait(await coroutine_with_context.aio.start("a")), list[str])
    assert_type(jobs.result_of(plain.start("a")), int)
    assert_type(jobs.wait(3), Any)
    assert_type(jobs.wait(jobs.get(3)), Any)


def refused() -> None:
    """Parameters that the function does not take."""
    plain.start()  # type: ignore[call-arg]
    plain.start(path=3)  # type: ignore[arg-type]
    plain.start(paht="a")  # type: ignore[call-arg]
    plain.start("a", 1, 2)  # type: ignore[call-arg]
    plain.start(path="a", owner="alice")  # type: ignore[call-arg]
    with_context.start()  # type: ignore[call-overload]
    with_context.start(path=3)  # type: ignore[call-overload]
    only_context.start(path="a")  # type: ignore[call-overload]
    coroutine.start(path="a")  # type: ignore[call-overload]
    coroutine_with_context.start(path=3)  # type: ignore[call-overload]
    named_only.start("a")  # type: ignore[call-arg]

    jobs.start(plain)  # type: ignore[call-overload]
    jobs.start(plain, path=3)  # type: ignore[call-overload]
    jobs.start(plain, paht="a")  # type: ignore[call-overload]
    jobs.start(with_context, path=3)  # type: ignore[call-overload]
    jobs.start(with_context, path="a", ownr="alice")  # type: ignore[call-overload]
    jobs.start(only_context, path="a")  # type: ignore[call-overload]
    jobs.start(coroutine_with_context, path=3)  # type: ignore[call-overload]


def refused_options() -> None:
    """Options of another type, also where parameters are not compared."""
    jobs.start(plain, path="a", owner=3)  # type: ignore[call-overload]
    jobs.start("import", priority="high")  # type: ignore[call-overload]
    jobs.start(Import, queue=3)  # type: ignore[call-overload]
    plain.with_options(owner=3)  # type: ignore[arg-type]
    plain.with_options(ownr="alice")  # type: ignore[call-arg]
    plain.with_options(owner="alice").start(path=3)  # type: ignore[arg-type]


async def refused_async() -> None:
    """The same in coroutines."""
    await plain.aio.start(path=3)  # type: ignore[arg-type]
    await coroutine_with_context.aio.start()  # type: ignore[call-overload]
    await aio.start(with_context, path=3)  # type: ignore[call-overload]
    await aio.start(coroutine_with_context, paht="a")  # type: ignore[call-overload]
    await aio.start(plain, path="a", owner=3)  # type: ignore[call-overload]


def refused_results() -> None:
    """A result that is taken for another type."""
    jobs.wait(with_context.start("a")).bit_length()  # type: ignore[attr-defined]
    jobs.wait(coroutine_with_context.start("a")).upper()  # type: ignore[attr-defined]


def accepted_in_django() -> None:
    """Django's stubs give the variable of a project's `wsgi.py` the class of Django's handler."""
    application = get_wsgi_application()
    application = wsgi_with_horae(application, at="/work")
