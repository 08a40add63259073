"""`/api/schedules/`: who sees them, what is shown, what can be changed and what not; on both kinds of database."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from horae import Horae
from horae.client.schedules.views import cursor_of
from horae.storage.engine.database import Database
from horae.storage.schedules.health import FAILURES_IN_A_ROW, MOST_FAILING
from tests.api.clients import Client, error_of
from tests.api.timetable import fail_often, fire, make_late
from tests.harness.applications import execute
from tests.harness.nodes import running_node, until_state


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


MISSING = (404, "ERROR_SCHEDULE_DOES_NOT_EXIST")
INVALID = (400, "ERROR_INVALID_REQUEST")
BODY = (400, "ERROR_REQUEST_BODY_VALIDATION")


def nightly(horae: Horae, name: str = "nightly", **options: Any) -> int:
    given: dict[str, Any] = {"cron": "0 3 * * *", "timezone": "Europe/Berlin"} | options
    if "every" in given:
        del given["cron"]
    return horae.schedules.add("rebuild_index", name=name, **given).id


async def read(client: Client, schedule_id: int) -> dict[str, Any]:
    found: dict[str, Any] = (await client("auditor").get(f"/api/schedules/{schedule_id}/")).json()
    return found


async def test_a_schedule_shows_its_definition(horae: Horae, client: Client) -> None:
    schedule_id = nightly(
        horae, config={"shards": 2}, overlap="buffer_one", jitter="90s", max_runtime="5m"
    )
    found = await read(client, schedule_id)
    runs = [datetime.fromisoformat(moment) for moment in found.pop("next_runs")]
    assert runs == sorted(runs)
    assert len(runs) == 5
    assert found.pop("next_start_on") == runs[0].isoformat().replace("+00:00", "Z")
    assert datetime.fromisoformat(found.pop("created_on")).tzinfo is not None
    assert found.pop("statistics") == {
        "last_start_on": None,
        "last_finish_on": None,
        "last_successful_finish_on": None,
        "last_run_success": None,
        "total_runs": 0,
        "total_successes": 0,
        "total_failures": 0,
        "total_crashes": 0,
        "open_runs": 0,
        "mean_duration_seconds": None,
        "consecutive_failures": 0,
        "consecutive_crashes": 0,
    }
    assert found == {
        "id": schedule_id,
        "name": "nightly",
        "module": "",
        "job_type": "rebuild_index",
        "trigger": {"kind": "cron", "text": "0 3 * * *"},
        "timezone": "Europe/Berlin",
        "words": "At 03:00 (Europe/Berlin).",
        "words_in": {"de": "Um 03:00 (Europe/Berlin)."},
        "queue": "default",
        "priority": 0,
        "runs_wait": False,
        "state": "idle",
        "enabled": True,
        "disabled_reason": None,
        "pause_note": None,
        "job_id": None,
        "params": {"shards": 2},
        "overlap": "buffer_one",
        "catch_up": "last",
        "catch_up_limit": 100,
        "catch_up_window_seconds": 604800,
        "jitter_seconds": 90,
        "max_runtime_seconds": 300,
        "max_retries": None,
        "retry_period": None,
        "backoff": "exponential",
        "started_on": None,
        "version": 2,
        "revision": horae.schedules.get(schedule_id).revision,
        "overrides": {},
        "exclude": [],
        "next_skips": [],
        "skip_reason": None,
        "skip_until": None,
        "moved_start": None,
        "backfill_next": None,
        "waiting_reason": None,
        "waiting_reason_sentence": None,
    }


async def test_secret_parameters_are_masked_and_those_of_an_unknown_type_not_shown(
    horae: Horae, client: Client
) -> None:
    config = {"table_id": 1, "password": "open sesame"}
    added = horae.schedules.add("export_table", cron="0 3 * * *", config=config).id
    response = await client("root").get(f"/api/schedules/{added}/")
    assert response.json()["params"] == {"table_id": 1, "password": "••••••"}
    horae.registry.remove("export_table")
    assert (await read(client, added))["params"] is None


async def test_an_interval_has_the_next_start_that_is_known(horae: Horae, client: Client) -> None:
    schedule_id = nightly(horae, every="10m", timezone="UTC")
    assert [
        len((await read(client, schedule_id))["next_runs"]),
        (await read(client, schedule_id))["words"],
    ] == [
        1,
        "10 minutes after the end of each run.",
    ]
    horae.schedules.run_now(schedule_id)
    running = await read(client, schedule_id)
    assert (running["state"], running["next_runs"]) == ("executing", [])
    assert running["job_id"] is not None


async def test_the_list_is_stable_paged_and_filtered(horae: Horae, client: Client) -> None:
    names = [f"s{number}" for number in range(5)]
    for name in reversed(names):
        nightly(horae, name)
    horae.schedules.add(
        "export_table", name="export", every="1h", config={"table_id": 1}, enabled=False
    )
    auditor = client("auditor")
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(3):
        params: dict[str, Any] = {"limit": 2} if cursor is None else {"limit": 2, "cursor": cursor}
        page = (await auditor.get("/api/schedules/", params=params)).json()
        seen += [item["name"] for item in page["schedules"]]
        if cursor is None:  # a page goes on where a schedule is no more
            horae.schedules.delete(page["schedules"][-1]["name"])
        cursor = page["next"]
    assert seen == ["export", *names]
    assert cursor is None
    nightly(horae, "100%_done")

    async def names_of(**params: Any) -> list[str]:
        found = (await auditor.get("/api/schedules/", params=params)).json()["schedules"]
        return [item["name"] for item in found]

    horae.schedules.pause("s1")
    assert await names_of() == ["100%_done", "export", "s1", "s2", "s3", "s4"]
    assert await names_of(enabled=True) == ["100%_done", "s2", "s3", "s4"]
    assert await names_of(enabled=False) == ["export", "s1"]
    assert await names_of(name="%_D") == await names_of(name="_") == ["100%_done"]
    assert await names_of(job_type="export_table") == ["export"]
    assert await names_of(module="elsewhere") == []
    assert await names_of(module="", name="S3") == ["s3"]


@pytest.mark.parametrize(
    "cursor", ["x", "bnVsbA", "WzFd", "WyJhIl0", "WyJhIiwgMV0", "WyJhIiwgIlx1MDAwMCJd", "_-_-"]
)
async def test_a_cursor_that_no_list_has_given_is_refused(client: Client, cursor: str) -> None:
    assert error_of(await client("auditor").get(f"/api/schedules/?cursor={cursor}")) == INVALID


async def test_a_cursor_may_hold_any_name(client: Client) -> None:
    place = cursor_of((1, "modül", "ñ" * 200))
    assert (await client("auditor").get("/api/schedules/", params={"cursor": place})).json()[
        "schedules"
    ] == []


@pytest.mark.parametrize("path", ["", "1/", "1/ticks/", "1/statistics/", "1/errors/"])
async def test_owners_see_no_schedules(client: Client, path: str) -> None:
    assert error_of(await client("alice").get(f"/api/schedules/{path}")) == (
        403,
        "ERROR_PERMISSION_DENIED",
    )


@pytest.mark.parametrize("who", ["alice", "auditor"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", ""),
        ("PATCH", "1/"),
        ("DELETE", "1/"),
        ("POST", "1/pause/"),
        ("POST", "1/resume/"),
        ("POST", "1/run/"),
    ],
)
async def test_only_staff_change_any(
    horae: Horae, client: Client, who: str, method: str, path: str
) -> None:
    nightly(horae)
    bodies: dict[str, Any] = {
        "": {"job_type": "rebuild_index", "every": "1h"},
        "1/": {},
        "1/pause/": {},
    }
    body = None if method == "DELETE" else bodies.get(path)
    response = await client(who).request(method, f"/api/schedules/{path}", json=body)
    assert error_of(response) == (403, "ERROR_PERMISSION_DENIED")
    assert [schedule.version for schedule in horae.schedules.list()] == [2]


@pytest.mark.parametrize("schedule_id", ["7", "0", "x", "9223372036854775808"])
async def test_an_unknown_name_is_a_404(client: Client, schedule_id: str) -> None:
    root, path = client("root"), f"/api/schedules/{schedule_id}/"
    answers = [
        await root.get(path),
        await root.patch(path, json={"priority": 1}),
        await root.delete(path),
        await root.post(f"{path}pause/", json={}),
        await root.post(f"{path}resume/"),
        await root.post(f"{path}run/"),
        await root.get(f"{path}ticks/"),
        await root.get(f"{path}statistics/"),
        await root.get(f"{path}errors/"),
    ]
    assert {error_of(answer) for answer in answers} == {MISSING}


async def test_it_is_paused_with_a_note_and_goes_on(horae: Horae, client: Client) -> None:
    path, root = f"/api/schedules/{nightly(horae)}/", client("root")
    paused = (await root.post(f"{path}pause/", json={"note": "no disk"})).json()
    shown = {
        name: paused[name]
        for name in ("enabled", "state", "disabled_reason", "pause_note", "next_runs")
    }
    assert shown == {
        "enabled": False,
        "state": "disabled",
        "disabled_reason": "paused",
        "pause_note": "no disk",
        "next_runs": [],
    }
    resumed = (await root.post(f"{path}resume/")).json()
    assert (resumed["enabled"], resumed["state"], resumed["pause_note"]) == (True, "idle", None)
    assert len(resumed["next_runs"]) == 5


async def test_a_run_by_hand_is_a_job_of_the_schedule(horae: Horae, client: Client) -> None:
    schedule_id = nightly(horae)
    root, path = client("root"), f"/api/schedules/{schedule_id}/"
    other = horae.jobs.start("rebuild_index").id
    response = await root.post(f"{path}run/")
    job_id = response.json()["id"]
    assert response.status_code == 202
    assert error_of(await root.post(f"{path}run/")) == (400, "ERROR_SCHEDULE_IS_RUNNING")
    async with running_node(horae, scheduler=False):
        await until_state(horae, job_id, "finished")
    listed = (await root.get(f"/api/jobs/?schedule_id={schedule_id}")).json()["jobs"]
    assert [(job["id"], job["schedule_id"]) for job in listed] == [(job_id, schedule_id)]
    assert (await root.get(f"/api/jobs/{other}/")).json()["schedule_id"] is None
    ticks = (await root.get(f"{path}ticks/")).json()
    assert [
        (tick["decision"], tick["reason"], tick["job_id"], tick["count"]) for tick in ticks["ticks"]
    ] == [("fired", "manual", job_id, 1)]
    statistics = (await root.get(f"{path}statistics/")).json()
    assert (statistics["total_runs"], statistics["total_successes"]) == (1, 1)
    assert statistics["last_run_success"] is True
    assert 0 <= statistics["mean_duration_seconds"] < 60
    assert (await read(client, schedule_id))["statistics"] == statistics


async def test_a_run_that_waits_is_open_and_one_that_never_began_leaves_nothing(
    horae: Horae, client: Client
) -> None:
    schedule_id = nightly(horae)
    root, path = client("root"), f"/api/schedules/{schedule_id}/"
    before = (await root.get(f"{path}statistics/")).json()
    job_id = (await root.post(f"{path}run/")).json()["id"]
    waiting = (await root.get(f"{path}statistics/")).json()
    assert waiting == {**before, "open_runs": 1}
    (listed,) = (await root.get("/api/schedules/")).json()["schedules"]
    assert listed["statistics"] == (await read(client, schedule_id))["statistics"] == waiting
    assert (listed["state"], listed["runs_wait"]) == ("executing", True)
    assert (await root.post(f"/api/jobs/{job_id}/cancel/")).status_code == 200
    after = (await root.get(f"{path}statistics/")).json()
    assert after.pop("last_finish_on") is not None
    del before["last_finish_on"]
    assert after == before


async def test_the_ledger_is_read_part_by_part(horae: Horae, client: Client) -> None:
    schedule_id = nightly(horae, cron="* * * * *", overlap="allow_all")
    make_late(horae, schedule_id, 7200)
    jobs = [*fire(horae, schedule_id), *(horae.schedules.run_now(schedule_id) for _ in range(2))]
    path = f"/api/schedules/{schedule_id}/ticks/"
    every = (await client("auditor").get(path)).json()
    assert every["next"] is None
    assert [tick["job_id"] for tick in every["ticks"]] == [*jobs[::-1], None]
    last = every["ticks"][-1]
    assert (last["decision"], last["reason"], last["count"] > 100) == (
        "coalesced",
        "catch_up",
        True,
    )
    first = (await client("auditor").get(path, params={"limit": 2})).json()
    second = (await client("auditor").get(path, params={"before": first["next"]})).json()
    assert first["ticks"] + second["ticks"] == every["ticks"]
    assert second["next"] is None
    for wrong in ("limit=0", "limit=1001", "before=2026-01-01T00:00:00", "before=soon", "after=1"):
        answer = await client("auditor").get(f"{path}?{wrong}")
        assert error_of(answer) == (400, "ERROR_QUERY_PARAMETER_VALIDATION")


async def test_runs_that_failed_are_listed(horae: Horae, client: Client) -> None:
    @horae.job
    def fail() -> None:
        raise RuntimeError("no luck")

    schedule_id = horae.schedules.add("fail", cron="0 3 * * *").id
    job_id = horae.schedules.run_now(schedule_id)
    async with running_node(horae, scheduler=False):
        await until_state(horae, job_id, "failed")
    found = (await client("auditor").get(f"/api/schedules/{schedule_id}/errors/")).json()["errors"]
    assert [(run["job_id"], run["outcome"]) for run in found] == [(job_id, "failed")]
    assert "no luck" in found[0]["error"]
    assert "RuntimeError" in found[0]["traceback"]


async def test_the_next_time_is_skipped_and_shown_with_its_reason(
    horae: Horae, client: Client
) -> None:
    schedule_id, root = nightly(horae, exclude=["2090-01-01"]), client("root")
    before = await read(client, schedule_id)
    path = f"/api/schedules/{schedule_id}/skip/"
    skipped = (await root.post(path)).json()
    assert skipped["next_start_on"] == before["next_runs"][1]
    assert skipped["next_skips"] == [
        {
            "nominal_time": before["next_start_on"],
            "until": before["next_start_on"],
            "count": 1,
            "reason": "requested",
        }
    ]
    assert (skipped["skip_reason"], skipped["exclude"]) == ("requested", ["2090-01-01"])
    undone = (await root.delete(path)).json()
    assert (undone["next_start_on"], undone["next_skips"]) == (before["next_start_on"], [])
    moved = (
        await root.patch(
            f"/api/schedules/{schedule_id}/", json={"next_start": "2031-01-01T12:00:00Z"}
        )
    ).json()
    assert moved["moved_start"] == moved["next_start_on"] == "2031-01-01T12:00:00Z"
    refused = await root.patch(f"/api/schedules/{schedule_id}/", json={"exclude": ["soon"]})
    assert error_of(refused)[0] == 400
    assert (await client("auditor").post(path)).status_code == 403


async def test_past_times_are_backfilled_once(horae: Horae, client: Client) -> None:
    schedule_id, root = nightly(horae, timezone="UTC"), client("root")
    path = f"/api/schedules/{schedule_id}/backfill/"
    body = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-08T00:00:00Z"}
    expected = {
        "times": 7,
        "added": 7,
        "known": 0,
        "excluded": 0,
        "first": "2026-01-01T03:00:00Z",
        "last": "2026-01-07T03:00:00Z",
    }
    for changed, added in (({**body, "dry_run": True}, 7), (body, 7), (body, 0)):
        answer = await root.post(path, json=changed)
        assert (answer.status_code, answer.json()) == (
            200,
            {**expected, "added": added, "known": 7 - added},
        )
    assert (await read(client, schedule_id))["backfill_next"] == "2026-01-01T03:00:00Z"
    assert error_of(await root.post(path, json={**body, "limit": 6})) == INVALID
    assert error_of(await root.post(path, json={**body, "end": "2026-01-08T00:00:00"})) == BODY
    assert (await root.delete(path)).json() == {"removed": 7}
    assert (await client("auditor").post(path, json=body)).status_code == 403


async def test_it_is_put(horae: Horae, client: Client) -> None:
    root, path = client("root"), "/api/schedules/by-name/every%2Fnight/"
    body = {"job_type": "rebuild_index", "cron": "0 3 * * *", "params": {"shards": 7}}
    found = [
        await root.put(path, json=changed) for changed in (body, body, {**body, "priority": 5})
    ]
    assert [(each.status_code, each.json()["outcome"]) for each in found] == [
        (201, "created"),
        (200, "unchanged"),
        (200, "changed"),
    ]
    schedule = found[-1].json()["schedule"]
    assert (schedule["name"], schedule["priority"], schedule["params"]) == (
        "every/night",
        5,
        {"shards": 7},
    )
    assert (await client("auditor").put(path, json=body)).status_code == 403
    assert error_of(await root.put(path, json={"cron": "0 3 * * *"})) == BODY
    assert error_of(await root.put(path, json={**body, "params": {"sharts": 1}}))[0] == 400


async def test_a_changed_declaration_is_shown_and_reset(horae: Horae, client: Client) -> None:
    horae.cron("0 3 * * *", name="declared")(lambda: None)
    horae.deploy()
    schedule_id, root = horae.schedules.get("declared").id, client("root")
    altered = (await root.patch(f"/api/schedules/{schedule_id}/", json={"priority": 5})).json()
    assert (altered["priority"], altered["overrides"]) == (5, {"priority": 0})
    refused = await root.put(
        "/api/schedules/by-name/declared/", json={"job_type": "declared", "every": "1h"}
    )
    assert error_of(refused) == (400, "ERROR_SCHEDULE_IS_DECLARED")
    reset = (await root.post(f"/api/schedules/{schedule_id}/reset/")).json()
    assert (reset["priority"], reset["overrides"]) == (0, {})


async def test_it_is_added_and_deleted(horae: Horae, client: Client) -> None:
    root = client("root")
    body = {
        "job_type": "rebuild_index",
        "name": "weekly",
        "every": "1 week",
        "fixed": True,
        "params": {"shards": 7},
        "initial_start": "2030-01-01T03:00:00+01:00",
        "queue": "slow",
        "priority": -3,
        "max_retries": None,
    }
    response = await root.post("/api/schedules/", json=body)
    added = response.json()
    assert (response.status_code, added["queue"], added["priority"], added["params"]) == (
        201,
        "slow",
        -3,
        {"shards": 7},
    )
    assert (added["next_start_on"], added["enabled"]) == ("2030-01-01T02:00:00Z", True)
    assert added["words"] == "Every week, counted from 2030-01-01 02:00 (UTC)."
    assert error_of(await root.post("/api/schedules/", json=body)) == (
        400,
        "ERROR_SCHEDULE_ALREADY_EXISTS",
    )
    named_after_type = {"job_type": "rebuild_index", "cron": "0 3 * * *", "enabled": False}
    unnamed = (await root.post("/api/schedules/", json=named_after_type)).json()
    assert (unnamed["name"], unnamed["enabled"], unnamed["params"]) == (
        "rebuild_index",
        False,
        {"shards": 4},
    )
    assert (await root.delete(f"/api/schedules/{added['id']}/")).status_code == 204
    assert [schedule.name for schedule in horae.schedules.list()] == ["rebuild_index"]


async def test_the_next_start_of_an_interval_can_be_set(client: Client) -> None:
    root = client("root")
    body = {"job_type": "rebuild_index", "every": "1h", "next_start": "2031-01-01T03:00:00+01:00"}
    added = (await root.post("/api/schedules/", json=body)).json()
    assert added["next_start_on"] == "2031-01-01T02:00:00Z"
    path = f"/api/schedules/{added['id']}/"
    altered = (await root.patch(path, json={"next_start": "2032-01-01T00:00:00Z"})).json()
    assert altered["next_start_on"] == "2032-01-01T00:00:00Z"


async def test_only_what_is_named_changes(horae: Horae, client: Client) -> None:
    schedule_id = nightly(horae, config={"shards": 2}, retry_period="1m", max_retries=3)
    before, path = await read(client, schedule_id), f"/api/schedules/{schedule_id}/"
    root = client("root")
    assert (await root.patch(path, json={})).json() == {**before, "version": before["version"] + 1}
    changes = {"priority": 5, "max_retries": None, "overlap": "allow_all", "params": {"shards": 9}}
    changed = (await root.patch(path, json=changes)).json()
    assert changed.pop("revision") != before.pop("revision")
    assert changed == {**before, **changes, "version": before["version"] + 2}
    altered = (await root.patch(path, json={"timezone": "UTC"})).json()
    assert (altered["trigger"]["text"], altered["words"]) == ("0 3 * * *", "At 03:00.")
    assert altered["next_start_on"] != before["next_start_on"]
    assert (await root.patch(path, json={"every": "90s", "overlap": "skip"})).json()["trigger"][
        "kind"
    ] == "interval"


@pytest.mark.parametrize(
    ("changes", "answer", "words"),
    [
        ({"cron": "0 61 * * *"}, (400, "ERROR_CRON_SYNTAX"), "hour '61'"),
        ({"cron": "@daily"}, (400, "ERROR_CRON_SYNTAX"), "0 0 * * *"),
        ({"every": "0s"}, (400, "ERROR_INVALID_INTERVAL"), "longer than zero"),
        ({"every": "1h", "cron": "0 3 * * *"}, INVALID, "either"),
        ({"timezone": "Mars/Olympus"}, INVALID, "Mars/Olympus"),
        ({"fixed": True}, INVALID, "fixed= cannot be combined with cron="),
        ({"every": "1h", "initial_start": "0001-01-01T00:00:00+14:00"}, BODY, "initial_start"),
        ({"every": "1h", "initial_start": "9999-12-31T23:59:59Z"}, BODY, "initial_start"),
        ({"jitter": "soon"}, (400, "ERROR_INVALID_INTERVAL"), "soon"),
        ({"priority": 2**31}, INVALID, "priority"),
        ({"catch_up_limit": 10**30}, INVALID, "catch_up_limit"),
        ({"max_retries": 10**30}, BODY, "max_retries"),
        ({"max_retries": -1}, BODY, "max_retries"),
        ({"queue": "a\nb"}, INVALID, "queue"),
        ({"overlap": "sometimes"}, BODY, "overlap"),
        ({"overlap": None}, BODY, "overlap"),
        ({"initial_start": "2026-01-01T00:00:00"}, BODY, "initial_start"),
        ({"queue": "a\0b"}, BODY, "queue"),
        ({"enabled": False}, BODY, "enabled"),
        ({"params": {"shards": "many"}}, BODY, "shards"),
        ({"exclude": ["soon"]}, INVALID, "exclude 'soon': expected a date"),
        ({"next_start": "2031-01-01T00:00:00"}, BODY, "next_start"),
        ({"cron": "* * * * * * 2020"}, (400, "ERROR_CRON_SYNTAX"), "never fire again"),
    ],
)
async def test_an_invalid_change_changes_nothing(
    horae: Horae, client: Client, changes: dict[str, Any], answer: tuple[int, str], words: str
) -> None:
    schedule_id = nightly(horae)
    before = await read(client, schedule_id)
    response = await client("root").patch(f"/api/schedules/{schedule_id}/", json=changes)
    assert error_of(response) == answer
    assert words in response.text
    assert await read(client, schedule_id) == before


async def test_a_refused_expression_comes_with_the_line_to_write(
    horae: Horae, client: Client
) -> None:
    path = f"/api/schedules/{nightly(horae)}/"
    named = await client("root").patch(path, json={"cron": "0 9 * JAN MON-FRI"})
    assert named.json()["instead"] == "0 9 * 1 1-5"
    wrong = await client("root").patch(path, json={"cron": "61 9 * * *"})
    assert set(wrong.json()) == {"error", "detail", "sentence"}
    assert wrong.json()["sentence"]["values"]["problem"]["code"] == "cron_out_of_range"


async def test_a_declared_schedule_cannot_be_deleted(horae: Horae, client: Client) -> None:
    @horae.cron("0 3 * * *")
    def purge() -> None: ...

    horae.deploy()
    path = f"/api/schedules/{horae.schedules.get('purge').id}/"
    assert error_of(await client("root").delete(path)) == (400, "ERROR_SCHEDULE_IS_DECLARED")
    assert (await client("root").get(path)).json()["module"] == horae.module


async def test_rows_of_another_version_hide_no_others(horae: Horae, client: Client) -> None:
    strange, sound = nightly(horae, "strange"), nightly(horae, "sound")
    execute(horae, "UPDATE horae_schedules SET trigger = 'full moon' WHERE id = :id", id=strange)
    listed = (await client("auditor").get("/api/schedules/")).json()["schedules"]
    assert [item["id"] for item in listed] == [sound]
    answer = await client("auditor").get(f"/api/schedules/{strange}/")
    assert error_of(answer) == (400, "ERROR_SCHEDULE_IS_UNREADABLE")


async def test_every_change_is_recorded(horae: Horae, client: Client) -> None:
    root = client("root")
    body = {"job_type": "rebuild_index", "name": "weekly", "every": "1 week"}
    schedule_id = (await root.post("/api/schedules/", json=body)).json()["id"]
    path = f"/api/schedules/{schedule_id}/"
    await root.patch(path, json={"queue": "slow", "priority": 1})
    await root.post(f"{path}pause/", json={"note": "no disk"})
    await root.post(f"{path}resume/")
    await root.post(f"{path}run/")
    await root.post(f"{path}run/")
    await root.delete(path)
    entries = (await root.get("/api/audit/")).json()["entries"][::-1]
    target = str(schedule_id)
    assert [
        (each["action"], each["target"], each["outcome"], each["note"]) for each in entries
    ] == [
        ("schedule.add", "weekly", "done", None),
        ("schedule.alter", target, "done", "priority, queue"),
        ("schedule.pause", target, "done", "no disk"),
        ("schedule.resume", target, "done", None),
        ("schedule.run", target, "done", None),
        ("schedule.run", target, "ERROR_SCHEDULE_IS_RUNNING", None),
        ("schedule.delete", target, "done", None),
    ]


async def test_the_overview_names_what_is_late_fails_or_gave_up(
    horae: Horae, client: Client
) -> None:
    nightly(horae, "sound")
    make_late(horae, nightly(horae, "late"), 600)
    make_late(horae, nightly(horae, "soon"), 30)
    fail_often(horae, nightly(horae, "weak"), 4)
    gone = nightly(horae, "gone")
    fail_often(horae, gone, 3)
    execute(
        horae,
        "UPDATE horae_schedules SET enabled = false, disabled_reason = 'retries used up', state = 'disabled', "
        "next_start = NULL WHERE id = :id",
        id=gone,
    )
    problems = (await client("auditor").get("/api/overview/")).json()["problems"]
    told = [(each["level"], each["message"]) for each in problems if each["subject"] == "schedules"]
    assert [level for level, _ in told] == ["problem", "problem", "warning"]
    assert told[0][1].startswith("schedule 'late' should have started")
    assert told[0][1].endswith("no node fires schedules")
    assert (
        told[1][1]
        == "schedule 'gone' is disabled, because its retries are used up: 3 failures in a row"
    )
    assert told[2][1] == "schedule 'weak' keeps failing: 4 failures in a row"


async def test_a_failing_schedule_is_found_among_many(horae: Horae, client: Client) -> None:
    for number in range(MOST_FAILING):
        nightly(horae, f"sound{number}")
    fail_often(horae, nightly(horae, "weak"), FAILURES_IN_A_ROW)
    problems = (await client("auditor").get("/api/overview/")).json()["problems"]
    assert ["'weak'" in each["message"] for each in problems] == [True]


async def test_the_overview_shows_the_lateness_of_runs(horae: Horae, client: Client) -> None:
    schedule_id = nightly(horae, cron="* * * * *")
    make_late(horae, schedule_id, 7200)
    late = fire(horae, schedule_id)
    by_hand = horae.schedules.run_now(nightly(horae, "other"))
    async with running_node(horae, scheduler=False):
        for job_id in (*late, by_hand):
            await until_state(horae, job_id, "finished")
        seen = (await client("auditor").get("/api/overview/")).json()["lateness"]
    assert seen["count"] == 1
    assert 0 <= seen["p50_seconds"] <= timedelta(minutes=1).total_seconds()


async def test_a_node_shows_its_share_of_the_ring(horae: Horae, client: Client) -> None:
    async with running_node(horae, name="all"), running_node(horae, name="hands", scheduler=False):
        nodes = (await client("auditor").get("/api/nodes/")).json()["nodes"]
    assert {node["name"]: node["ring_share"] for node in nodes} == {"all": 1.0, "hands": 0.0}
    async with running_node(horae), running_node(horae):
        nodes = (await client("auditor").get("/api/nodes/")).json()["nodes"]
    assert sum(node["ring_share"] for node in nodes) == 1.0
    assert all(0.3 < node["ring_share"] < 0.7 for node in nodes)
