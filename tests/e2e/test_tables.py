"""The example application in a browser: the promises of its README."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Final

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from sqlalchemy import Engine, delete, func, select, update
from sqlalchemy.orm import Session

from examples.tables.tables import City, Export, Table, Upload, now
from horae.storage.engine.database import Database
from tests.e2e.browser import Faults
from tests.e2e.serving import ON_SQLITE
from tests.e2e.tables_app import TablesApp
from tests.harness.applications import url_of
from tests.harness.node_processes import wait_until
from tests.harness.postgres import PostgresServer

pytestmark = [pytest.mark.one_database, pytest.mark.slow]

HEADER: Final = "city,country,inhabitants\n"
MANY: Final = 60_000
"""Lines, so many that the import still runs when the test has seen it and pressed a button."""

OPERATOR: Final = "operator"
"""The one user whose name means something to the example."""

AT_ONCE: Final = timedelta(seconds=2)
"""Far less than an import takes; on an idle machine it is a hundredth of this."""

WRONG: Final = {
    "city,land\nLima,Peru\n": "it has no column 'country'.",
    HEADER + "Lima,Peru,1\nAccra,Ghana,many\n": "line 3: 'many' is no number of inhabitants.",
}


@pytest.fixture(scope="module")
def many_cities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose import takes long."""
    file = tmp_path_factory.mktemp("files") / "many.csv"
    file.write_text(HEADER + "".join(f"City {number},Chile,{number}\n" for number in range(MANY)))
    return file


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """One for all tests, since the example takes three seconds of processor time to start."""
    if request.param == "sqlite":
        file = tmp_path_factory.mktemp("tables") / "horae.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), file)
        url = f"sqlite:///{file}"
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.create_database(request.getfixturevalue("migrated_postgres"))
    with closing(Database(url)) as database:
        yield database


@pytest.fixture(scope="module")
def app(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TablesApp]:
    app = TablesApp(url_of(database), tmp_path_factory.mktemp("log"))
    yield app
    assert app.stop() == 0


@pytest.fixture
def node(app: TablesApp, engine: Engine) -> Iterator[TablesApp]:
    """The example instead of the node of the other tests, so that their `page` opens it; without tables and users."""
    app.test += 1
    yield app
    print(app.log)  # noqa: T201 - pytest shows it with a failure
    with engine.begin() as connection:
        for kind in (City, Table, Export, Upload):
            connection.execute(delete(kind))


@pytest.fixture
def alice(page: Page, node: TablesApp) -> Page:
    """A page of a user who has signed in."""
    return signed_in(page, node.user("alice"))


def signed_in(page: Page, name: str) -> Page:
    if page.url == "about:blank":
        page.goto("")
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="New table")).to_be_visible()
    return page


def job_of(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name="Jobs").get_by_role("article", name=title)


def percent(job: Locator) -> int:
    return int(job.get_by_role("progressbar").get_attribute("aria-valuenow") or 0)


def table_of(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name="Tables").get_by_role("article", name=name, exact=True)


def begin_import(page: Page, file: Path) -> Locator:
    page.get_by_label("Or import a CSV").set_input_files(file)
    return job_of(page, "Import")


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


def stored(engine: Engine, kind: type[City | Table | Export | Upload]) -> int:
    with Session(engine) as session:
        return session.execute(select(func.count()).select_from(kind)).scalar_one()


def cancel(job: Locator) -> None:
    job.get_by_role("button", name="Cancel").click()
    expect(job).to_have_attribute("data-state", "cancelled")


def test_an_import_that_is_cancelled_in_the_middle_leaves_no_rows(
    alice: Page, many_cities: Path, engine: Engine
) -> None:
    job = begin_import(alice, many_cities)
    expect(job).to_contain_text("Importing many.csv")
    first = percent(job)
    wait_until(lambda: percent(job) > first + 1)
    cancel(job)
    alice.reload()
    expect(alice.get_by_text("No tables yet")).to_be_visible()
    assert (stored(engine, Table), stored(engine, City)) == (0, 0)


