"""Queues, nodes, the overview and the audit, on both kinds of database."""

import asyncio
from datetime import datetime, timedelta

import pytest

from horae import Horae
from horae.client import changes
from horae.domain.cluster.liveness import Death
from horae.domain.jobs.job import NodeId
from horae.runtime.components import NodeOptions
from horae.runtime.liveness.node_record import record_of
from horae.storage.engine import unreadable_rows
from horae.storage.engine.database import Database
from horae.storage.jobs import claims
from horae.storage.jobs.claims import ClaimScope
from horae.storage.nodes import nodes
from horae.storage.schedules import deployments
from tests.api.clients import Client, application_of, client_of, error_of
from tests.harness.applications import application, claim_as_another_node, execute, spoil
from tests.harness.nodes import running_node, until_state


async def test_a_queue_is_held_with_a_note_and_opened_again(horae: Horae, client: Client) -> None:
    horae.jobs.start("rebuild_index", queue="slow")
    root = client("root")
    paused = (await root.post("/api/queues/slow/pause/", json={"note": "moving house"})).json()
    assert (paused["paused"], paused["note"], paused["pending"]) == (True, "moving house", 1)
    assert claim_as_another_node(horae) == []
    listed = (await root.get("/api/queues/")).json()["queues"]
    assert listed == [{**paused, "oldest_seconds": listed[0]["oldest_seconds"]}]
    opened = (await root.post("/api/queues/slow/resume/")).json()
    assert (opened["paused"], opened["paused_on"], opened["note"]) == (False, None, None)
    assert len(claim_as_another_node(horae)) == 1


async def test_a_queue_that_was_never_held_stays_open(client: Client) -> None:
    opened = await client("root").post("/api/queues/none/resume/")
    assert (opened.status_code, opened.json()["paused"]) == (200, False)


async def test_a_queue_without_work_is_answered_when_it_is_opened(client: Client) -> None:
    await client("root").post("/api/queues/slow/pause/", json={})
    opened = await client("root").post("/api/queues/slow/resume/")
    assert (opened.status_code, opened.json()["name"], opened.json()["paused"]) == (
        200,
        "slow",
        False,
    )


async def test_a_queue_is_limited_and_opened_wide_again(horae: Horae, client: Client) -> None:
    for _ in range(3):
        horae.jobs.start("rebuild_index", queue="slow")
    root = client("root")
    limited = (await root.post("/api/queues/slow/limit/", json={"concurrency_limit": 2})).json()
    assert (limited["name"], limited["concurrency_limit"], limited["pending"]) == ("slow", 2, 3)
    assert (await root.get("/api/queues/")).json()["queues"][0]["concurrency_limit"] == 2
    assert claim_as_another_node(horae) == []  # it does not know the limit yet
    opened = (await root.post("/api/queues/slow/limit/", json={"concurrency_limit": None})).json()
    assert opened["concurrency_limit"] is None
    assert len(claim_as_another_node(horae)) == 3
    unknown = (
        await root.post("/api/queues/unknown/limit/", json={"concurrency_limit": None})
    ).json()
    assert (unknown["name"], unknown["pending"], unknown["paused"]) == ("unknown", 0, False)


async def test_a_waiting_job_shows_whether_its_queue_is_paused(
    horae: Horae, client: Client
) -> None:
    held, running = (
        horae.jobs.start("rebuild_index", queue="held"),
        horae.jobs.start("rebuild_index"),
    )
    claim_as_another_node(horae, queues=["default"])
    root = client("root")
    for queue in ("held", "default"):
        await root.post(f"/api/queues/{queue}/pause/", json={})
    answers = [(await root.get(f"/api/jobs/{job.id}/")).json() for job in (held, running)]
    assert {(answer["state"], answer["queue_is_paused"]) for answer in answers} == {
        ("pending", True),
        ("started", False),
    }
    await root.post("/api/queues/held/resume/", json={})
    await root.post("/api/queues/default/resume/", json={})
    assert not (await root.get(f"/api/jobs/{held.id}/")).json()["queue_is_paused"]


async def test_delayed_and_held_jobs_do_not_wait_for_a_slot(horae: Horae, client: Client) -> None:
    for _ in range(2):
        horae.jobs.start("rebuild_index")
    for _ in range(3):
        horae.jobs.start("rebuild_index", delay=timedelta(days=2))
    for _ in range(4):
        horae.jobs.start("rebuild_index", queue="held")
    root = client("root")
    await root.post("/api/queues/held/pause/", json={})
    overview = (await root.get("/api/overview/")).json()
    assert (overview["states"]["pending"], overview["ready"]) == (9, 2)
    by_name = {queue["name"]: (queue["pending"], queue["due"]) for queue in overview["queues"]}
    assert by_name == {"default": (5, 2), "held": (4, 4)}


