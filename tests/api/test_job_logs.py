"""`GET /api/jobs/{id}/logs/`: who sees log lines, and how they are followed."""

import logging

import pytest

from horae import Horae, KeepLogs
from horae.storage.engine.database import Database
from tests.api.clients import Client


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


@pytest.fixture
def job_id(horae: Horae) -> int:
    @horae.job(keep_logs=KeepLogs(lines=2))
    def speak() -> None:
        log = logging.getLogger("shop")
        for number in range(4):
            log.warning("line %d", number)

    return horae.jobs.start(speak, owner="alice", sync=True).id


async def test_staff_read_the_lines_of_a_job(client: Client, job_id: int) -> None:
    for who in ("auditor", "root"):
        answer = (await client(who).get(f"/api/jobs/{job_id}/logs/")).json()
        assert [line["message"] for line in answer["lines"]] == ["line 0", "line 1", ""]
        first, *_, gap = answer["lines"]
        assert {
            name: first[name] for name in ("attempt", "level", "logger", "dropped", "cursor")
        } == {
            "attempt": 1,
            "level": "warning",
            "logger": "shop",
            "dropped": 0,
            "cursor": "1.0",
        }
        assert (gap["dropped"], answer["dropped"], answer["next"], answer["more"]) == (
            2,
            2,
            "1.2",
            False,
        )


async def test_they_are_followed_with_a_cursor(client: Client, job_id: int) -> None:
    page = (await client("root").get(f"/api/jobs/{job_id}/logs/?limit=1")).json()
    assert ([line["message"] for line in page["lines"]], page["more"]) == (["line 0"], True)
    rest = (
        await client("root").get(f"/api/jobs/{job_id}/logs/?after={page['next']}&level=warning")
    ).json()
    assert [line["message"] for line in rest["lines"]] == ["line 1", ""]
    nothing = (await client("root").get(f"/api/jobs/{job_id}/logs/?after={rest['next']}")).json()
    assert (nothing["lines"], nothing["next"], nothing["more"]) == ([], rest["next"], False)


async def test_other_users_do_not_see_them(client: Client, job_id: int) -> None:
    owner = await client("alice").get(f"/api/jobs/{job_id}/logs/")
    assert owner.status_code == 403
    for who, path in (("bob", job_id), ("root", 999)):
        assert (await client(who).get(f"/api/jobs/{path}/logs/")).status_code == 404


@pytest.mark.parametrize(
    "query", ["after=x", "after=1", "level=loud", "limit=0", "limit=many", "before=1"]
)
async def test_odd_queries_are_refused(client: Client, job_id: int, query: str) -> None:
    assert (await client("root").get(f"/api/jobs/{job_id}/logs/?{query}")).status_code == 400