@ON_SQLITE
def test_a_refusal_is_shown_while_its_reason_lasts(
    alice: Page, faults: Faults, many_cities: Path
) -> None:
    job = begin_import(alice, many_cities)
    wait_until(lambda: percent(job) > 1)
    alice.get_by_label("Or import a CSV").set_input_files(many_cities)
    refusal = alice.get_by_text("Your last import still runs")
    expect(refusal).to_be_visible()
    cancel(job)
    expect(refusal).to_have_count(0)
    faults.forgive()


@ON_SQLITE
def test_a_progress_bar_continues_after_a_reload(alice: Page, many_cities: Path) -> None:
    job = begin_import(alice, many_cities)
    wait_until(lambda: percent(job) > 1)
    alice.reload()
    expect(job).to_contain_text("Importing many.csv")
    first = percent(job)
    assert first > 1, "it began again"
    wait_until(lambda: percent(job) > first + 1)
    cancel(job)


def test_imported_rows_are_shown_copied_exported_and_counted(
    alice: Page, node: TablesApp, engine: Engine, tmp_path: Path
) -> None:
    cities = HEADER + 'Lima,Peru,10092000\n"Accra, Greater",Ghana,284124\n'
    job = begin_import(alice, write(tmp_path, "mine.csv", cities))
    expect(job).to_have_attribute("data-state", "finished")
    mine, copy = table_of(alice, "mine"), table_of(alice, "mine (copy)")
    mine.get_by_role("button", name="Show").click()
    expect(mine.get_by_role("row")).to_have_text(
        ["CityCountryInhabitants", "LimaPeru10092000", "Accra, GreaterGhana284124"]
    )

    mine.get_by_role("button", name="Duplicate").click()
    expect(copy).to_contain_text("2 rows")
    copy.get_by_role("button", name="Export").click()
    with alice.expect_download() as download:
        alice.get_by_role("link", name="mine (copy).csv").click()
    assert download.value.path().read_text().splitlines() == cities.splitlines()

    node.run_schedule("recount")
    alice.reload()
    expect(copy).to_contain_text("10,376,124 inhabitants")
    assert stored(engine, Upload) == 0


@ON_SQLITE
def test_an_import_that_fails_says_why_and_leaves_nothing(
    alice: Page, engine: Engine, tmp_path: Path
) -> None:
    for text, problem in WRONG.items():
        job = begin_import(alice, write(tmp_path, "wrong.csv", text))
        expect(job.get_by_role("alert")).to_have_text(f"The file cannot be imported: {problem}")
        expect(job).to_have_attribute("data-state", "failed")
        job.get_by_role("button", name="Dismiss").click()
    assert (stored(engine, Table), stored(engine, City)) == (0, 0)


@ON_SQLITE
def test_the_samples_need_no_file(alice: Page) -> None:
    alice.get_by_role("button", name="Import with a mistake").click()
    wrong = job_of(alice, "Import of wrong.csv")
    expect(wrong.get_by_role("alert")).to_contain_text("line 3: 'many'")
    alice.get_by_role("button", name="Import sample").click()
    sample = job_of(alice, "Import of cities.csv")
    expect(sample).to_contain_text("Importing cities.csv")
    cancel(sample)


@ON_SQLITE
def test_a_user_cannot_see_the_running_job_of_another(
    alice: Page, browser: Browser, node: TablesApp, many_cities: Path
) -> None:
    job = begin_import(alice, many_cities)
    wait_until(lambda: percent(job) > 1)
    with browser.new_context(base_url=node.url) as context:
        faults = Faults(context, node.url)
        bob = signed_in(context.new_page(), node.user("bob"))
        expect(bob.get_by_text("No tables yet")).to_be_visible()
        expect(bob.get_by_role("progressbar")).to_have_count(0)
        assert faults.seen == []
    assert jobs_of("bob", node) == []
    (hers,) = jobs_of("alice", node)
    assert ask(node, "bob", "GET", f"background/api/jobs/{hers}/").status_code == 404
    cancel(job)
    assert ask(node, "bob", "POST", f"background/api/jobs/{hers}/cancel/").status_code == 404