@pytest.mark.one_database
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"concurrency_limit": 0},
        {"concurrency_limit": -1},
        {"concurrency_limit": 2**31},
        {"concurrency_limit": "many"},
    ],
)
async def test_an_invalid_limit_is_refused(client: Client, body: dict[str, object]) -> None:
    refused = await client("root").post("/api/queues/slow/limit/", json=body)
    assert error_of(refused) == (400, "ERROR_REQUEST_BODY_VALIDATION")


@pytest.mark.parametrize("who", ["alice", "auditor"])
async def test_only_staff_limits_queues(client: Client, who: str) -> None:
    refused = await client(who).post("/api/queues/slow/limit/", json={"concurrency_limit": 1})
    assert refused.status_code == 403
    assert (await client("auditor").get("/api/queues/")).json() == {"queues": []}


async def test_nodes_are_listed_with_slots_and_liveness(horae: Horae, client: Client) -> None:
    assert (await client("auditor").get("/api/nodes/")).json() == {"nodes": [], "died": []}
    async with running_node(horae, concurrency=3, name="kitchen"):
        found = (await client("auditor").get("/api/nodes/")).json()["nodes"]
    assert [(node["name"], node["slots"], node["running"], node["alive"]) for node in found] == [
        ("kitchen", 3, 0, True)
    ]
    assert found[0]["types"] == sorted(horae.registry.by_name)
    assert datetime.fromisoformat(found[0]["heartbeat_on"]).tzinfo is not None


async def test_a_node_uses_no_more_slots_than_it_has(horae: Horae, client: Client) -> None:
    """It also holds jobs that it has claimed ahead of free slots, and results that are not written yet."""
    for _ in range(5):
        horae.jobs.start("rebuild_index", queue="slow")
    async with running_node(horae, concurrency=3, queues=("none",)) as node:
        horae.components.database.autocommit(
            claims.claim,
            ClaimScope(node=node.id or NodeId(""), types=("rebuild_index",), queues=("slow",)),
            5,
        )
        [found] = (await client("auditor").get("/api/nodes/")).json()["nodes"]
        overview = (await client("auditor").get("/api/overview/")).json()
        metrics = (await client("auditor").get("/metrics")).text
    assert (found["slots"], found["slots_used"], found["running"]) == (3, 3, 5)
    assert (overview["slots"], overview["running"]) == (3, 3)
    assert "\nhorae_slots_used 3.0\n" in metrics


async def test_the_overview_counts_what_waits_runs_and_ended(client: Client) -> None:
    empty = (await client("auditor").get("/api/overview/")).json()
    assert empty["states"] == {
        "pending": 0,
        "started": 0,
        "finished": 0,
        "failed": 0,
        "cancelled": 0,
    }
    assert empty["pick_up"] == {"count": 0, "p50_seconds": None, "p99_seconds": None}
    assert (empty["throughput"], empty["problems"], empty["queues"]) == ([], [], [])


async def test_the_overview_sums_up_the_last_hour(horae: Horae, client: Client) -> None:
    job_ids = [horae.jobs.start("rebuild_index").id for _ in range(3)]
    cancelled = horae.jobs.start("rebuild_index", queue="later")
    horae.jobs.cancel(cancelled.id)
    async with running_node(horae):
        for job_id in job_ids:
            await until_state(horae, job_id, "finished")
        seen = (await client("auditor").get("/api/overview/")).json()
    assert (seen["states"]["finished"], seen["states"]["cancelled"]) == (3, 1)
    assert sum(minute["finished"] for minute in seen["throughput"]) == 3
    assert sum(minute["cancelled"] for minute in seen["throughput"]) == 1
    assert all(
        datetime.fromisoformat(minute["minute"]).second == 0 for minute in seen["throughput"]
    )
    assert max(minute["longest_pick_up_seconds"] or 0 for minute in seen["throughput"]) >= 0
    assert (seen["pick_up"]["count"], seen["duration"]["count"]) == (3, 3)
    assert 0 <= seen["pick_up"]["p50_seconds"] <= seen["pick_up"]["p99_seconds"]
    assert (seen["nodes_alive"], seen["nodes_dead"], seen["slots"]) == (1, 0, 10)


