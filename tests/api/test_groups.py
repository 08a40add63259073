"""`/api/groups/`: the progress of a group, its members, and its cancel, on both kinds of database."""

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from tests.api.clients import Client, error_of


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


async def test_a_group_is_read_with_its_members(horae: Horae, client: Client) -> None:
    group = horae.jobs.start_group(
        [("rebuild_index", {"shards": 1}), "rebuild_index"],
        then=("rebuild_index", {"shards": 9}),
        owner="alice",
    )
    alice, bob = client("alice"), client("bob")
    found = (await alice.get(f"/api/groups/{group.id}/")).json()
    expected = {
        "state": "open",
        "total": 2,
        "finished": 0,
        "then_id": group.then_id,
        "owner": "alice",
    }
    assert expected.items() <= found.items()
    members = (await alice.get(f"/api/jobs/?group_id={group.id}")).json()["jobs"]
    assert [job["group_id"] for job in members] == [group.id] * 2
    assert (await alice.get(f"/api/jobs/{group.then_id}/")).json()["waits_for"] == "jobs"
    assert error_of(await bob.get(f"/api/groups/{group.id}/")) == (
        404,
        "ERROR_GROUP_DOES_NOT_EXIST",
    )
    assert (await bob.get(f"/api/jobs/?group_id={group.id}")).json()["jobs"] == []
    assert (await client("auditor").get(f"/api/groups/{group.id}/")).json() == found


async def test_a_group_is_cancelled(horae: Horae, client: Client) -> None:
    group = horae.jobs.start_group(
        ["rebuild_index"], then=("rebuild_index", {"shards": 9}), owner="alice"
    )
    path = f"/api/groups/{group.id}/cancel/"
    assert error_of(await client("bob").post(path)) == (404, "ERROR_GROUP_DOES_NOT_EXIST")
    for _ in range(2):
        cancelled = (await client("alice").post(path)).json()
        assert (cancelled["state"], cancelled["cancelled"], cancelled["cancelled_by"]) == (
            "cancelled",
            1,
            "alice",
        )
    empty = horae.jobs.start_group([], owner="alice")
    again = await client("alice").post(f"/api/groups/{empty.id}/cancel/")
    assert error_of(again) == (400, "ERROR_GROUP_NOT_CANCELLABLE")
    listed = (await client("root").get("/api/audit/")).json()["entries"]
    assert any(entry["action"] == "group.cancel" for entry in listed)


async def test_a_group_is_started(horae: Horae, client: Client) -> None:
    @horae.job(public=True, max_count=None)
    def resize(image: int) -> int:
        return image

    members = [{"type": "resize", "params": {"image": n}} for n in range(3)]
    body = {
        "members": members,
        "then": {"type": "resize", "params": {"image": 9}},
        "on_failure": "cancel",
    }
    answer = await client("alice").post("/api/groups/", json=body)
    group = answer.json()
    expected = {"state": "open", "total": 3, "owner": "alice", "on_failure": "cancel"}
    assert (answer.status_code, expected.items() <= group.items()) == (202, True)
    ids = [
        job["id"]
        for job in (await client("alice").get(f"/api/jobs/?group_id={group['id']}")).json()["jobs"]
    ]
    assert len(ids) == 3
    horae.jobs.cancel(ids[0])
    assert horae.jobs.get(group["then_id"]).state == "cancelled"
    listed = (await client("root").get("/api/audit/")).json()["entries"]
    assert any(entry["action"] == "group.start" for entry in listed)


async def test_only_public_types_may_be_started_as_a_group(horae: Horae, client: Client) -> None:
    for body in (
        {"members": [{"type": "rebuild_index"}]},
        {"members": [], "then": {"type": "rebuild_index"}},
        {"members": [{"type": "no such type"}]},
    ):
        refused = await client("alice").post("/api/groups/", json=body)
        assert error_of(refused) == (400, "ERROR_JOB_TYPE_DOES_NOT_EXIST")
    assert horae.jobs.list().jobs == []


async def test_a_group_does_not_evade_the_count_limit(horae: Horae, client: Client) -> None:
    member = {"type": "duplicate_table", "params": {"table_id": 1}}
    refused = await client("alice").post("/api/groups/", json={"members": [member, member]})
    assert error_of(refused) == (400, "ERROR_MAX_JOB_COUNT_EXCEEDED")
    assert horae.jobs.list().jobs == []
    assert (
        await client("alice").post("/api/groups/", json={"members": [member]})
    ).status_code == 202


async def test_bad_groups_are_refused(client: Client) -> None:
    alice = client("alice")
    locked = {"type": "duplicate_table", "params": {"table_id": 423}}
    wrong: list[tuple[object, tuple[int, str]]] = [
        ({"members": [{"type": "duplicate_table"}] * 1001}, (400, "ERROR_REQUEST_BODY_VALIDATION")),
        ({"members": [], "on_failure": "stop"}, (400, "ERROR_REQUEST_BODY_VALIDATION")),
        (
            {"members": [{"type": "duplicate_table", "params": {"table_id": "x"}}]},
            (400, "ERROR_REQUEST_BODY_VALIDATION"),
        ),
        ({"members": [locked]}, (400, "ERROR_TABLE_LOCKED")),
    ]
    for body, expected in wrong:
        assert error_of(await alice.post("/api/groups/", json=body)) == expected
    assert (await client("auditor").post("/api/groups/", json={"members": []})).status_code == 403
