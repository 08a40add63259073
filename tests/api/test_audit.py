"""A change that cannot be recorded in the audit log is not made."""

from typing import Any, Final

import pytest

from horae import Horae, JobState
from horae.api.application import HttpInterface
from horae.storage.engine.database import Database
from tests.api.clients import Client, client_of
from tests.harness.applications import claim_as_another_node, execute, live_rows, rows


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


CHANGES: Final = {
    "start": ("POST", "/api/jobs/types/export_table/", {"table_id": 1}),
    "cancel": ("POST", "/api/jobs/1/cancel/", None),
    "retry": ("POST", "/api/jobs/2/retry/", None),
    "delete": ("DELETE", "/api/jobs/2/", None),
    "pause a queue": ("POST", "/api/queues/new/pause/", {}),
    "resume a queue": ("POST", "/api/queues/held/resume/", None),
    "limit a queue": ("POST", "/api/queues/new/limit/", {"concurrency_limit": 1}),
    "add a schedule": (
        "POST",
        "/api/schedules/",
        {"job_type": "rebuild_index", "name": "new", "every": "1h"},
    ),
    "alter a schedule": ("PATCH", "/api/schedules/1/", {"every": "3h"}),
    "pause a schedule": ("POST", "/api/schedules/1/pause/", {}),
    "resume a schedule": ("POST", "/api/schedules/1/resume/", None),
    "run a schedule": ("POST", "/api/schedules/1/run/", None),
    "delete a schedule": ("DELETE", "/api/schedules/1/", None),
}


@pytest.fixture
def stocked(horae: Horae, client: Client) -> Horae:
    """A pending job, a cancelled one, a held queue and a schedule."""
    horae.jobs.start("rebuild_index")
    horae.jobs.cancel(horae.jobs.start("rebuild_index").id)
    execute(
        horae,
        "INSERT INTO horae_queues (name, paused_at) SELECT 'held', created_at FROM horae_jobs WHERE id = 1",
    )
    horae.schedules.add("rebuild_index", name="hourly", every="2h")
    return horae


def everything(horae: Horae) -> list[Any]:
    tables = ("horae_jobs", "horae_queues", "horae_schedules")
    return [rows(horae, f"SELECT * FROM {table} ORDER BY 1") for table in tables]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_that_cannot_be_recorded_is_not_made(
    stocked: Horae, client: Client, change: str
) -> None:
    before = everything(stocked)
    execute(stocked, "DROP TABLE horae_audit")
    method, path, body = CHANGES[change]
    answer = await client("root").request(method, path, json=body)
    assert answer.is_server_error
    assert everything(stocked) == before


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_is_recorded_once(stocked: Horae, client: Client, change: str) -> None:
    before = everything(stocked)
    method, path, body = CHANGES[change]
    assert (await client("root").request(method, path, json=body)).is_success
    recorded = rows(stocked, "SELECT actor, outcome FROM horae_audit WHERE channel = 'http'")
    assert recorded == [("root", "done")]
    assert everything(stocked) != before or change == "resume a schedule"


async def test_a_cancel_that_cannot_be_recorded_does_not_reach_the_body(
    horae: Horae, client: Client
) -> None:
    job = horae.jobs.start("rebuild_index")
    claim_as_another_node(horae)
    execute(horae, "DROP TABLE horae_audit")
    assert (await client("root").post(f"/api/jobs/{job.id}/cancel/")).is_server_error
    assert (horae.jobs.get(job.id).state, live_rows(horae, [job.id])) == (JobState.STARTED, 0)


async def test_a_cancel_that_came_too_late_is_recorded_as_refused(
    horae: Horae, client: Client
) -> None:
    job = horae.jobs.start("rebuild_index")
    execute(horae, "UPDATE horae_jobs SET state = 'finished', finished_at = created_at")
    await client("root").post(f"/api/jobs/{job.id}/cancel/")
    assert rows(horae, "SELECT action, outcome FROM horae_audit") == [
        ("job.cancel", "ERROR_JOB_NOT_CANCELLABLE")
    ]


async def test_a_refusal_that_cannot_be_recorded_is_in_the_log(
    horae: Horae, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    execute(horae, "DROP TABLE horae_audit")
    assert (await client("root").post("/api/jobs/1/cancel/")).status_code == 404
    assert "audit entry not written" in caplog.text
    assert "job.cancel" in caplog.text


async def test_a_name_with_a_newline_forges_no_line_of_the_log(
    app: HttpInterface, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "horae.audit")
    forged = "q%0AINFO horae.audit: root: job.delete 7: done%1B[2J%E2%80%A8"
    assert (
        await client_of(app, "root").post(f"/api/queues/{forged}/pause/", json={})
    ).status_code in (400, 404)
    messages = [record.getMessage() for record in caplog.records if record.name == "horae.audit"]
    assert [message for message in messages if len(message.splitlines()) > 1] == []
