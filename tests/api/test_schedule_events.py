"""Events of schedules: which changes are sent, and to whom; on both kinds of database."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection

from horae import Horae
from horae.api.application import HttpInterface
from horae.api.stream.event import Update, Wanted
from horae.api.stream.job_source import JobSource
from horae.api.stream.sources import ScheduleSource
from horae.api.stream.timing import EventsTiming, HubTiming, ScheduleSourceTiming
from horae.storage.engine.database import Database
from horae.storage.schedules import reading
from horae.wakeup.channel import Hint, HintKind
from tests.api.clients import Client, give
from tests.api.streams import Received, Stream, listening
from tests.api.timetable import fire, make_late
from tests.harness.applications import claim_as_another_node, counted_statements, execute
from tests.harness.nodes import running_node


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


def add(horae: Horae, name: str = "nightly", cron: str = "0 3 * * *") -> int:
    return horae.schedules.add("rebuild_index", name=name, cron=cron).id


async def until_told(stream: Stream, **wanted: object) -> Received:
    """The next word of a schedule that has all of these."""
    while True:
        message = await stream.next("schedule")
        if wanted.items() <= message.data.items():
            return message


def everything(_owner: str | None) -> bool:
    return True


def nothing_of_schedules(owner: str | None) -> bool:
    return owner is not None


@pytest.fixture
def source(horae: Horae) -> ScheduleSource:
    """A source that has had its first look."""
    return source_of(horae)


def source_of(
    horae: Horae, timing: ScheduleSourceTiming = ScheduleSourceTiming()
) -> ScheduleSource:
    source = ScheduleSource(horae.components.database, timing)
    assert source.poll(everything) == []
    return source


async def test_staff_get_every_event_of_a_schedule(
    horae: Horae, app: HttpInterface, client: Client
) -> None:
    async with listening(app, "auditor") as stream:
        await stream.next("hello")
        schedule_id = add(horae)
        created = await until_told(stream, id=schedule_id, state="idle")
        listed = (await client("auditor").get("/api/schedules/")).json()["schedules"]
        assert created.data == listed[0]
        await client("root").post(f"/api/schedules/{schedule_id}/pause/", json={"note": "why not"})
        assert (await until_told(stream, enabled=False)).data["pause_note"] == "why not"
        horae.schedules.resume(schedule_id)
        await until_told(stream, enabled=True)
        job_id = horae.schedules.run_now(schedule_id)
        assert (await until_told(stream, state="executing")).data["job_id"] == job_id
        claim_as_another_node(horae)
        horae.jobs.cancel(job_id)
        horae.schedules.alter(schedule_id, priority=3)
        await until_told(stream, priority=3)
        horae.schedules.delete(schedule_id)
        assert (await stream.next("schedule_gone")).data == {"id": schedule_id}


async def test_the_end_of_a_run_is_an_event(horae: Horae, app: HttpInterface) -> None:
    schedule_id = add(horae, cron="* * * * *")
    async with listening(app, "auditor") as stream:
        await stream.next("hello")
        make_late(horae, schedule_id, 600)
        assert len(fire(horae, schedule_id)) == 1
        await until_told(stream, state="executing")
        async with running_node(horae, scheduler=False):
            ended = await until_told(stream, state="idle", job_id=None)
    assert ended.data["statistics"]["total_successes"] == 1


async def test_owners_get_no_schedule_events(horae: Horae, app: HttpInterface) -> None:
    async with listening(app, "root") as root, listening(app, "alice") as alice:
        await root.next("hello")
        await alice.next("hello")
        job_id = horae.jobs.start("rebuild_index", owner="alice").id
        await until_told(root, id=add(horae))
        await alice.until("created", job_id)
        horae.jobs.cancel(job_id)
        await alice.until("ended", job_id)
        assert {message.name for message in alice.messages} == {"hello", "job"}


async def test_a_missed_event_is_sent_again(horae: Horae, app: HttpInterface) -> None:
    async with listening(app, "auditor") as other:
        await other.next("hello")
        async with listening(app, "root") as stream:
            await stream.next("hello")
            last = (await until_told(stream, id=add(horae))).identity
        missed = add(horae, "missed")
        await until_told(other, id=missed)
        async with listening(app, "root", last) as stream:
            assert (await stream.next("hello")).data == {"resumed": True}
            assert (await stream.next("schedule")).data["id"] == missed


async def test_a_fire_is_reported_once(horae: Horae, source: ScheduleSource) -> None:
    schedule_id = add(horae, cron="* * * * *")
    assert names(source) == ["schedule"]
    assert names(source) == []
    make_late(horae, schedule_id, 600)
    execute(
        horae, "UPDATE horae_schedules SET updated_at = last_tick"
    )  # as if all that was long ago
    assert names(source) == []
    assert len(fire(horae, schedule_id)) == 1
    assert names(source) == ["schedule"]
    assert names(source) == []


async def test_only_deleted_schedules_are_reported_by_hints(
    horae: Horae, source: ScheduleSource
) -> None:
    kept, deleted = add(horae, "kept"), add(horae, "deleted")
    names(source)
    execute(horae, "DELETE FROM horae_schedules WHERE id = :id", id=deleted)
    source.on_hint(Hint(HintKind.WORK, (deleted,)))  # type: ignore[arg-type] # an id of a schedule
    assert names(source) == []
    source.on_hint(Hint(HintKind.SCHEDULES, (deleted, kept)))  # type: ignore[arg-type] # ids of schedules
    assert source.poll(everything) == [Update("schedule_gone", f'{{"id":{deleted}}}')]
    assert names(source) == []


async def test_an_unreadable_row_hides_no_other(horae: Horae, source: ScheduleSource) -> None:
    strange, sound = add(horae, "strange"), add(horae, "sound")
    execute(horae, "UPDATE horae_schedules SET trigger = 'full moon' WHERE id = :id", id=strange)
    found = source.poll(everything)
    assert found is not None
    assert [(each.name, f'"id":{sound},' in each.data, each.owner) for each in found] == [
        ("schedule", True, None)
    ]


async def test_schedules_are_queried_only_while_staff_listens(
    horae: Horae, source: ScheduleSource
) -> None:
    add(horae)
    with counted_statements(horae) as statements:
        assert source.poll(nothing_of_schedules) == []
    assert statements == []
    assert names(source) == ["schedule"]  # it may have been between his reading and our looking


async def test_a_poll_is_one_statement_and_two_if_there_are_changes(
    horae: Horae, source: ScheduleSource
) -> None:
    for number in range(20):
        add(horae, f"s{number}")
    for expected in (2, 1):
        with counted_statements(horae) as statements:
            source.poll(everything)
        assert len(statements) == expected


def test_changes_are_found_by_an_index(horae: Horae) -> None:
    database = horae.components.database
    asked = reading.CHANGED.params(within=3.0).limit(10)
    statement = asked.compile(database.engine, compile_kwargs={"literal_binds": True})

    def plan(connection: Connection) -> str:
        if database.dialect == "sqlite":
            return str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}").all())
        for costly in ("seqscan", "bitmapscan"):  # a table without rows is read in whichever way
            connection.exec_driver_sql(f"SET LOCAL enable_{costly} = off")
        return str(connection.exec_driver_sql(f"EXPLAIN {statement}").all())

    found = database.transact(plan)
    assert "horae_schedules_updated" in found
    assert "b-tree" not in found.lower()  # to sort by
    assert "sort" not in found.lower()


@pytest.mark.parametrize(
    "timing", [ScheduleSourceTiming(most_each=5), ScheduleSourceTiming(rows=6)]
)
async def test_too_many_changes_are_not_reported_one_by_one(
    horae: Horae, timing: ScheduleSourceTiming
) -> None:
    source = source_of(horae, timing)
    for number in range(5):
        add(horae, f"s{number}")
    assert names(source) == ["schedule"] * 5
    for number in range(5, 11):
        add(horae, f"s{number}")
    assert source.poll(everything) is None
    if timing.most_each == 5:
        assert names(source) == []


async def test_a_flood_of_schedules_is_one_event_to_staff_and_none_to_owners(
    horae: Horae, app: HttpInterface
) -> None:
    give(app, events_timing=EventsTiming(schedules=ScheduleSourceTiming(most_each=0)))
    async with listening(app, "root") as root, listening(app, "alice") as alice:
        await root.next("hello")
        await alice.next("hello")
        add(horae)
        await root.next("reset")
        job_id = horae.jobs.start("rebuild_index", owner="alice").id
        await alice.until("created", job_id)
        assert [message.name for message in alice.messages] == ["hello", "job"]


async def test_changes_found_before_a_failed_poll_are_reported_later(
    horae: Horae, app: HttpInterface, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(app, events_timing=EventsTiming(hub=HubTiming(after_failure=0.05)))
    failures: Iterator[OSError] = iter([OSError("gone")])
    found: list[str] = []
    jobs, schedules = JobSource.poll, ScheduleSource.poll

    def failing(source: ScheduleSource, wanted: Wanted) -> list[Update] | None:
        for failure in failures if found else ():
            raise failure
        return schedules(source, wanted)

    def noting(source: JobSource, wanted: Wanted) -> list[Update] | None:
        news = jobs(source, wanted)
        found.extend(each.name for each in news or ())
        return news

    monkeypatch.setattr(JobSource, "poll", noting)
    monkeypatch.setattr(ScheduleSource, "poll", failing)
    async with listening(app, "alice") as stream:
        await stream.next("hello")
        horae.jobs.start("rebuild_index", owner="alice")
        await stream.next("reset")


def names(source: ScheduleSource) -> list[str]:
    """What a look tells, by name."""
    return [each.name for each in source.poll(everything) or ()]
