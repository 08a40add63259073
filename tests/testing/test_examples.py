"""The examples of the project, tested as their users would test them."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from httpx import ASGITransport, AsyncClient
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from examples.demo import app as demo
from examples.tables import app as tables_app
from examples.tables import jobs as tables_jobs
from examples.tables.tables import Base, City, Table, Upload
from horae import JobState
from horae.testing import HoraeTesting, testing

CITIES = "city,country,inhabitants\nAccra,Ghana,2000\nTema,Ghana,1000\n"


@pytest.fixture
def t(monkeypatch: pytest.MonkeyPatch) -> Iterator[HoraeTesting]:
    """The application `examples/tables`, whose own engine is that of the test."""
    with testing(tables_app.horae) as t:
        monkeypatch.setattr(tables_app, "engine", t.engine)
        monkeypatch.setattr(tables_jobs, "engine", t.engine)
        Base.metadata.create_all(t.engine)
        yield t


@pytest.fixture
async def alice() -> AsyncIterator[AsyncClient]:
    transport = ASGITransport(app=tables_app.app)
    cookies = {"user": "alice"}
    async with AsyncClient(transport=transport, base_url="http://test", cookies=cookies) as client:
        yield client


async def test_an_import_is_started_with_its_upload(t: HoraeTesting, alice: AsyncClient) -> None:
    answer = await alice.post("/api/imports", params={"name": "ghana.csv"}, content=CITIES)
    assert answer.status_code == 202
    (job,) = t.started(tables_jobs.import_table, owner="alice")
    assert job.id == answer.json()["job_id"]
    again = await alice.post("/api/imports", params={"name": "ghana.csv"}, content=CITIES)
    assert again.status_code == 409
    t.drain()
    (table,) = (await alice.get("/api/tables")).json()
    assert (table["name"], table["rows"], table["inhabitants"]) == ("ghana", 2, None)
    t.run_due("1m")
    assert (await alice.get("/api/tables")).json()[0]["inhabitants"] == 3000


async def test_the_name_of_a_file_is_a_tag_of_its_import(
    t: HoraeTesting, alice: AsyncClient
) -> None:
    name = "Screenshot\u202fat 9.csv\n"  # macOS writes such names
    answer = await alice.post("/api/imports", params={"name": name}, content=CITIES)
    assert answer.status_code == 202
    (job,) = t.started(tables_jobs.import_table, owner="alice")
    assert job.tags == ("Screenshot at 9.csv",)
    too_long = await alice.post("/api/imports", params={"name": "x" * 81}, content=CITIES)
    assert too_long.status_code == 422


async def test_a_wrong_file_leaves_nothing(t: HoraeTesting, alice: AsyncClient) -> None:
    await alice.post("/api/imports", params={"name": "wrong.csv"}, content="town\nAccra\n")
    (job,) = t.drain(check=False)
    assert job.human_readable_error == "The file cannot be imported: it has no column 'city'."
    with Session(t.engine) as session:
        assert session.scalar(select(func.count()).select_from(Table)) == 0


async def test_old_uploads_are_purged(t: HoraeTesting, alice: AsyncClient) -> None:
    await alice.post("/api/imports", params={"name": "wrong.csv"}, content="town\nAccra\n")
    t.drain(check=False)
    with Session(t.engine) as session, session.begin():
        session.scalars(select(Upload)).one().made_at -= tables_jobs.KEEP
    t.horae.schedules.pause("recount")  # its 2,880 runs would take half a minute
    t.run_due("24h")
    with Session(t.engine) as session:
        assert session.scalars(select(Upload)).all() == []


def test_a_crash_in_the_middle_of_a_copy(t: HoraeTesting) -> None:
    job = tables_jobs.create_table.with_options(owner="alice").start(name="many", size=500)
    assert t.crash(job).state is JobState.FAILED  # one attempt: the owner is told, and starts again
    again = t.horae.jobs.retry(job.id)
    t.drain()
    with Session(t.engine) as session:
        assert session.scalar(select(func.count()).select_from(City)) == 500
    assert t.horae.jobs.get(again.id).state is JobState.FINISHED


def test_the_demonstration(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("class A:\n    def f(self): ...\n")
    with testing(demo.horae) as t:
        demo.Base.metadata.create_all(t.engine)
        job = demo.index_modules.start(folder=str(tmp_path))
        t.drain()
        assert demo.horae.jobs.wait(job) == {"modules": 1, "classes": 1, "functions": 1, "lines": 2}
        t.run_due("30s", check=False)
        unlucky = demo.horae.schedules.get("unlucky").statistics
        assert unlucky.total_failures == 2
        assert unlucky.total_successes in (9, 10)  # delays of retries are varied at random
        assert demo.horae.schedules.get("every_second").statistics.total_runs == 30