async def test_older_ends_are_not_counted_as_recent(horae: Horae, client: Client) -> None:
    job = horae.jobs.start("rebuild_index")
    claim_as_another_node(horae)
    horae.jobs.cancel(job.id)
    hour = (
        "INTERVAL '3601 seconds'"
        if horae.components.database.dialect == "postgresql"
        else "3601000000"
    )
    execute(horae, f"UPDATE horae_jobs SET finished_at = finished_at - {hour}")
    seen = (await client("auditor").get("/api/overview/")).json()
    assert (seen["states"]["cancelled"], seen["throughput"], seen["pick_up"]["count"]) == (1, [], 0)


async def test_problems_are_described_the_worst_first(horae: Horae, client: Client) -> None:
    for _ in range(6):
        horae.jobs.start("rebuild_index")
    claim_as_another_node(horae)
    execute(
        horae,
        "UPDATE horae_jobs SET state = 'failed', node_id = NULL, finished_at = started_at, error = 'no'",
    )
    horae.jobs.start("rebuild_index")
    await client("root").post("/api/queues/slow/pause/", json={"note": "why not"})
    problems = (await client("auditor").get("/api/overview/")).json()["problems"]
    assert [(each["level"], each["kind"]) for each in problems] == [
        ("problem", "no_worker"),
        ("problem", "type_failing"),
        ("warning", "queue_paused"),
    ]
    assert "no node runs" in problems[0]["message"]
    assert "6 of 6 jobs of type 'rebuild_index'" in problems[1]["message"]
    assert "by root (why not)" in problems[2]["message"]
    assert problems[2]["about"] == {"noun": "queue", "name": "slow", "id": None}
    assert problems[2]["deeds"] == ["resume"]


async def test_what_a_problem_counted_is_found_by_its_search(horae: Horae, client: Client) -> None:
    for _ in range(6):
        horae.jobs.start("rebuild_index")
    claim_as_another_node(horae)
    execute(
        horae,
        "UPDATE horae_jobs SET state = 'failed', node_id = NULL, finished_at = started_at, error = 'no'",
    )
    seen = (await client("auditor").get("/api/overview/")).json()
    assert (seen["summary"], seen["well"], seen["wrong"]) == ("1 thing is wrong", False, 1)
    (problem,) = seen["problems"]
    assert datetime.fromisoformat(problem["since"]) <= datetime.fromisoformat(seen["at"])
    counted = problem["counted"]
    found = await client("auditor").get("/api/jobs/", params={"query": counted["query"]})
    assert len(found.json()["jobs"]) == counted["count"] == 6


async def test_a_lost_node_is_reported_with_its_jobs(horae: Horae, client: Client) -> None:
    record = record_of(horae.registry, NodeOptions())
    horae.components.database.transact(nodes.register, record)
    horae.components.database.transact(
        nodes.remove_dead,
        {record.id: Death("its lock is free")},
        {record.id: {"pending": 2, "failed": 1}},
    )
    (problem,) = (await client("auditor").get("/api/overview/")).json()["problems"]
    assert (problem["kind"], problem["level"]) == ("node_lost", "problem")
    assert "it held 3 jobs: 1 failed, 2 to run again" in problem["message"]
    (died,) = (await client("auditor").get("/api/nodes/")).json()["died"]
    assert died["jobs"] == {"pending": 2, "failed": 1}


async def test_simultaneous_requests_share_one_overview(client: Client) -> None:
    answers = await asyncio.gather(*(client("auditor").get("/api/overview/") for _ in range(20)))
    assert len({answer.json()["at"] for answer in answers}) == 1


async def test_every_changing_call_is_recorded(client: Client) -> None:
    root, alice = client("root"), client("alice")
    job_id = (await alice.post("/api/jobs/types/duplicate_table/", json={"table_id": 1})).json()[
        "id"
    ]
    await alice.post("/api/jobs/types/duplicate_table/", json={"table_id": 404})
    await alice.post(f"/api/jobs/{job_id}/cancel/")
    await root.post(f"/api/jobs/{job_id}/retry/")
    await client("bob").post(f"/api/jobs/{job_id}/cancel/")
    await root.post("/api/queues/slow/pause/", json={"note": "why not"})
    await root.post("/api/queues/slow/resume/")
    await root.post("/api/queues/slow/limit/", json={"concurrency_limit": 2})
    await root.post("/api/queues/slow/limit/", json={"concurrency_limit": None})
    await root.delete(f"/api/jobs/{job_id}/")
    entries = (await client("auditor").get("/api/audit/")).json()["entries"]
    assert [
        (each["actor"], each["action"], each["target"], each["outcome"], each["note"])
        for each in entries[::-1]
    ] == [
        ("alice", "job.start", "duplicate_table", "done", None),
        ("alice", "job.start", "duplicate_table", "ERROR_TABLE_DOES_NOT_EXIST", None),
        ("alice", "job.cancel", str(job_id), "done", None),
        ("root", "job.retry", str(job_id), "done", None),
        ("bob", "job.cancel", str(job_id), "ERROR_JOB_DOES_NOT_EXIST", None),
        ("root", "queue.pause", "slow", "done", "why not"),
        ("root", "queue.resume", "slow", "done", None),
        ("root", "queue.limit", "slow", "done", "2"),
        ("root", "queue.limit", "slow", "done", "none"),
        ("root", "job.delete", str(job_id), "done", None),
    ]