@ON_SQLITE
def test_an_upload_is_answered_at_once_while_another_import_runs(
    alice: Page, node: TablesApp, many_cities: Path
) -> None:
    job = begin_import(alice, many_cities)
    wait_until(lambda: percent(job) > 1)
    again = upload(node, "alice")
    assert (again.status_code, again.json()["detail"][:25]) == (409, "Your last import still ru")
    first = upload(node, "bob")
    assert first.status_code == 202
    assert max(again.elapsed, first.elapsed) < AT_ONCE
    theirs = first.json()["job_id"]
    wait_until(
        lambda: (
            ask(node, "bob", "GET", f"background/api/jobs/{theirs}/").json()["state"] == "finished"
        )
    )
    expect(job).not_to_have_attribute("data-state", "finished")
    cancel(job)


@ON_SQLITE
def test_the_dashboard_shows_a_failed_import_to_its_owner_and_schedules_to_the_operator(
    alice: Page, node: TablesApp, tmp_path: Path
) -> None:
    job = begin_import(alice, write(tmp_path, "wrong.csv", "city\nLima\n"))
    expect(job).to_contain_text("Nothing was changed")
    recount = alice.get_by_role("region", name="Schedules").get_by_role("article", name="recount")
    expect(recount).to_contain_text("Next run in")
    job.get_by_role("link", name="Details").click()
    expect(alice.get_by_test_id("job-state")).to_have_text("Failed")
    assert ask(node, "alice", "GET", "background/api/schedules/").status_code == 403
    assert ask(node, OPERATOR, "GET", "background/api/schedules/").status_code == 200


@ON_SQLITE
def test_the_data_of_a_user_is_hidden_from_others(
    alice: Page, node: TablesApp, engine: Engine
) -> None:
    alice.get_by_label("Name").fill("Samples")
    alice.get_by_label("Rows").fill("250")
    alice.get_by_role("button", name="Create").click()
    expect(table_of(alice, "Samples")).to_contain_text("250 rows")
    with Session(engine) as session:
        table = session.scalars(select(Table.id)).one()
    alice.get_by_role("button", name="Sign out").click()
    signed_in(alice, node.user("bob"))
    expect(alice.get_by_text("No tables yet")).to_be_visible()
    expect(job_of(alice, "New table")).to_have_count(0)
    copied = ask(
        node, "bob", "POST", "background/api/jobs/types/duplicate_table/", {"table_id": table}
    )
    assert (copied.status_code, copied.json()["error"]) == (404, "ERROR_TABLE_DOES_NOT_EXIST")
    assert ask(node, "bob", "GET", f"api/tables/{table}/rows").status_code == 404
    assert ask(node, None, "GET", "api/tables").status_code == 401


@ON_SQLITE
def test_exports_of_last_week_are_gone_after_the_night(node: TablesApp, engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        session.add_all(Export(owner="alice", name=name, content="") for name in ("old", "new"))
        session.add(Upload(name="forgotten", content=b""))
        session.flush()
        long_ago = now() - timedelta(days=8)
        session.execute(update(Export).where(Export.name == "old").values(made_at=long_ago))
        session.execute(update(Upload).values(made_at=long_ago))
    node.run_schedule("purge_exports")
    with Session(engine) as session:
        assert session.scalars(select(Export.name)).all() == ["new"]
    assert stored(engine, Upload) == 0


def upload(node: TablesApp, user: str) -> httpx.Response:
    with httpx.Client(base_url=node.url, cookies={"user": node.user(user)}) as client:
        return client.post(
            "api/imports", params={"name": "more.csv"}, content=HEADER + "Lima,Peru,1\n"
        )


def jobs_of(user: str, node: TablesApp) -> list[int]:
    return [job["id"] for job in ask(node, user, "GET", "background/api/jobs/").json()["jobs"]]


def ask(
    node: TablesApp, user: str | None, method: str, path: str, body: object = None
) -> httpx.Response:
    cookies = {} if user is None else {"user": user if user == OPERATOR else node.user(user)}
    with httpx.Client(base_url=node.url, cookies=cookies) as client:
        return client.request(method, path, json=body)
