"""Unique and debounced job types over HTTP: the endpoint of a type applies the rule of the type."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection

from horae import Debounce, Horae, Job, Unique
from horae.storage.jobs import creation
from horae.storage.jobs.creation import Contended
from tests.api.clients import application_of, client_of, error_of


@pytest.fixture
def shop(horae: Horae) -> Callable[[str], httpx.AsyncClient]:
    @horae.job(public=True, max_count=None, unique=Unique(by=("table",)))
    def export(table: int) -> None: ...

    @horae.job(public=True, unique=Unique(by=("table",), on_duplicate="return"))
    def report(table: int) -> None: ...

    @horae.job(public=True, debounce=Debounce("1m", by=("table",)))
    def index(table: int, text: str) -> None: ...

    app = application_of(horae)
    return lambda who: client_of(app, who)


async def started(client: httpx.AsyncClient, kind: str, **values: object) -> httpx.Response:
    return await client.post(f"/api/jobs/types/{kind}/", json=values)


async def test_a_duplicate_has_its_code(shop: Callable[[str], httpx.AsyncClient]) -> None:
    assert (await started(shop("alice"), "export", table=1)).status_code == 202
    refused = await started(shop("alice"), "export", table=1)
    assert error_of(refused) == (400, "ERROR_DUPLICATE_JOB")
    assert "has the same table" in refused.json()["detail"]
    assert (await started(shop("alice"), "export", table=2)).status_code == 202


async def test_a_duplicate_of_another_owner_is_not_returned(
    shop: Callable[[str], httpx.AsyncClient],
) -> None:
    first, again, other = [
        (await started(shop(who), "report", table=1)).json() for who in ("alice", "alice", "bob")
    ]
    assert first["id"] == again["id"] != other["id"]
    assert (first["owner"], other["owner"]) == ("alice", "bob")


async def test_later_requests_move_the_job(shop: Callable[[str], httpx.AsyncClient]) -> None:
    first, second = [
        (await started(shop("alice"), "index", table=1, text=text)).json() for text in ("a", "b")
    ]
    assert first["id"] == second["id"]
    assert second["params"] == {"table": 1, "text": "b"}
    assert second["due_on"] >= first["due_on"]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_job_that_is_started_while_a_start_is_explained_answers_it(
    horae: Horae, shop: Callable[[str], httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite nobody else can start one meanwhile."""
    meanwhile: list[Job] = []

    def start_another_after(read: Callable[..., Any]) -> Callable[..., Any]:
        def read_then_start(*arguments: Any) -> Any:
            found = read(*arguments)
            if not meanwhile:
                meanwhile.append(horae.jobs.start("report", table=1, owner="alice"))
            return found

        return read_then_start

    with monkeypatch.context() as patched:
        for name in ("count_open", "active_with_key"):
            patched.setattr(creation, name, start_another_after(getattr(creation, name)))
        patched.setattr(creation, "_try_lock", block_first(1))
        answer = await started(shop("alice"), "report", table=1)
    assert (answer.status_code, answer.json().get("id")) == (202, meanwhile[0].id)


def block_first(count: int) -> Callable[[Connection, str, str], str | None]:
    """Return what takes the place of `_try_lock`: another transaction has the lock at the first tries."""
    tries = itertools.count()
    try_lock: Callable[[Connection, str, str], str | None] = vars(creation)["_try_lock"]

    def lock_later(connection: Connection, key: str, about: str) -> str | None:
        if next(tries) < count:
            raise Contended(f"another transaction has started {about}")
        return try_lock(connection, key, about)

    return lock_later


async def test_starts_that_had_to_wait_are_answered_like_others(
    shop: Callable[[str], httpx.AsyncClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation, "_try_lock", block_first(5))
    answers = await asyncio.gather(*(started(shop("alice"), "report", table=1) for _ in range(5)))
    assert [(answer.status_code, answer.json()["type"]) for answer in answers] == [
        (202, "report")
    ] * 5
    assert len({answer.json()["id"] for answer in answers}) == 1
