"""`/api/groups/`: the progress of a group, its members, and its cancel, on both kinds of database."""

from horae import Horae
from tests.api.clients import Client, error_of


async def test_a_group_is_read_with_its_members(horae: Horae, client: Client) -> None:
    group = horae.jobs.start_group(
        [("rebuild_index", {"shards": 1}), "rebuild_index"], then=("rebuild_index", {"shards": 9}), owner="alice"
    )
    alice, bob = client("alice"), client("bob")
    found = (await alice.get(f"/api/groups/{group.id}/")).json()
    expected = {"state": "open", "total": 2, "finished": 0, "then_id": group.then_id, "owner": "alice"}
    assert expected.items() <= found.items()
    members = (await alice.get(f"/api/jobs/?group_id={group.id}")).json()["jobs"]
    assert [job["group_id"] for job in members] == [group.id] * 2
    assert (await alice.get(f"/api/jobs/{group.then_id}/")).json()["waits_for"] == "jobs"
    assert error_of(await bob.get(f"/api/groups/{group.id}/")) == (404, "ERROR_GROUP_DOES_NOT_EXIST")
    assert (await bob.get(f"/api/jobs/?group_id={group.id}")).json()["jobs"] == []
    assert (await client("auditor").get(f"/api/groups/{group.id}/")).json() == found


async def test_a_group_is_cancelled(horae: Horae, client: Client) -> None:
    group = horae.jobs.start_group(["rebuild_index"], then=("rebuild_index", {"shards": 9}), owner="alice")
    path = f"/api/groups/{group.id}/cancel/"
    assert error_of(await client("bob").post(path)) == (404, "ERROR_GROUP_DOES_NOT_EXIST")
    for _ in range(2):
        cancelled = (await client("alice").post(path)).json()
        assert (cancelled["state"], cancelled["cancelled"], cancelled["cancelled_by"]) == ("cancelled", 1, "alice")
    empty = horae.jobs.start_group([], owner="alice")
    again = await client("alice").post(f"/api/groups/{empty.id}/cancel/")
    assert error_of(again) == (400, "ERROR_GROUP_NOT_CANCELLABLE")
    listed = (await client("root").get("/api/audit/")).json()["entries"]
    assert any(entry["action"] == "group.cancel" for entry in listed)
