"""`examples/fastapi_app`: orders and their jobs in one transaction on asyncpg and aiosqlite, a node in the process, the mounted API."""

import importlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from horae.storage.engine.database import Database
from tests.harness.applications import url_of

PATIENCE = "20s"


@pytest.fixture
def example(database: Database, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, imported anew on this database."""
    monkeypatch.setenv("SHOP_DATABASE", url_of(database))
    monkeypatch.delitem(sys.modules, "examples.fastapi_app.app", raising=False)
    return importlib.import_module("examples.fastapi_app.app")


@pytest.fixture
async def client(example: Any) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(example.app)
    async with (
        example.app.router.lifespan_context(example.app),
        httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers={"user": "ada"}
        ) as client,
    ):
        yield client


async def test_an_order_is_shipped_and_its_mail_sent_by_the_node_of_the_process(
    example: Any, client: httpx.AsyncClient
) -> None:
    ordered = (await client.post("/orders", params={"what": "tea"})).json()
    jobs = example.horae.aio.jobs
    assert await jobs.wait(ordered["job"], timeout=PATIENCE) == "tea"
    assert (await jobs.get(ordered["job"])).owner == "ada"
    assert (await client.get("/orders")).json() == {str(ordered["order"]): "shipped"}
    [mail] = (await jobs.list(types=["send_mail"])).jobs
    assert "to ada: we got" in await jobs.wait(mail.id, timeout=PATIENCE)


async def test_an_order_that_fails_leaves_no_job(example: Any, client: httpx.AsyncClient) -> None:
    assert (await client.post("/orders", params={"what": "nothing"})).status_code == 400
    assert (await example.horae.aio.jobs.list()).jobs == []
    assert (await client.get("/orders")).json() == {}


async def test_the_mounted_api_knows_the_users_of_the_application(
    client: httpx.AsyncClient,
) -> None:
    job = (await client.post("/orders", params={"what": "tea"})).json()["job"]
    path = f"/work/api/jobs/{job}/"
    assert (await client.get(path)).json()["type"] == "ship"
    assert (await client.get(path, headers={"user": "eve"})).status_code == 404
    assert (await client.get(path, headers={"user": "admin"})).status_code == 200
    assert (await client.get(path, headers={"user": ""})).status_code == 401
    assert "text/html" in (await client.get("/work/")).headers["content-type"]
