"""Pausing everything over HTTP: who may, what is shown and recorded."""

from horae import Horae
from tests.api.clients import Client, error_of
from tests.harness.applications import claim_as_another_node, rows


async def test_staff_pause_and_resume_everything(horae: Horae, client: Client) -> None:
    horae.jobs.start("rebuild_index")
    root = client("root")
    assert (await root.get("/api/everything/")).json() == {
        "paused": False,
        "paused_on": None,
        "note": None,
        "by": None,
    }
    paused = (await root.post("/api/everything/pause/", json={"note": "moving house"})).json()
    assert (paused["paused"], paused["note"], paused["by"]) == (True, "moving house", "root")
    assert (await client("auditor").get("/api/everything/")).json() == paused
    assert claim_as_another_node(horae) == []
    resumed = await root.post("/api/everything/resume/")
    assert (resumed.status_code, resumed.json()["paused"]) == (200, False)
    assert len(claim_as_another_node(horae)) == 1
    entries = rows(
        horae, "SELECT actor, action, target, note, outcome FROM horae_audit ORDER BY id"
    )
    assert [tuple(entry) for entry in entries] == [
        ("root", "everything.pause", "everything", "moving house", "done"),
        ("root", "everything.resume", "everything", None, "done"),
    ]


async def test_others_change_nothing(client: Client) -> None:
    for who in ("auditor", "alice"):
        for action in ("pause", "resume"):
            refused = await client(who).post(f"/api/everything/{action}/", json={})
            assert error_of(refused) == (403, "ERROR_PERMISSION_DENIED")
    assert error_of(await client("alice").get("/api/everything/")) == (
        403,
        "ERROR_PERMISSION_DENIED",
    )
