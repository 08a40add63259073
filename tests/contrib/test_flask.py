"""`FlaskHorae`: settings of the application, its context around bodies, its command line, and its users."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, current_app, session
from sqlalchemy import create_engine, text

from horae import Actor, Role
from horae.contrib.flask import FlaskHorae
from horae.errors import ConfigurationError
from horae.storage.engine.database import Database
from horae.testing import testing
from tests.harness.applications import url_of
from tests.harness.forked import ForkedProcess

pytestmark = pytest.mark.one_database


@pytest.fixture
def horae(database: Database) -> Iterator[FlaskHorae]:
    horae = FlaskHorae(url_of(database))
    yield horae
    horae.close()


def bound(horae: FlaskHorae, name: str = "shop", **options: Any) -> Flask:
    app = Flask(name)
    app.secret_key = "not secret"
    horae.init_app(app, **options)
    return app


def test_the_configuration_of_the_application_has_settings(tmp_path: Path) -> None:
    horae = FlaskHorae(concurrency=3)
    for name in ("one", "two"):
        app = Flask(name)
        app.config.update(HORAE_DATABASE=f"sqlite:///{tmp_path}/{name}.db", HORAE_KEEP="3 days")
        horae.init_app(app)
        assert (horae.settings.concurrency, horae.settings.keep.days) == (3, 3)

        @horae.job(name=name)
        def work() -> None: ...

        horae.jobs.start(name)
        assert (tmp_path / f"{name}.db").exists()
        assert [job.type for job in horae.jobs.list().jobs] == [name]
        assert app.extensions["horae"] is horae
    horae.close()
    wrong = Flask("wrong")
    wrong.config["HORAE_CONCURENCY"] = 3
    with pytest.raises(ConfigurationError, match="did you mean 'concurrency'"):
        horae.init_app(wrong)


def test_an_application_in_place_of_a_database_is_told_where_it_goes() -> None:
    with pytest.raises(ConfigurationError, match=r"by `FlaskHorae\(\).init_app\(app\)`"):
        FlaskHorae(Flask("shop"))  # type: ignore[arg-type]


def test_the_module_is_that_which_makes_it(horae: FlaskHorae) -> None:
    assert horae.module == __name__


def test_a_body_runs_in_the_context_of_the_application_and_leaves_it(horae: FlaskHorae) -> None:
    left: list[str] = []

    @horae.job
    def sync() -> str:
        return current_app.name

    @horae.job
    async def coroutine() -> str:
        return current_app.name

    app = bound(horae)
    app.teardown_appcontext(lambda _: left.append("left"))
    with horae.node().running():
        for kind in (sync, coroutine):
            assert horae.jobs.wait(horae.jobs.start(kind).id, timeout="20s") == "shop"
    assert left == ["left", "left"]
    with app.app_context():
        assert horae.jobs.start(sync, sync=True).result == "shop"
        assert left == ["left", "left"]  # the context of the caller is still in use


def test_the_first_view_starts_a_job_in_its_transaction_on_a_new_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shop.db"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE orders (number INTEGER)"))
    with closing(FlaskHorae(url, busy_timeout=0.2)) as horae:

        @horae.job
        def ship() -> None: ...

        app = bound(horae)

        @app.post("/orders")
        def order() -> dict[str, int]:
            with engine.begin() as connection:
                connection.execute(text("INSERT INTO orders VALUES (7)"))
                return {"job": horae.jobs.start(ship, session=connection).id}

        assert app.test_client().post("/orders").get_json() == {"job": 1}
    engine.dispose()


def test_views_that_need_no_jobs_are_answered_while_horae_cannot_be_opened(tmp_path: Path) -> None:
    with closing(FlaskHorae(f"sqlite:///{tmp_path}/missing/shop.db")) as horae:
        app = bound(horae)
        app.get("/")(lambda: "hello")
        assert app.test_client().get("/").text == "hello"


def test_an_application_that_is_made_within_a_test_stays_in_it(tmp_path: Path) -> None:
    with closing(FlaskHorae()) as horae:

        @horae.job
        def work() -> None: ...

        app = Flask("shop")
        app.config["HORAE_DATABASE"] = f"sqlite:///{tmp_path}/shop.db"
        with testing(horae) as t:
            horae.init_app(app)
            work.start()
            assert len(t.started(work)) == 1
            assert not (tmp_path / "shop.db").exists()
            app.config["HORAE_DATABASE"] = "postgresql://shop@db/shop"
            with pytest.raises(ConfigurationError, match="bind the application before `testing`"):
                horae.init_app(app)
        assert horae.settings.database == f"sqlite:///{tmp_path}/shop.db"


def test_the_user_comes_from_the_session_of_the_request(horae: FlaskHorae) -> None:
    def user() -> Actor | str | None:
        name = session.get("user")
        return Actor("root", frozenset({Role.STAFF})) if name == "root" else name

    client = bound(horae, user=user).test_client()
    for name, status in (("root", 200), ("ada", 403), (None, 401)):
        with client.session_transaction() as opened:
            opened["user"] = name
        assert client.get("/work/api/nodes/").status_code == status


@pytest.mark.parametrize("user", [lambda: 7, lambda: 1 / 0])
def test_a_wrong_user_function_opens_nothing(horae: FlaskHorae, user: Any) -> None:
    app = bound(horae, user=user)
    assert app.test_client().get("/work/api/nodes/").status_code == 500


def test_without_a_user_function_the_api_is_closed(horae: FlaskHorae) -> None:
    assert bound(horae).test_client().get("/work/api/nodes/").status_code == 401


def test_hooks_of_the_application_hold_for_the_api(horae: FlaskHorae) -> None:
    app = bound(horae, user=lambda: "ada")
    app.before_request(lambda: ("closed", 503))
    assert app.test_client().get("/work/").status_code == 503


def test_event_streams_are_refused_because_they_occupy_workers(horae: FlaskHorae) -> None:
    answer = bound(horae, user=lambda: "ada").test_client().get("/work/api/events/")
    assert (answer.status_code, answer.get_json()["error"]) == (501, "ERROR_NOT_IMPLEMENTED")


def test_a_body_and_a_query_reach_the_api(horae: FlaskHorae) -> None:
    @horae.job(public=True)
    def export(table: int) -> None: ...

    client = bound(horae, user=lambda: "ada").test_client()
    started = client.post("/work/api/jobs/types/export/", json={"table": 7})
    assert started.status_code == 202
    [listed] = client.get("/work/api/jobs/", query_string={"types": "export"}).get_json()["jobs"]
    assert listed["id"] == started.get_json()["id"]


@pytest.mark.parametrize("path", ["work", "/work/", "/"])
def test_a_path_that_cannot_be_mounted(horae: FlaskHorae, path: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a path such as '/work'"):
        bound(horae, path=path)


def test_without_a_path_nothing_is_mounted(horae: FlaskHorae) -> None:
    assert bound(horae, path=None).test_client().get("/work/").status_code == 404


FACTORY = """
from flask import Flask, current_app
from horae.contrib.flask import FlaskHorae

