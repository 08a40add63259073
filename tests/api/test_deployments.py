"""`/api/deployments/`: the versions of a module's schedules, on both kinds of database."""

from typing import Any
from urllib.parse import quote

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from tests.api.clients import Client, application_of, client_of, error_of
from tests.harness.applications import application


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


MISSING = (404, "ERROR_DEPLOYMENT_DOES_NOT_EXIST")


def two_versions(horae: Horae) -> list[str]:
    """Deploy one schedule, then two; the keys."""

    @horae.cron("0 3 * * *")
    def purge() -> None: ...

    first = horae.deploy().deployment.key

    @horae.every("10m")
    def refresh() -> None: ...

    return [first, horae.deploy().deployment.key]


async def test_versions_are_listed_the_newest_first(horae: Horae, client: Client) -> None:
    assert (await client("auditor").get("/api/deployments/")).json() == {"deployments": []}
    first, second = two_versions(horae)
    found = (await client("auditor").get("/api/deployments/")).json()["deployments"]
    assert [(each["key"], each["replaced_by"], each["ended_on"] is None) for each in found] == [
        (second, None, True),
        (first, second, False),
    ]
    assert found[0].keys() == {
        "key",
        "module",
        "schema",
        "min_replicas",
        "created_on",
        "ended_on",
        "replaced_by",
        "types",
    }
    assert [each["types"] for each in found] == [["purge", "refresh"], []]
    assert (found[0]["module"], found[0]["min_replicas"]) == (horae.module, 1)
    assert "verb refresh(Unit) Unit" in found[0]["schema"]
    assert (await client("auditor").get(f"/api/deployments/{first}/")).json() == found[1]


async def test_a_deployment_is_stopped_and_started_again_and_ended(
    horae: Horae, client: Client
) -> None:
    _, key = two_versions(horae)
    root, path = client("root"), f"/api/deployments/{key}/"

    async def enabled() -> list[bool]:
        listed = (await root.get("/api/schedules/")).json()["schedules"]
        return [item["enabled"] for item in listed]

    stopped = (await root.post(f"{path}scale/", json={"min_replicas": 0})).json()
    assert (stopped["min_replicas"], await enabled()) == (0, [False, False])
    assert (await root.post(f"{path}scale/", json={"min_replicas": 2})).json()["min_replicas"] == 2
    assert await enabled() == [True, True]
    assert (await root.post(f"{path}end/")).json()["ended_on"] is not None
    assert await enabled() == [False, False]
    assert (await root.post(f"{path}end/")).status_code == 200
    again = await root.post(f"{path}scale/", json={"min_replicas": 1})
    assert error_of(again) == (400, "ERROR_INVALID_REQUEST")
    found = (await root.get("/api/audit/")).json()["entries"][::-1]
    entries = [each for each in found if each["channel"] == "http"]
    assert [
        (each["action"], each["target"], each["outcome"], each["note"]) for each in entries
    ] == [
        ("deployment.scale", key, "done", "min_replicas 0"),
        ("deployment.scale", key, "done", "min_replicas 2"),
        ("deployment.end", key, "done", None),
        ("deployment.end", key, "done", None),
        ("deployment.scale", key, "ERROR_INVALID_REQUEST", "min_replicas 1"),
    ]


@pytest.mark.parametrize(
    "body", [{"min_replicas": -1}, {"min_replicas": 2**31}, {}, {"min_replicas": 1, "more": 1}]
)
async def test_a_wrong_number_of_replicas_is_refused(
    horae: Horae, client: Client, body: dict[str, Any]
) -> None:
    _, key = two_versions(horae)
    response = await client("root").post(f"/api/deployments/{key}/scale/", json=body)
    assert error_of(response) == (400, "ERROR_REQUEST_BODY_VALIDATION")


async def test_an_unknown_name_is_a_404(client: Client) -> None:
    root = client("root")
    for key in ("dpl-none", "x" * 300, "%00"):
        path = f"/api/deployments/{key}/"
        answers = [
            await root.get(path),
            await root.post(f"{path}scale/", json={"min_replicas": 1}),
            await root.post(f"{path}end/"),
        ]
        assert {error_of(answer) for answer in answers} == {MISSING}


async def test_owners_see_none_and_only_staff_change_any(horae: Horae, client: Client) -> None:
    _, key = two_versions(horae)
    path = f"/api/deployments/{key}/"
    refused = [
        await client("alice").get("/api/deployments/"),
        await client("alice").get(path),
        await client("auditor").post(f"{path}end/"),
        await client("auditor").post(f"{path}scale/", json={"min_replicas": 0}),
    ]
    assert {error_of(answer) for answer in refused} == {(403, "ERROR_PERMISSION_DENIED")}
    assert horae.deployments.get(key).ended_at is None


@pytest.mark.parametrize("module", ["team/a", "team/a/scale", "/", "50%", "a b?c#d", "é" * 200])
async def test_a_deployment_of_any_name_is_reached(database: Database, module: str) -> None:
    with application(database, module=module) as named:
        _, key = two_versions(named)
        root = client_of(application_of(named), "root")
        path = f"/api/deployments/{quote(key, safe='')}"
        found = (await root.get(f"{path}/")).json()
        stopped = (await root.post(f"{path}/scale/", json={"min_replicas": 0})).json()
        ended = (await root.post(f"{path}/end/")).json()
    assert (found["key"], found["module"], stopped["key"], stopped["min_replicas"]) == (
        key,
        module,
        key,
        0,
    )
    assert (ended["key"], ended["ended_on"] is None) == (key, False)
