"""`/api/schedules/`: lanes, previews, reasons, and changes that would undo those of somebody else."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from tests.api.clients import Client, error_of
from tests.api.timetable import fail_often, fire, make_late


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/schedules runs on both databases."""
    return sqlite_database


def nightly(horae: Horae, name: str = "nightly", **options: Any) -> int:
    given: dict[str, Any] = {"cron": "0 3 * * *", "timezone": "Europe/Berlin"} | options
    return horae.schedules.add("rebuild_index", name=name, **given).id


async def test_lanes_of_a_page_are_one_request(horae: Horae, client: Client) -> None:
    first, second = nightly(horae), nightly(horae, "other", cron="0 * * * *")
    make_late(horae, second, 3600)
    fire(horae, second)
    response = await client("auditor").get(f"/api/schedules/lanes/?ids={first},{second}&hours=24")
    found = response.json()
    assert [lane["schedule_id"] for lane in found["lanes"]] == [first, second]
    (mark,) = found["lanes"][1]["marks"]
    assert (mark["outcome"], mark["count"]) == ("running", 1)
    begins, ends = (datetime.fromisoformat(found[name]) for name in ("start_on", "now"))
    assert ends - begins == timedelta(hours=24)


@pytest.mark.parametrize("query", ["", "ids=", "ids=x", "ids=1&hours=0", "ids=1&hours=100000"])
async def test_lanes_are_bounded(client: Client, query: str) -> None:
    response = await client("auditor").get(f"/api/schedules/lanes/?{query}")
    assert error_of(response) == (400, "ERROR_QUERY_PARAMETER_VALIDATION")
    many = ",".join(map(str, range(1, 102)))
    response = await client("auditor").get(f"/api/schedules/lanes/?ids={many}")
    assert error_of(response) == (400, "ERROR_QUERY_PARAMETER_VALIDATION")


async def test_berlin_over_the_end_of_summer_time_is_previewed(client: Client) -> None:
    body = {
        "cron": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "after": "2026-10-20T00:00:00+00:00",
    }
    found = (await client("auditor").post("/api/schedules/preview/", json=body)).json()
    assert len(found["times"]) == 10
    assert found["times"][4:6] == ["2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00"]
    assert found["times"][6] == "2026-10-26T02:30:00+01:00"
    (change,) = found["clock_changes"]
    assert (change["at"], change["offset_before"], change["offset_after"]) == (
        "2026-10-25T01:00:00Z",
        7200,
        3600,
    )
    assert change["text"] == "02:30 comes twice: 1 run, at 02:30+02"
    assert found["next_clock_change"] == change["at"]
    assert found["words"] == "At 02:30 (Europe/Berlin)."


async def test_names_in_an_expression_are_translated(client: Client) -> None:
    preview = "/api/schedules/preview/"
    found = (await client("auditor").post(preview, json={"cron": "@daily"})).json()
    assert (found["instead"], found["trigger"]["text"]) == ("0 0 * * *", "0 0 * * *")
    found = (await client("auditor").post(preview, json={"cron": "0 9 * * MON-FRI"})).json()
    assert found["instead"] == "0 9 * * 1-5"
    response = await client("auditor").post(preview, json={"cron": "61 * * * *"})
    assert error_of(response) == (400, "ERROR_CRON_SYNTAX")
    response = await client("auditor").post(preview, json={"every": "0m"})
    assert error_of(response) == (400, "ERROR_INVALID_INTERVAL")


async def test_a_change_does_not_undo_that_of_somebody_else(horae: Horae, client: Client) -> None:
    schedule_id = nightly(horae)
    path, root = f"/api/schedules/{schedule_id}/", client("root")
    opened = (await root.get(path)).json()["revision"]
    horae.schedules.alter("nightly", priority=5)
    change = {"cron": "0 4 * * *", "revision": opened}
    assert error_of(await root.patch(path, json=change)) == (400, "ERROR_SCHEDULE_WAS_CHANGED")
    again = (await root.get(path)).json()["revision"]
    make_late(horae, schedule_id, 60)
    fire(horae, schedule_id)  # a run is no change of the definition
    response = await root.patch(path, json={**change, "revision": again})
    assert response.json()["trigger"]["text"] == "0 4 * * *"


async def test_failing_schedules_come_first_on_every_page(horae: Horae, client: Client) -> None:
    ids = [nightly(horae, name) for name in ("a", "b", "c", "d")]
    fail_often(horae, ids[2], 3)
    seen: list[str] = []
    query = "failing_first=true&limit=2"
    while True:
        page = (await client("auditor").get(f"/api/schedules/?{query}")).json()
        seen += [each["name"] for each in page["schedules"]]
        if page["next"] is None:
            break
        query = f"failing_first=true&limit=2&cursor={page['next']}"
    assert seen == ["c", "a", "b", "d"]


async def test_why_is_answered_for_any_moment(horae: Horae, client: Client) -> None:
    schedule_id = nightly(horae)
    path = f"/api/schedules/{schedule_id}/why/"
    found = (await client("auditor").get(path, params={"at": "2099-01-01T02:00:00Z"})).json()
    assert (found["kind"], found["name"], found["nodes"]) == ("to_come", "nightly", [])
    assert error_of(await client("auditor").get(path, params={"at": "noon"})) == (
        400,
        "ERROR_QUERY_PARAMETER_VALIDATION",
    )


async def test_types_that_a_schedule_may_start_come_with_their_schema(client: Client) -> None:
    found = (await client("auditor").get("/api/schedules/types/")).json()["types"]
    by_name = {each["type"]: each for each in found}
    assert set(by_name["rebuild_index"]["parameters"]["properties"]) == {"shards"}


@pytest.mark.parametrize("path", ["1/why/", "lanes/?ids=1", "types/"])
async def test_owners_do_not_see_schedules(client: Client, path: str) -> None:
    response = await client("alice").get(f"/api/schedules/{path}")
    assert error_of(response) == (403, "ERROR_PERMISSION_DENIED")