horae = FlaskHorae()

@horae.job(isolation="process")
def elsewhere() -> str:
    return current_app.config["WAREHOUSE"]

def create_app():
    app = Flask(__name__)
    app.config.update(WAREHOUSE="Hamburg", HORAE_DATABASE="sqlite:///shop.db")
    horae.init_app(app)
    return app
"""


def test_flask_horae_is_the_command_line_also_with_a_factory_and_child_processes(
    tmp_path: Path,
) -> None:
    (tmp_path / "shop.py").write_text(FACTORY)

    def flask(*arguments: str) -> ForkedProcess:
        return ForkedProcess(
            "flask",
            ["horae", *arguments],
            folder=tmp_path,
            environment={**os.environ, "FLASK_APP": "shop"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    listed = flask("types", "list")
    assert "elsewhere" in listed.communicate(timeout=60)[0]
    node = flask("run", "--no-api")
    try:
        assert node.stdout is not None
        assert "1 job type," in node.stdout.readline()
        started = flask("jobs", "start", "elsewhere", "--wait")
        printed, complaint = started.communicate(timeout=60)
        assert (started.returncode, "Hamburg" in printed) == (0, True), printed + complaint
    finally:
        node.terminate()
        node.communicate(timeout=60)
    missing = flask("jobs", "show", "99")
    assert "99" in missing.communicate(timeout=60)[1]
    assert missing.returncode == 2
