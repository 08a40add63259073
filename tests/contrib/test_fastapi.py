"""Horae in a FastAPI application: tasks that become jobs, the owner of jobs, the node, and what is refused."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypeAlias

import httpx
import pytest
from fastapi import Depends, FastAPI, HTTPException, Query
from fastapi.responses import StreamingResponse
from sqlalchemy.ext.asyncio import (
    async_scoped_session,
    async_sessionmaker,
    create_async_engine,
)

from horae import Actor, Horae, Role
from horae.contrib.fastapi import (
    DurableBackgroundTasks,
    DurableTasks,
    OwnJobs,
    horae_of,
    jobs_of,
    lifespan,
    mount,
    tasks_of,
)
from horae.errors import ConfigurationError, InvalidRequest, MaxJobCountExceeded
from horae.storage.engine.database import Database
from tests.harness.applications import application

pytestmark = pytest.mark.one_database


@pytest.fixture
def horae(database: Database) -> Any:
    with application(database) as horae:

        @horae.job
        def mail(to: str, copies: int = 1) -> None: ...

        @horae.job
        async def report(day: int) -> None: ...

        yield horae


def who(user: Annotated[str | None, Query()] = None) -> Actor | str | None:
    match user:
        case "admin":
            return Actor("admin", frozenset({Role.STAFF}))
        case "gone":
            raise HTTPException(403, "gone")
        case "broken":
            return 7  # type: ignore[return-value]
        case _:
            return user


OwnedTasks: TypeAlias = Annotated[DurableTasks, Depends(tasks_of(who), scope="function")]
Jobs: TypeAlias = Annotated[OwnJobs, Depends(jobs_of(who))]


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url="http://localhost"
    )


def application_with(horae: Horae, endpoint: Any) -> FastAPI:
    app = FastAPI(lifespan=lifespan(horae))
    app.post("/")(endpoint)
    return app


async def ordered(app: FastAPI, **query: str) -> httpx.Response:
    async with app.router.lifespan_context(app), client_of(app) as client:
        return await client.post("/", params=query)


def started(horae: Horae) -> list[tuple[str, str | None, Any]]:
    return [(job.type, job.owner, job.params) for job in reversed(horae.jobs.list().jobs)]


async def test_tasks_are_jobs_before_the_response_is_sent(horae: Horae) -> None:
    sent: list[int] = []

    async def endpoint(tasks: DurableBackgroundTasks) -> dict[str, str]:
        tasks.add_task("mail", "ada", copies=2)
        return {}

    app = application_with(horae, endpoint)

    async def spy(scope: Any, receive: Any, send: Any) -> None:
        async def look(message: Any) -> None:
            if message["type"] == "http.response.start":
                sent.append(len(started(horae)))
            await send(message)

        await app(scope, receive, look)

    async with app.router.lifespan_context(app), client_of(spy) as client:
        assert (await client.post("/")).status_code == 200
    assert sent == [1]
    assert started(horae) == [("mail", None, {"to": "ada", "copies": 2})]


async def test_several_tasks_are_started_together_or_not_at_all(horae: Horae) -> None:
    def endpoint(tasks: DurableBackgroundTasks) -> None:  # a function, on a thread
        tasks.add_task("mail", to="ada")
        tasks.add_task("report", day=1)

    app = application_with(horae, endpoint)
    assert (await ordered(app)).status_code == 200
    assert [kind for kind, _, _ in started(horae)] == ["mail", "report"]


async def test_no_task_is_started_if_one_cannot_be(horae: Horae) -> None:
    @horae.job(max_count=1)
    def once() -> None: ...

    tasks = DurableTasks(horae, "ada")
    for task in (once, once):
        tasks.add_task(task)
    with pytest.raises(MaxJobCountExceeded):
        await tasks.start()
    assert started(horae) == []


@pytest.mark.parametrize(
    ("task", "values", "words"),
    [
        ("mail", {"to": ["ada"]}, "does not accept these parameters"),
        ("mail", {}, "to: Field required"),
        (print, {}, "print"),
    ],
)
async def test_a_wrong_task_is_refused_where_it_is_added(
    horae: Horae, task: Any, values: dict[str, Any], words: str
) -> None:
    tasks = DurableTasks(horae)
    with pytest.raises(ValueError, match=words):
        tasks.add_task(task, **values)


async def test_an_endpoint_that_raises_starts_nothing(horae: Horae) -> None:
    async def endpoint(tasks: DurableBackgroundTasks) -> None:
        tasks.add_task("mail", to="ada")
        raise HTTPException(409, "no")

    assert (await ordered(application_with(horae, endpoint))).status_code == 409
    assert started(horae) == []


async def test_a_task_of_a_streaming_response_is_refused(horae: Horae) -> None:
    refused: list[str] = []

    async def endpoint(tasks: DurableBackgroundTasks) -> StreamingResponse:
        async def body() -> AsyncIterator[bytes]:
            yield b"begin"
            with pytest.raises(InvalidRequest) as caught:
                tasks.add_task("mail", to="ada")
            refused.append(str(caught.value))

        return StreamingResponse(body())

    assert (await ordered(application_with(horae, endpoint))).status_code == 200
    assert ["when its endpoint returned" in text for text in refused] == [True]


async def test_the_response_is_an_error_if_the_jobs_cannot_be_started(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endpoint(tasks: DurableBackgroundTasks) -> None:
        tasks.add_task("mail", to="ada")

        async def fail(*_: Any, **__: Any) -> None:
            raise OSError("the database is away")

        monkeypatch.setattr(horae.aio.jobs, "start", fail)

    assert (await ordered(application_with(horae, endpoint))).status_code == 500


async def test_the_user_of_the_request_owns_its_tasks(horae: Horae) -> None:
    async def endpoint(tasks: OwnedTasks) -> None:
        tasks.add_task("mail", to="ada")

    assert (await ordered(application_with(horae, endpoint), user="ada")).status_code == 200
    assert started(horae) == [("mail", "ada", {"to": "ada", "copies": 1})]


async def test_jobs_of_others_look_missing_except_for_staff(horae: Horae) -> None:
    app = FastAPI()
    app.state.horae = horae

    @app.post("/")
    async def start(own: Jobs) -> int:
        return (await own.start("mail", to="ada")).id

    @app.get("/{job_id}")
    async def get(own: Jobs, job_id: int) -> str:
        found = await own.list(types=["mail"])
        assert [job.id for job in found.jobs] in ([job_id], [])
        return (await own.get(job_id)).type

    @app.delete("/{job_id}")
    async def cancel(own: Jobs, job_id: int) -> str:
        return (await own.cancel(job_id)).state

    async with client_of(app) as client:
        job = (await client.post("/", params={"user": "ada"})).json()
        assert (await client.post("/")).status_code == 401
        assert (await client.get(f"/{job}", params={"user": "ada"})).json() == "mail"
        assert (await client.get(f"/{job}", params={"user": "eve"})).status_code == 500
        assert (await client.delete(f"/{job}", params={"user": "eve"})).status_code == 500
        assert (await client.delete(f"/{job}", params={"user": "admin"})).json() == "cancelled"


@pytest.mark.parametrize(
    ("user", "status"), [("admin", 200), ("ada", 403), ("gone", 401), (None, 401), ("broken", 401)]
)
async def test_the_mounted_api_asks_the_dependency(
    horae: Horae, user: str | None, status: int
) -> None:
    app = FastAPI()
    mount(app, horae, user=who)
    async with client_of(app) as client:
        params = {} if user is None else {"user": user}
        assert (await client.get("/work/api/nodes/", params=params)).status_code == status


async def test_overrides_of_a_test_hold_for_the_mounted_api(horae: Horae) -> None:
    app = FastAPI()
    mount(app, horae, "/work", user=who)
    app.dependency_overrides = {who: lambda: Actor("tester", frozenset({Role.STAFF}))}
    async with client_of(app) as client:
        assert (await client.get("/work/api/nodes/")).status_code == 200
        app.dependency_overrides = {}
        assert (await client.get("/work/api/nodes/")).status_code == 401


async def test_the_body_of_a_request_reaches_the_api(horae: Horae) -> None:
    @horae.job(public=True)
    def export(table: int) -> None: ...

    async def reads_a_body(user: str = "ada") -> str:
        return user

    app = FastAPI()
    mount(app, horae, user=reads_a_body)
    async with client_of(app) as client:
        answer = await client.post("/work/api/jobs/types/export/", json={"table": 7})
    assert (answer.status_code, started(horae)) == (202, [("export", "ada", {"table": 7})])


async def test_what_is_not_wired_is_said(horae: Horae) -> None:
    app = FastAPI()

    @app.get("/")
    async def look(found: Annotated[Horae, Depends(horae_of)]) -> None: ...

    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://localhost"
    ) as client:
        with pytest.raises(ConfigurationError, match=r"lifespan=lifespan\(horae\)"):
            await client.get("/")
    for path in ("work", "/work/", "/"):
        with pytest.raises(ConfigurationError, match="expected a path such as '/work'"):
            mount(app, horae, path)


async def test_requests_are_answered_if_the_node_fails(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    node = horae.node()

    async def fail() -> None:
        raise OSError("no room")

    monkeypatch.setattr(node, "run", fail)
    monkeypatch.setattr(horae, "node", lambda: node)
    app = FastAPI(lifespan=lifespan(horae, node=True))
    with caplog.at_level(logging.WARNING):
        async with asyncio.timeout(20), app.router.lifespan_context(app):
            assert "the node of this process has failed" in caplog.text


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg", "aiosqlite"])
async def test_a_job_is_part_of_the_transaction_of_an_async_session(
    horae: Horae, database: Database, driver: str
) -> None:
    if (driver == "aiosqlite") is not database.is_file:
        pytest.skip("the driver is for the other database")
    engine = create_async_engine(
        database.url.set(drivername=f"{database.url.get_backend_name()}+{driver}")
    )
    jobs, sessions = horae.aio.jobs, async_sessionmaker(engine)
    async with sessions() as session:
        await jobs.start("mail", to="ada", session=session)
        await session.rollback()
        assert (await jobs.list()).jobs == []
        first = await jobs.start("mail", to="ada", unique_key="k", tags=["x:y"], session=session)
        await jobs.start_many("mail", [{"to": "b"}, {"to": "c"}], session=session)
        await jobs.start("mail", to="d", after=[first], delay="1h", session=session)
        await session.commit()
    scoped = async_scoped_session(sessions, scopefunc=lambda: 1)
    await jobs.start("mail", to="e", session=scoped)
    await scoped.commit()
    await scoped.remove()
    assert [job.params["to"] for job in (await jobs.list()).jobs] == ["e", "d", "c", "b", "ada"]
    await engine.dispose()
