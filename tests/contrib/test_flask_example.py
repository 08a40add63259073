"""`examples/flask_app`: a factory, a scoped session, bodies in the application's context, the API behind WSGI."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from examples.flask_app import app as example
from examples.flask_app.extensions import horae, new_session
from horae.storage.engine.database import Database
from tests.harness.applications import url_of

ADA = {"user": "ada"}


@pytest.fixture
def client(database: Database) -> Iterator[FlaskClient]:
    yield example.create_app(url_of(database)).test_client()
    horae.close()
    new_session.kw["bind"].dispose()


def order(client: FlaskClient, what: str) -> Any:
    return client.post("/orders", query_string={"what": what}, headers=ADA)


def test_an_order_and_its_job_are_one_transaction(client: FlaskClient) -> None:
    ordered = order(client, "tea").json
    assert order(client, "nothing").status_code == 400
    assert [job.id for job in horae.jobs.list().jobs] == [ordered["job"]]
    with horae.node().running():
        assert horae.jobs.wait(ordered["job"], timeout="20s") == "tea from Hamburg"
    assert client.get("/orders", headers=ADA).json == {str(ordered["order"]): "shipped"}


def test_the_api_knows_the_users_of_the_application(client: FlaskClient) -> None:
    path = f"/work/api/jobs/{order(client, 'tea').get_json()['job']}/"
    assert client.get(path, headers=ADA).get_json()["type"] == "ship"
    assert client.get(path, headers={"user": "eve"}).status_code == 404
    assert client.get(path).status_code == 401
    assert client.post(f"{path}cancel/", headers=ADA).get_json()["state"] == "cancelled"
    dashboard = client.get("/work/")
    assert (dashboard.status_code, dashboard.mimetype) == (200, "text/html")
