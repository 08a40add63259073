"""Changes of many jobs over HTTP: who may change which jobs, previews, and what is refused."""

from typing import Any

import pytest

from horae import Horae
from tests.api.clients import Client, error_of
from tests.harness.applications import execute, rows


@pytest.fixture
def stocked(horae: Horae) -> Horae:
    """Jobs 1 to 4, of alice and bob in turns; `rebuild_index` is not public, `duplicate_table` is."""
    for number in range(4):
        kind: Any = "rebuild_index" if number < 2 else "duplicate_table"
        values: dict[str, Any] = {} if number < 2 else {"table_id": number}
        horae.jobs.start(kind, owner="bob" if number % 2 else "alice", **values)
    return horae


def order_of(horae: Horae, job: int) -> Any:
    return horae.jobs.get(job).params["order"]


async def test_staff_change_jobs_of_everybody(stocked: Horae, client: Client) -> None:
    preview = await client("root").post(
        "/api/jobs/bulk/cancel/preview/", json={"types": ["rebuild_index"]}
    )
    assert (preview.status_code, preview.json()["count"], preview.json()["complete"]) == (
        200,
        2,
        True,
    )
    assert [job["id"] for job in preview.json()["newest"]] == [2, 1]

    response = await client("root").post(
        "/api/jobs/bulk/cancel/", json={"types": ["rebuild_index"], "query": "-id:1"}
    )
    job = response.json()
    assert (response.status_code, job["type"], job["owner"]) == (202, "horae.bulk", None)
    assert order_of(stocked, job["id"]) == {
        "action": "cancel",
        "types": ["rebuild_index"],
        "query": "-id:1",
        "timezone": None,
        "technical": True,
        "by": "root",
        "states": None,
        "queues": None,
        "owner": None,
        "schedule_id": None,
        "ids": None,
        "run_at": None,
        "without_hooks": False,
    }
    (entry,) = rows(stocked, "SELECT actor, action, outcome, channel FROM horae_audit")
    assert tuple(entry) == ("root", "jobs.cancel_many", "done", "http")


async def test_owners_change_only_their_own(stocked: Horae, client: Client) -> None:
    response = await client("alice").post("/api/jobs/bulk/cancel/", json={"all": True})
    assert response.json()["owner"] == "alice"
    assert order_of(stocked, response.json()["id"])["owner"] == "alice"
    preview = await client("alice").post(
        "/api/jobs/bulk/cancel/preview/", json={"query": "owner:bob"}
    )
    assert preview.json()["count"] == 0
    assert error_of(
        await client("alice").post("/api/jobs/bulk/cancel/", json={"owner": "bob"})
    ) == (
        403,
        "ERROR_PERMISSION_DENIED",
    )
    assert error_of(await client("alice").post("/api/jobs/bulk/delete/", json={"all": True})) == (
        403,
        "ERROR_PERMISSION_DENIED",
    )
    assert error_of(await client("auditor").post("/api/jobs/bulk/cancel/", json={"all": True})) == (
        403,
        "ERROR_PERMISSION_DENIED",
    )


async def test_owners_retry_only_public_types(stocked: Horae, client: Client) -> None:
    execute(stocked, "UPDATE horae_jobs SET state = 'failed', finished_at = created_at")
    counts = [
        (
            await client(who).post("/api/jobs/bulk/retry/preview/", json={"states": ["failed"]})
        ).json()["count"]
        for who in ("alice", "root")
    ]
    assert counts == [1, 4]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("action", "body", "answer", "reason"),
    [
        ("cancel", {}, (400, "ERROR_INVALID_REQUEST"), "set all"),
        ("cancel", {"query": "foo-x:1"}, (400, "ERROR_JOB_QUERY"), "there is no field 'foo-x'"),
        (
            "cancel",
            {"all": True, "delay": "1h"},
            (400, "ERROR_INVALID_REQUEST"),
            "there is no filter 'delay'",
        ),
        ("reschedule", {"all": True}, (400, "ERROR_INVALID_REQUEST"), "either run_at or delay"),
        ("cancel", {"colour": "red"}, (400, "ERROR_REQUEST_BODY_VALIDATION"), "colour"),
        ("cancel", {"states": ["done"]}, (400, "ERROR_INVALID_REQUEST"), "allowed are"),
    ],
)
async def test_refusals(client: Client, action: str, body: Any, answer: Any, reason: str) -> None:
    response = await client("root").post(f"/api/jobs/bulk/{action}/", json=body)
    assert error_of(response) == answer
    assert reason in response.text


async def test_an_unknown_action_is_refused(client: Client) -> None:
    response = await client("root").post("/api/jobs/bulk/explode/", json={"all": True})
    assert response.status_code == 404


async def test_jobs_are_moved(stocked: Horae, client: Client) -> None:
    response = await client("root").post(
        "/api/jobs/bulk/reschedule/", json={"all": True, "run_at": "2031-01-01T00:00Z"}
    )
    assert order_of(stocked, response.json()["id"])["run_at"].startswith("2031-01-01T00:00:00")


async def test_a_list_says_how_many_changes_were_refused(stocked: Horae, client: Client) -> None:
    fail = "UPDATE horae_jobs SET state = 'failed', finished_at = created_at"
    execute(stocked, f"{fail} WHERE id IN (1, 2)")
    execute(stocked, "UPDATE horae_jobs SET type = 'elsewhere' WHERE id = 2")
    response = await client("root").post("/api/jobs/bulk/retry/", json={"ids": [1, 2]})
    with stocked.node(concurrency=1).running():
        await stocked.aio.jobs.wait(response.json()["id"], timeout="30s")
    listed = (await client("root").get("/api/jobs/?types=horae.bulk")).json()["jobs"]
    assert [(job["state"], job["refused"]) for job in listed] == [("finished", 1)]
