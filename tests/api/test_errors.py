"""Groups of failures over HTTP: who sees them, what they show, and changing the jobs of one."""

from typing import Any

import pytest

from horae import Horae
from horae.storage.schedules import deployments
from tests.api.clients import Client, error_of
from tests.harness.applications import ELSEWHERE, claim_as_another_node
from tests.storage.arrange import failure, settled

TRACEBACK = """Traceback (most recent call last):
  File "/srv/shop/index.py", line 12, in rebuild
    raise ValueError("no")
ValueError: no
"""


def fail(horae: Horae, count: int, **texts: Any) -> list[int]:
    for _ in range(count):
        horae.jobs.start("rebuild_index", owner="alice")
    claims = claim_as_another_node(horae)
    ended = [failure(claim, traceback=TRACEBACK, **texts) for claim in claims]
    settled(horae.components.database, *ended, node=ELSEWHERE)
    return [claim.id for claim in claims]


@pytest.fixture
def broken(horae: Horae) -> Horae:
    """Jobs 1 to 3 failed with one cause, job 4 with another."""
    fail(horae, 3)
    fail(horae, 1, error="OSError: full")
    return horae


async def test_failures_are_grouped_with_a_sample(broken: Horae, client: Client) -> None:
    answer = await client("auditor").get("/api/errors/")
    values, other = answer.json()["groups"]
    assert answer.json()["complete"] is True
    assert (values["type"], values["error_class"], values["place"], values["count"]) == (
        "rebuild_index",
        "ValueError",
        "shop/index.py:12 in rebuild",
        3,
    )
    assert (sorted(values["job_ids"]), values["error"]) == ([1, 2, 3], "ValueError: no")
    assert values["sample_job"] in (1, 2, 3)
    assert values["traceback"] == TRACEBACK
    assert values["new_since"] is None
    assert (other["error_class"], other["job_ids"]) == ("OSError", [4])
    assert "params" not in values


async def test_jobs_that_were_retried_are_not_counted_as_retryable(
    broken: Horae, client: Client
) -> None:
    root = client("root")
    (await root.post("/api/jobs/1/retry/")).raise_for_status()
    values, other = (await root.get("/api/errors/")).json()["groups"]
    assert (sorted(values["job_ids"]), values["retryable"]) == ([1, 2, 3], 2)
    assert other["retryable"] == 1


async def test_a_range_and_a_type_choose_failures(broken: Horae, client: Client) -> None:
    root = client("root")
    assert (await root.get("/api/errors/?type=export_table")).json()["groups"] == []
    assert len((await root.get("/api/errors/?since=7d&type=rebuild_index")).json()["groups"]) == 2
    for refused in ("since=soon", "since=91d", "since=0s", "until=1h"):
        assert (await root.get(f"/api/errors/?{refused}")).status_code == 400, refused


async def test_owners_see_no_errors(broken: Horae, client: Client) -> None:
    assert error_of(await client("alice").get("/api/errors/")) == (403, "ERROR_PERMISSION_DENIED")


async def test_failures_after_a_deployment_are_new_since_it(horae: Horae, client: Client) -> None:
    fail(horae, 1, error="OSError: full")
    horae.components.database.transact(deployments.add, "v2", "shop", "[]", "1", 1)
    fail(horae, 1)
    fail(horae, 1, error="OSError: full")
    groups = (await client("root").get("/api/errors/")).json()["groups"]
    assert {group["error_class"]: (group["new_since"] or {}).get("key") for group in groups} == {
        "OSError": None,
        "ValueError": "v2",
    }


async def test_failures_count_since_a_deployment_and_name_their_jobs(
    horae: Horae, client: Client
) -> None:
    fail(horae, 2, error="OSError: full")
    horae.components.database.transact(deployments.add, "v2", "shop", "[]", "1", 1)
    new = fail(horae, 1)
    fail(horae, 1, error="OSError: full")
    root = client("root")
    answer = (await root.get("/api/errors/?deployment=latest")).json()
    found = {
        group["error_class"]: (group["count"], group["new_since"] is not None)
        for group in answer["groups"]
    }
    assert found == {"OSError": (1, False), "ValueError": (1, True)}
    assert (answer["deployment"]["key"], answer["deployments"][0]["key"]) == ("v2", "v2")
    (group,) = (await root.get("/api/errors/?deployment=v2&only_new=true")).json()["groups"]
    jobs = (await root.get("/api/jobs/", params={"query": group["query"]})).json()["jobs"]
    assert [job["id"] for job in jobs] == new
    unknown = await root.get("/api/errors/?deployment=v3")
    assert error_of(unknown) == (404, "ERROR_NOT_FOUND")
    assert "there is no deployment 'v3'" in unknown.text


async def test_the_jobs_of_a_group_are_retried_and_no_others(broken: Horae, client: Client) -> None:
    chosen = {"ids": [1, 3], "types": ["rebuild_index"], "states": ["failed"]}
    preview = await client("root").post("/api/jobs/bulk/retry/preview/", json=chosen)
    assert (preview.json()["count"], [job["id"] for job in preview.json()["newest"]]) == (2, [3, 1])
    started = await client("root").post("/api/jobs/bulk/retry/", json=chosen)
    assert started.status_code == 202
    assert broken.jobs.get(started.json()["id"]).params["order"]["ids"] == [1, 3]
    for role in ("auditor", "alice"):
        refused = await client(role).post("/api/jobs/bulk/delete/", json=chosen)
        assert error_of(refused) == (403, "ERROR_PERMISSION_DENIED")
    too_many = {"ids": list(range(1, 5_002))}
    assert (await client("root").post("/api/jobs/bulk/retry/", json=too_many)).status_code == 400