async def test_the_audit_is_paged_and_filtered(client: Client) -> None:
    for number in range(5):
        await client("root").post(f"/api/queues/q{number}/pause/", json={})
    await client("bob").post("/api/jobs/1/cancel/")
    auditor = client("auditor")
    first = (await auditor.get("/api/audit/?actor=root&limit=3")).json()
    second = (await auditor.get(f"/api/audit/?actor=root&limit=3&cursor={first['next']}")).json()
    assert [each["target"] for each in first["entries"] + second["entries"]] == [
        "q4",
        "q3",
        "q2",
        "q1",
        "q0",
    ]
    assert second["next"] is None


async def test_the_audit_is_filtered_by_target_kind_channel_and_time(
    horae: Horae, client: Client
) -> None:
    schedule = horae.schedules.add("rebuild_index", name="nightly", cron="0 3 * * *")
    horae.schedules.alter("nightly", cron="0 4 * * *")
    horae.queues.pause("nightly")
    root, auditor = client("root"), client("auditor")
    await root.post(
        f"/api/schedules/{schedule.id}/pause/", json={}, headers={"X-Horae-Channel": "dashboard"}
    )
    await root.post(f"/api/schedules/{schedule.id}/resume/", json={})

    async def actions(**query: str) -> list[tuple[str, str]]:
        answer = await auditor.get("/api/audit/", params=query)
        assert answer.status_code == 200, answer.text
        return [(each["action"], each["channel"]) for each in answer.json()["entries"]]

    of_schedule = [
        ("schedule.resume", "http"),
        ("schedule.pause", "dashboard"),
        ("schedule.alter", "python"),
        ("schedule.add", "python"),
    ]
    assert await actions(kind="schedule", target=str(schedule.id)) == of_schedule
    assert await actions(kind="schedule", target="nightly") == of_schedule
    assert await actions(kind="queue", target="nightly") == [("queue.pause", "python")]
    assert await actions(kind="queue") == [("queue.pause", "python")]
    assert await actions(channel="dashboard") == [("schedule.pause", "dashboard")]
    assert await actions(action="schedule.alter,queue.pause") == [
        ("queue.pause", "python"),
        ("schedule.alter", "python"),
    ]
    assert await actions(target="nobody") == []
    assert len(await actions(since="2020-01-01T00:00:00Z")) == 5
    assert await actions(until="2020-01-01T00:00:00Z") == []
    paused = (await auditor.get("/api/audit/?action=schedule.pause")).json()["entries"][0]
    assert (paused["target"], paused["target_name"]) == (str(schedule.id), "nightly")
    changed = (await auditor.get("/api/audit/?action=schedule.alter")).json()["entries"][0]
    assert (changed["before"]["trigger"], changed["after"]["trigger"]) == ("0 3 * * *", "0 4 * * *")


@pytest.mark.one_database
@pytest.mark.parametrize(
    "query",
    [
        "kind=Queue",
        "kind=",
        "since=yesterday",
        "since=5",
        "until=2020-01-01",
        "until=1.7e9",
        "channel=%00",
        "x=1",
    ],
)
async def test_a_filter_of_the_audit_that_makes_no_sense_is_refused(
    client: Client, query: str
) -> None:
    answer = await client("auditor").get(f"/api/audit/?{query}")
    assert error_of(answer) == (400, "ERROR_QUERY_PARAMETER_VALIDATION")


async def test_old_entries_go(horae: Horae, client: Client) -> None:
    await client("root").post("/api/queues/old/pause/", json={})
    on_postgres = horae.components.database.dialect == "postgresql"
    year = "INTERVAL '366 days'" if on_postgres else "31622400000000"
    execute(horae, f"UPDATE horae_audit SET at = at - {year}, id = {changes.TIDY_EVERY - 1}")
    if on_postgres:
        execute(
            horae,
            f"SELECT setval(pg_get_serial_sequence('horae_audit', 'id'), {changes.TIDY_EVERY - 1})",
        )
    await client("root").post("/api/queues/new/pause/", json={})  # its entry deletes old ones
    assert [
        each["target"] for each in (await client("auditor").get("/api/audit/")).json()["entries"]
    ] == ["new"]


