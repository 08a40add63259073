"""The history over HTTP: who sees it, what an answer has, and which questions are refused."""

from datetime import datetime, timedelta

import pytest

from horae import Horae
from horae.domain.history import (
    LENGTHS,
    Ended,
    Figures,
    Gauges,
    HistoryBucket,
    Named,
    Seen,
    bucket_of,
    floor,
)
from horae.storage.history import writing
from horae.storage.schedules import deployments
from tests.api.clients import Client, error_of

TEN = timedelta(seconds=10)
LATE = Gauges(waiting=40, lateness=95.0, slots=4, slots_used=4)


def figures(finished: int, gauges: Gauges | None = None, slot: int = 20) -> Figures:
    return Figures(
        finished=finished, failed=1, waits={3: finished}, runs={slot: finished}, gauges=gauges
    )


def put(horae: Horae, start: datetime, bucket: HistoryBucket, behind: dict[str, datetime]) -> None:
    database = horae.components.database
    found = database.autocommit(writing.progress)
    assert database.transact(writing.write, found, start, bucket, behind)


@pytest.fixture
def recorded(horae: Horae) -> datetime:
    """Forty buckets, the last of which has just ended; the end of it."""
    now = horae.components.database.autocommit(writing.progress).now
    end = floor(now, LENGTHS[0].seconds)
    for number in range(40, 0, -1):
        seen = Seen(LATE, {"export": LATE}, {"export_table": LATE})
        ended = Ended(figures(6), {"export": figures(6)}, {"export_table": figures(6)})
        start = end - number * TEN
        put(horae, start, bucket_of(ended, seen), {"export": end - timedelta(minutes=5)})
    return end


async def test_a_series_has_a_value_for_each_step_and_null_for_a_gap(
    recorded: datetime, client: Client
) -> None:
    answer = (await client("auditor").get("/api/history/")).json()
    assert (answer["scope"], answer["name"], answer["step_seconds"]) == ("everything", None, 10)
    lengths = {len(values) for values in answer.values() if isinstance(values, list)}
    assert len(lengths) == 1
    assert lengths.pop() in (360, 361)
    first = datetime.fromisoformat(answer["start"])
    place = (recorded - TEN - first) // TEN
    assert answer["waiting"][place] == 40
    assert answer["lateness_seconds"][place] == 95.0
    assert answer["finished"][place] == 6
    assert answer["seconds"][place] == 10
    assert answer["run_p95_seconds"][place] == pytest.approx(0.001 * 2**10, rel=0.5)
    assert answer["waiting"][0] is None
    assert answer["finished"][0] is None
    assert datetime.fromisoformat(answer["until"]) == recorded


async def test_a_series_of_a_queue_or_a_type_is_chosen_by_name(
    recorded: datetime, client: Client
) -> None:
    root = client("root")
    for scope, name in (("queue", "export"), ("type", "export_table")):
        answer = (await root.get(f"/api/history/?scope={scope}&name={name}&span=6h")).json()
        assert (answer["scope"], answer["name"], answer["step_seconds"]) == (scope, name, 60)
        assert sum(filter(None, answer["finished"])) == 240
    idle = (await root.get("/api/history/?scope=queue&name=other")).json()
    assert {value for value in idle["finished"] if value is not None} == {0}
    began = (recorded - timedelta(minutes=3)).isoformat().replace("+00:00", "Z")
    part = (await root.get(f"/api/history/?from={began}&points=20")).json()
    assert part["step_seconds"] == 10
    assert sum(filter(None, part["finished"])) == 6 * 18


async def test_queues_have_a_course_a_rate_and_since_when_they_are_behind(
    recorded: datetime, client: Client
) -> None:
    answer = (await client("auditor").get("/api/history/queues/")).json()
    [queue] = answer["queues"]
    assert answer["complete"] is True
    assert queue["name"] == "export"
    assert queue["waiting"][-2] == 40
    assert queue["recent"]["per_minute"] == pytest.approx(42)
    assert queue["totals"]["finished"] == 240
    assert datetime.fromisoformat(queue["behind_since"]) == recorded - timedelta(minutes=5)


async def test_types_are_compared_before_and_after_a_deployment(
    horae: Horae, recorded: datetime, client: Client
) -> None:
    database = horae.components.database
    database.transact(deployments.add, "v2", "shop", "[]", "1", 1)
    root = client("root")
    plain = {each["name"]: each for each in (await root.get("/api/history/types/")).json()["types"]}
    assert plain["export_table"]["before"] is None
    assert plain["rebuild_index"]["totals"]["finished"] == 0  # known, without jobs
    answer = (await root.get("/api/history/types/?span=1h&deployment=v2")).json()
    assert answer["deployment"]["key"] == "v2"
    by_name = {each["name"]: each for each in answer["types"]}
    assert by_name["export_table"]["before"]["finished"] == 240
    assert by_name["export_table"]["before"]["per_minute"] == pytest.approx(42)
    assert by_name["export_table"]["after"]["finished"] == 0
    assert by_name["export_table"]["after"]["per_minute"] is None
    unknown = await root.get("/api/history/types/?deployment=v9")
    assert error_of(unknown) == (404, "ERROR_DEPLOYMENT_DOES_NOT_EXIST")
    assert isinstance(Named({}).by_name, dict)


async def test_questions_that_cannot_be_answered_are_refused(horae: Horae, client: Client) -> None:
    root = client("root")
    now = "2026-03-29T00:00:00Z"
    for query in (
        *("span=soon", "span=31d", "span=9m", "span=0s", "points=5", "points=100000"),
        *("scope=queue", "scope=all", "name=export", "measure=depth"),
        *(f"from={now}&until={now}", f"from={now}&span=1h", f"until={now}", "from=yesterday"),
        "from=1999-01-01T00:00:00Z",
        "from=2026-01-01T00:00:00",
    ):
        assert (await root.get(f"/api/history/?{query}")).status_code == 400, query
    for path in ("queues", "types"):
        assert (await root.get(f"/api/history/{path}/?span=31d")).status_code == 400
        empty = (await root.get(f"/api/history/{path}/?span=30d")).json()
        assert [each for each in empty[path] if each["totals"]["finished"]] == []
    assert set((await root.get("/api/history/?span=30d")).json()["finished"]) == {None}


async def test_owners_see_no_history(horae: Horae, client: Client) -> None:
    for path in ("", "queues/", "types/"):
        answer = await client("alice").get(f"/api/history/{path}")
        assert error_of(answer) == (403, "ERROR_PERMISSION_DENIED")
