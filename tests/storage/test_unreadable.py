"""One unreadable row keeps no process from the others: it is left out, counted and reported."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from sqlalchemy import Connection, text

from horae import Horae, JobState, Limit, UnreadableRow
from horae.client.doctor.basics import check_rows
from horae.client.doctor.finding import Level
from horae.client.operations.change_log import ChangeLog
from horae.client.operations.queues import Queues
from horae.domain.jobs.job import NodeId
from horae.domain.schedules.statistics import RunOutcome
from horae.storage.engine import unreadable_rows
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL, SQLITE, database_now
from horae.storage.engine.value_limits import MOST_ATTEMPTS, MOST_LEASES
from horae.storage.jobs.limits import filing
from horae.storage.operations.change_log_tables import change_log
from horae.storage.outcomes import run_ending
from horae.storage.schedules import bulk_firing, firing, plan_writing
from tests.api.clients import application_of, client_of
from tests.harness.applications import application, execute, spoil
from tests.harness.nodes import running_node, until

LARGEST: Final = 2**63 - 1
LONG: Final = "1" * 5000
DEEP: Final = "[" * 100_000
DEEPLY_NESTED: Final = ("calendar_days", "limits", "overrides", "params", "rules", "tags")
# What somebody may have written into a row, past every CHECK; on PostgreSQL and on SQLite.
BAD_JOBS: Final[dict[str, tuple[str | None, str | None]]] = {
    "the largest lease": (f"lease = {LARGEST}", f"lease = {LARGEST}"),
    "the largest attempt": (
        f"lease = {MOST_LEASES - 1}, attempt = 2147483647",
        f"lease = {MOST_LEASES - 1}, attempt = {LARGEST}",
    ),
    "another kind of meta": ("meta = '[]'", "meta = '[]'"),
    "no JSON": (None, "meta = '{'"),
    "a word for a number": (None, "priority = 'high'"),
    "a word for the most attempts": (None, "max_attempts = 'many'"),
    "bytes for a text": (None, "owner = x'ff'"),
    "no UTF-8": (None, "params = x'fffe'"),
    "no UTF-8 in a text": (None, "params = CAST(x'fffe' AS TEXT)"),
    "a moment without end": ("run_at = '-infinity'", f"run_at = {-LARGEST}"),
    "a creation without end": ("created_at = 'infinity'", f"created_at = {LARGEST}"),
    "the last year": ("created_at = '294276-01-01'", "created_at = 'soon'"),
    "a long number": (f"params = '[{LONG}]'", f"params = '[{LONG}]'"),
}


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as horae:
        yield horae


@pytest.mark.parametrize("kind", BAD_JOBS)
async def test_a_bad_job_stops_no_other(horae: Horae, kind: str) -> None:
    @horae.job(max_count=None)
    def work(number: int) -> int:
        return number

    change = BAD_JOBS[kind][horae.components.database.dialect == SQLITE]
    if change is None:
        return
    ids = [horae.jobs.start(work, number=number, priority=10 - number).id for number in range(4)]
    spoil(horae, "horae_jobs", change, f"id = {ids[1]}")
    async with running_node(horae):
        for job_id in (ids[0], *ids[2:]):
            await horae.aio.jobs.wait(job_id, timeout="6s")
    assert [job.id for job in horae.jobs.list().jobs] == [ids[3], ids[2], ids[0]]
    first = horae.jobs.list(limit=2)
    assert [job.id for job in first.jobs] == [ids[3], ids[2]]
    assert [job.id for job in horae.jobs.list(limit=2, cursor=first.next).jobs] == [ids[0]]
    with pytest.raises(UnreadableRow, match=f"row {ids[1]} of horae_jobs cannot be read"):
        horae.jobs.get(ids[1])
    assert unreadable_rows.count_by_table() == {"horae_jobs": 1}
    finding = check_rows(horae.components.database)
    assert finding.level is Level.WARNING
    assert f"horae_jobs {ids[1]} (" in finding.message
    horae.jobs.clean_up()


def test_a_page_is_full_though_bad_rows_are_among_those_it_would_hold(horae: Horae) -> None:
    @horae.job(max_count=None)
    def work() -> None: ...

    ids = horae.jobs.start_many(work, [{}] * 9)
    spoil(horae, "horae_jobs", "meta = '[]'", f"id IN ({ids[-2]}, {ids[-3]}, {ids[-5]}, {ids[0]})")
    found, cursor = list[list[int]](), None
    while True:
        page = horae.jobs.list(limit=2, cursor=cursor)
        found.append([job.id for job in page.jobs])
        if (cursor := page.next) is None:
            break
    assert found == [[ids[8], ids[5]], [ids[3], ids[2]], [ids[1]]]


BAD_LIMITS: Final[dict[str, tuple[str, str]]] = {
    "a limit of a queue that is no number": ("horae_queues", "concurrency_limit = 'x'"),
    "numbers of another kind": ("horae_limits", "declared = '[]'"),
    "no numbers": ("horae_limits", "declared = NULL"),
    "changed numbers of another kind": ("horae_limits", 'changed = \'{"concurrency": "x"}\''),
    "another kind of state": ("horae_limit_buckets", "state = '7'"),
    "a period of nothing": ("horae_limit_buckets", "state = '[1, 2, 0]'"),
}


@pytest.mark.parametrize("kind", BAD_LIMITS)
async def test_a_bad_limit_stops_no_job(horae: Horae, kind: str) -> None:
    table, change = BAD_LIMITS[kind]

    @horae.job(max_count=None, limits=[Limit(rate="5/s", name="bad")])
    def under_it(number: int) -> int:
        return number

    @horae.job(max_count=None, limits=[Limit(concurrency=5, name="other")])
    def under_another(number: int) -> int:
        return number

    if table == "horae_queues" and horae.components.database.dialect == POSTGRESQL:
        return
    Queues(horae.components.database, horae.components.wakeup).limit("default", 9)
    ids = [horae.jobs.start(kind, number=1).id for kind in (under_it, under_another)]
    horae.components.database.autocommit(filing.file)
    where = {"horae_limits": "name = 'bad'", "horae_limit_buckets": "limit_name = 'bad'"}
    spoil(horae, table, change, where.get(table, "name = 'default'"))
    async with running_node(horae):
        for job_id in ids:
            await horae.aio.jobs.wait(job_id, timeout="6s")


@pytest.mark.parametrize("change", ["weight = 'x'", "priority = 'x'"])
async def test_a_bad_lane_stops_no_other(horae: Horae, change: str) -> None:
    if horae.components.database.dialect == POSTGRESQL:
        return

    @horae.job(max_count=None, limits=[Limit(concurrency=5)])
    def in_it() -> None: ...

    @horae.job(max_count=None, limits=[Limit(concurrency=5)])
    def in_another() -> None: ...

    _, other = [horae.jobs.start(job_type) for job_type in (in_it, in_another)]
    horae.components.database.autocommit(filing.file)
    spoil(horae, "horae_lanes", change, "type = 'in_it'")
    async with running_node(horae):
        await horae.aio.jobs.wait(other.id, timeout="6s")
    assert unreadable_rows.count_by_table() == {"horae_lanes": 1}


@pytest.mark.parametrize("job_type", ["''", "'unknown'"])
async def test_a_job_of_an_unknown_type_in_a_lane_stops_no_other(
    horae: Horae, job_type: str
) -> None:
    """It was claimed like the other jobs of its lane, and the claim ended the node."""

    @horae.job(max_count=None, limits=[Limit(concurrency=5)])
    def limited() -> None: ...

    spoilt, other = horae.jobs.start(limited), horae.jobs.start(limited)
    horae.components.database.autocommit(filing.file)
    spoil(horae, "horae_jobs", f"type = {job_type}", f"id = {spoilt.id}")
    async with running_node(horae):
        await horae.aio.jobs.wait(other.id, timeout="6s")
    assert horae.jobs.get(spoilt.id).state is JobState.PENDING
    assert f"job {spoilt.id} waits in lane" in str(horae.audit().findings)


# On PostgreSQL and on SQLite.
BAD_VALUES: Final[dict[str, tuple[str | None, str]]] = {
    "tags that are a number": ("tags = '5'", "tags = '5'"),
    "tags that are no texts": ("tags = '[[1]]'", "tags = '[[1]]'"),
    "tags that are no JSON": (None, "tags = '{'"),
    "parameters that are no JSON": (None, "params = '{'"),
    "declared values that are no JSON": (None, "overrides = '{'"),
    "limits of another kind": ("limits = '5'", "limits = '5'"),
    "days of another kind": ("calendar_days = '[5]'", "calendar_days = '[5]'"),
    **{f"{name} that are too deep": (None, f"{name} = '{DEEP}'") for name in DEEPLY_NESTED},
}


@pytest.mark.parametrize("kind", BAD_VALUES)
async def test_a_bad_schedule_neither_stops_nor_hides_another(horae: Horae, kind: str) -> None:
    @horae.job(name="work")
    def work() -> None: ...

    change = BAD_VALUES[kind][horae.components.database.dialect == SQLITE]
    if change is None:
        return
    for name in ("bad", "good"):
        horae.schedules.add("work", name=name, cron="* * * * * *")
    spoil(horae, "horae_schedules", change, "name = 'bad'")
    assert "good" in [schedule.name for schedule in horae.schedules.list()]
    async with running_node(horae):
        await until(lambda: horae.schedules.get("good").statistics.total_successes)


@pytest.mark.parametrize("stored", ["{", "5", "[[1]]"])
def test_bad_tags_of_a_schedule_are_no_tags(stored: str) -> None:
    assert plan_writing.tags_of(stored) == []


BAD: Final[dict[str, str]] = {
    "horae_audit": "at = {moment}",
    "horae_nodes": "started_at = {moment}",
    "horae_schedules": "next_start = {moment}",
    "horae_ticks": "decided_at = {moment}",
    "horae_job_attempts": "finished_at = {moment}",
    "horae_queues": "paused_at = {moment}",
}


def note(connection: Connection, target: str) -> None:
    row = {"actor": "ada", "action": "test", "target": target, "outcome": "done"}
    connection.execute(change_log.insert().values(at=database_now(), **row))


@pytest.mark.parametrize("moment", ["infinity", "294276-01-01"])
async def test_bad_rows_of_other_tables_are_left_out_as_well(horae: Horae, moment: str) -> None:
    @horae.job(name="work")
    def work() -> None: ...

    queues = Queues(horae.components.database, horae.components.wakeup)
    for name in ("one", "two"):
        horae.schedules.add("work", name=name, cron="0 0 1 1 *")
        queues.pause(name)
        horae.components.database.autocommit(note, name)
    async with running_node(horae):
        job_id = horae.schedules.run_now("one")
        await horae.aio.jobs.wait(job_id, timeout="6s")
        written = f"'{moment}'" if horae.components.database.dialect == POSTGRESQL else str(LARGEST)
        for table, change in BAD.items():
            of_one = {
                "horae_schedules": "name = 'two'",
                "horae_queues": "name = 'one'",
                "horae_audit": "target = 'one' AND action = 'test'",
            }
            spoil(horae, table, change.format(moment=written), of_one.get(table, "1 = 1"))
        entries = ChangeLog(horae.components.database).page().entries
        assert [entry.target for entry in entries if entry.action == "test"] == ["two"]
        assert [schedule.name for schedule in horae.schedules.list()] == ["one"]
        assert horae.jobs.attempts(job_id) == []
        assert [queue.name for queue in queues.list() if queue.paused_at] == ["two"]
        assert list(horae.schedules.ticks("one")) == []
        with pytest.raises(UnreadableRow):
            horae.schedules.get("two")
    named = check_rows(horae.components.database).message
    assert [table for table in BAD if table not in named] == ["horae_job_attempts"]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_values_of_another_type_than_their_columns_hide_no_other_row(horae: Horae) -> None:
    database = horae.components.database
    for name in ("one", "two"):
        database.autocommit(note, name)
    spoil(horae, "horae_audit", "outcome = x'ff'", "target = 'one'")
    assert [entry.target for entry in ChangeLog(database).page().entries] == ["two"]
    horae.deploy()
    spoil(horae, "horae_deployments", "min_replicas = 'many'", "1 = 1")
    assert horae.deployments.list() == []


OF_ANOTHER_TYPE: Final = (
    "horae_deployments.created_at",
    "horae_deployments.key",
    "horae_groups.total",
    "horae_job_attempts.attempt",
    "horae_jobs.attempt",
    "horae_jobs.queue",
    "horae_jobs.state",
    "horae_jobs.type",
    "horae_limits.name",
    "horae_queues.concurrency_limit",
    "horae_queues.name",
    "horae_schedule_statistics.total_duration",
    "horae_schedule_statistics.total_runs",
    "horae_schedules.name",
    "horae_schedules.priority",
)


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("place", OF_ANOTHER_TYPE)
async def test_a_value_of_another_type_fails_no_page_and_no_audit(horae: Horae, place: str) -> None:
    @horae.job(max_count=None, limits=[Limit(concurrency=5)])
    def work() -> None: ...

    @horae.every("1h")
    def hourly() -> None: ...

    horae.deploy()
    group = horae.jobs.start_group([work, work], then=work)
    async with running_node(horae):
        await horae.aio.jobs.wait_for_group(group.id, timeout="6s")
        await horae.aio.jobs.wait(horae.schedules.run_now("hourly"), timeout="6s")
    horae.jobs.start_many(work, [{}] * 2)
    for name in ("default", "other"):
        horae.queues.limit(name, 7)
    table, column = place.split(".")
    spoil(horae, table, f"{column} = x'ff'", f"rowid = (SELECT max(rowid) FROM {table})")
    client = client_of(application_of(horae), "root")
    statuses = {
        path: (await client.get(path)).status_code
        for path in (
            *("/metrics", "/api/overview/", "/api/errors/", "/api/queues/", "/api/limits/"),
            *("/api/jobs/", "/api/schedules/", "/api/deployments/", "/api/nodes/"),
        )
    }
    assert {path: status for path, status in statuses.items() if status != 200} == {}
    assert horae.audit().checked["jobs"] > 0


BAD_SCHEDULES: Final[dict[str, tuple[str, str]]] = {
    "the largest version": ("horae_schedules", "version = 2147483647"),
    "the most runs": (
        "horae_schedule_statistics",
        f"total_runs = {LARGEST}, total_crashes = {LARGEST}, total_successes = 0",
    ),
    "the most successes": (
        "horae_schedule_statistics",
        f"total_runs = {LARGEST}, total_successes = {LARGEST}, total_crashes = 0",
    ),
    "the most crashes in a row": ("horae_schedule_statistics", "consecutive_crashes = 2147483647"),
    "the most failures in a row": (
        "horae_schedule_statistics",
        "consecutive_failures = 2147483647",
    ),
    "a duration beyond all": ("horae_schedule_statistics", "total_duration = 1e300"),
}


def spoil_schedule(horae: Horae, kind: str, name: str) -> None:
    table, change = BAD_SCHEDULES[kind]
    key = "id" if table == "horae_schedules" else "schedule_id"
    spoil(horae, table, change, f"{key} = (SELECT id FROM horae_schedules WHERE name = '{name}')")


@pytest.fixture
def rota(horae: Horae) -> Horae:
    """Three schedules that are due."""

    @horae.job(name="work", max_count=None)
    def work() -> None: ...

    for name in ("one", "two", "three"):
        horae.schedules.add("work", name=name, every="1h")
    return horae


def due(horae: Horae) -> list[int]:
    """Make all due now; their ids."""
    database = horae.components.database
    past = (
        "now() - interval '1 second'" if database.dialect == POSTGRESQL else "horae_now() - 1000000"
    )
    with database.own_connection() as connection:
        connection.exec_driver_sql(f"UPDATE horae_schedules SET next_start = {past}")
        return [
            row[0]
            for row in connection.exec_driver_sql("SELECT id FROM horae_schedules ORDER BY id")
        ]


@pytest.mark.parametrize("kind", BAD_SCHEDULES)
def test_a_count_that_is_full_stops_no_other_schedule(rota: Horae, kind: str) -> None:
    ids = due(rota)
    spoil_schedule(rota, kind, "two")
    fired = rota.components.database.transact(firing.fire, ids, NodeId("here"))
    assert {decided.schedule.id for decided in fired if decided.fired} == {ids[0], ids[2]}
    assert [view.name for view in rota.schedules.list()] == ["one", "three"]
    with pytest.raises(UnreadableRow, match="too large"):
        rota.schedules.get("two")
    assert "horae_schedules" in check_rows(rota.components.database).message


@pytest.mark.parametrize("kind", BAD_SCHEDULES)
@pytest.mark.parametrize("outcome", [RunOutcome.SUCCEEDED, RunOutcome.FAILED])
def test_a_count_that_is_full_keeps_no_other_run_from_its_end(
    rota: Horae, kind: str, outcome: RunOutcome
) -> None:
    fired = rota.components.database.transact(firing.fire, due(rota), NodeId("here"))
    spoil_schedule(rota, kind, "two")
    ended = "finished" if outcome is RunOutcome.SUCCEEDED else "failed"
    execute(
        rota,
        f"UPDATE horae_jobs SET state = '{ended}', started_at = created_at, finished_at = created_at",
    )
    outcomes = {decided.fired: outcome for decided in fired if decided.fired is not None}
    rota.components.database.transact(run_ending.end_runs, outcomes, NodeId("here"))
    assert len(outcomes) == 3
    assert [(view.name, view.state) for view in rota.schedules.list()] == [
        ("one", "idle"),
        ("three", "idle"),
    ]


@pytest.mark.parametrize("kind", BAD_SCHEDULES)
def test_a_count_that_is_full_is_not_planned_ahead(rota: Horae, kind: str) -> None:
    ids = due(rota)
    spoil_schedule(rota, kind, "two")
    assert set(rota.components.database.autocommit(bulk_firing.plan_ahead, ids)) == {ids[0], ids[2]}


async def test_metrics_are_answered_beside_each_kind_of_bad_row(rota: Horae) -> None:
    postgresql = rota.components.database.dialect == POSTGRESQL
    ids = rota.jobs.start_many("work", [{}] * (len(BAD_JOBS) + 1))
    for job_id, changes in zip(ids, BAD_JOBS.values(), strict=False):
        if (change := changes[0 if postgresql else 1]) is not None:
            spoil(rota, "horae_jobs", change, f"id = {job_id}")
    spoil(
        rota,
        "horae_schedules",
        f"next_start = {chr(39) + 'infinity' + chr(39) if postgresql else LARGEST}",
        "name = 'one'",
    )
    for kind in BAD_SCHEDULES:
        if kind != "the most successes":  # it and the most runs exclude each other
            spoil_schedule(rota, kind, "two")
    client = client_of(application_of(rota), "auditor")
    rota.jobs.list()
    rota.schedules.list()
    response = await client.get("/metrics")
    assert response.status_code == 200
    assert 'horae_unreadable_rows{table="horae_schedules"} 2.0' in response.text
    assert 'horae_unreadable_rows{table="horae_jobs"}' in response.text


@pytest.mark.parametrize(
    "change",
    [
        f"lease = {MOST_LEASES}",
        f"lease = {MOST_LEASES - 1}, attempt = {MOST_ATTEMPTS}",
        "meta = '[]'",
        {POSTGRESQL: "run_at = 'infinity'", SQLITE: f"run_at = {LARGEST}"},
        {POSTGRESQL: "expires_at = '294276-01-01'", SQLITE: "created_at = 'x'"},
    ],
)
def test_the_database_refuses_what_could_not_be_read(horae: Horae, change: Any) -> None:
    @horae.job
    def work() -> None: ...

    horae.jobs.start(work)
    statement = change if isinstance(change, str) else change[horae.components.database.dialect]
    with (
        pytest.raises(Exception, match="readable"),
        horae.components.database.engine.begin() as connection,
    ):
        connection.execute(text(f"UPDATE horae_jobs SET {statement}"))


async def test_bodies_read_as_ever(horae: Horae) -> None:
    """Only Horae's own reading is tolerant."""
    if horae.components.database.dialect == SQLITE:
        return

    @horae.job(transaction="read committed")
    def look() -> str:
        with horae.components.database.transaction("read committed") as connection:
            try:
                return str(connection.execute(text("SELECT 'infinity'::timestamptz")).scalar_one())
            except Exception as error:  # noqa: BLE001
                return type(error).__name__

    async with running_node(horae):
        assert await horae.aio.jobs.wait(horae.jobs.start(look).id, timeout="6s") == "DataError"