async def test_few_old_entries_go_at_once(
    horae: Horae, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that is wrong for a moment does not delete them all."""
    for name in ("a", "b", "c"):
        await client("root").post(f"/api/queues/{name}/pause/", json={})
    on_postgres = horae.components.database.dialect == "postgresql"
    year = "INTERVAL '366 days'" if on_postgres else "31622400000000"
    execute(horae, f"UPDATE horae_audit SET at = at - {year}")
    monkeypatch.setattr(changes, "TIDY_EVERY", 1)
    await client("root").post("/api/queues/new/pause/", json={})
    entries = (await client("auditor").get("/api/audit/")).json()["entries"]
    assert [each["target"] for each in entries] == ["new", "c"]


@pytest.mark.parametrize(
    "damage",
    [
        "roles = '5'",
        "roles = 'null'",
        "types = '{\"a\": 1}'",
        "types = '[1]'",
        "queues = '7'",
        "queues = '[null]'",
    ],
)
async def test_a_damaged_node_is_left_out_and_reported(
    horae: Horae, client: Client, damage: str
) -> None:
    record = record_of(horae.registry, NodeOptions())
    horae.components.database.transact(nodes.register, record)
    execute(horae, f"UPDATE horae_nodes SET {damage}")
    answer = await client("root").get("/api/nodes/")
    assert (answer.status_code, answer.json()["nodes"]) == (200, [])
    column = damage.partition(" ")[0]
    assert unreadable_rows.list_all()["horae_nodes", record.id] == f"{column} is no list of texts"


ENDLESS = {"postgresql": "'infinity'", "sqlite": "'soon'"}
"""A moment that cannot be read."""


@pytest.mark.parametrize("column", ["at", "actor"])
async def test_a_damaged_entry_of_the_audit_is_left_out(
    horae: Horae, client: Client, column: str
) -> None:
    dialect = horae.components.database.dialect
    if (column, dialect) == ("actor", "postgresql"):
        pytest.skip("its columns hold no other type")
    await client("root").post("/api/queues/old/pause/", json={})
    damaged = ENDLESS[dialect] if column == "at" else "X'ff'"
    spoil(horae, "horae_audit", f"{column} = {damaged}", "1 = 1")
    answer = await client("root").get("/api/overview/")
    assert answer.status_code == 200
    assert (await client("auditor").get("/api/audit/")).json()["entries"] == []
    assert "horae_audit" in unreadable_rows.count_by_table()


async def test_a_damaged_deployment_is_named(horae: Horae, client: Client) -> None:
    horae.components.database.transact(deployments.add, "v2", "shop", "[]", "1", 1)
    moment = ENDLESS[horae.components.database.dialect]
    spoil(horae, "horae_deployments", f"created_at = {moment}", "1 = 1")
    for answer in (
        await client("root").get("/api/deployments/v2/"),
        await client("root").post("/api/deployments/v2/scale/", json={"min_replicas": 2}),
    ):
        assert error_of(answer) == (503, "ERROR_UNAVAILABLE")
        assert "of horae_deployments cannot be read" in answer.json()["detail"]


async def test_a_damaged_place_in_the_history_is_named(horae: Horae, client: Client) -> None:
    database = horae.components.database
    execute(
        horae,
        "INSERT INTO horae_history_state (id, reached, behind)"
        f" VALUES (1, {ENDLESS[database.dialect]}, '{{}}')",
    )
    answer = await client("root").get("/api/history/queues/")
    assert error_of(answer) == (503, "ERROR_UNAVAILABLE")
    assert "row 1 of horae_history_state cannot be read" in answer.json()["detail"]


async def test_a_queue_that_is_behind_since_no_moment_is_not_behind(
    horae: Horae, client: Client
) -> None:
    now = "now()" if horae.components.database.dialect == "postgresql" else "horae_now()"
    execute(
        horae,
        "INSERT INTO horae_history_state (id, reached, behind)"
        f""" VALUES (1, {now}, '{{"export": {2**63 - 1}}}')""",
    )
    assert (await client("root").get("/api/history/queues/")).status_code == 200


async def test_a_damaged_revision_is_named(sqlite_database: Database) -> None:
    with application(sqlite_database) as horae:
        execute(horae, "UPDATE horae_alembic_version SET version_num = X'ff'")
        answer = await client_of(application_of(horae), "root").get("/api/overview/")
    assert error_of(answer) == (503, "ERROR_UNAVAILABLE")
    assert "the revision in horae_alembic_version is damaged" in answer.json()["detail"]
