"""Event streams that break, send heartbeats, fall behind and end. None of it depends on the kind of database."""

import asyncio
import threading

import pytest

from horae import Horae
from horae.api.application import HttpInterface
from horae.api.security.actor import Actor
from horae.api.stream.event import Event
from horae.api.stream.job_source import JobSource
from horae.api.stream.listener import StreamListener
from horae.api.stream.timing import EventsTiming, HubTiming, ListenerLimits, StreamTiming
from horae.storage.engine.database import Database
from tests.api.clients import give
from tests.api.streams import listening
from tests.harness.applications import counted_statements
from tests.harness.nodes import until
from tests.harness.waiting import until_after


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


def give_timing(
    app: HttpInterface, stream: StreamTiming = StreamTiming(), hub: HubTiming = HubTiming()
) -> None:
    give(app, events_timing=EventsTiming(stream=stream, hub=hub))


@pytest.mark.parametrize("identity", ["", "nonsense", "00000000-1", "x-99999999", "1-", "-1"])
async def test_an_unknown_event_id_requires_a_reload(app: HttpInterface, identity: str) -> None:
    async with listening(app, "bob") as other:
        token = (await other.next("hello")).identity.partition("-")[0]
        for given in (identity, identity.replace("x", token)):
            async with listening(app, "alice", given) as stream:
                assert (await stream.next("hello")).data == {"resumed": False}


async def test_a_client_whose_events_were_dropped_must_reload(app: HttpInterface) -> None:
    async with listening(app, "bob") as other:
        here = (await other.next("hello")).identity
        async with listening(app, "alice", here) as stream:
            assert (await stream.next("hello")).data == {"resumed": False}


async def test_a_slow_client_is_disconnected(horae: Horae, app: HttpInterface) -> None:
    give_timing(app, StreamTiming(send_limit=0.2))
    async with listening(app, "root") as quick, listening(app, "root", slow=True) as slow:
        await quick.next("hello")
        for _ in range(3):
            job = horae.jobs.start("rebuild_index")
            await quick.until("created", job.id)
        slow.open.set()
        assert not slow.ended


async def test_a_client_that_reads_nothing_is_disconnected(
    horae: Horae, app: HttpInterface
) -> None:
    give_timing(app, StreamTiming(send_limit=0.1, close_limit=0.1))
    hub = app.services.hub
    async with listening(app, "root") as slow:
        await slow.next("hello")
        slow.open.clear()
        horae.jobs.start("rebuild_index")
        await until(lambda: hub.listening == 0)
        assert not slow.gone.is_set()


async def test_a_client_too_far_behind_is_disconnected_at_once() -> None:
    listener = StreamListener(Actor("alice"), ListenerLimits(messages=3))
    events = [Event(number, f"{number};".encode()) for number in range(5)]
    listener.offer(events[:2])
    assert await listener.take(1.0) == b"0;1;"
    listener.offer(events[:3])
    assert not listener.closed
    listener.offer(events[3:4])
    assert listener.closed
    assert await listener.take(1.0) == b""


async def test_a_client_away_for_too_long_must_reload(horae: Horae, app: HttpInterface) -> None:
    give_timing(app, hub=HubTiming(kept=2))
    async with listening(app, "alice") as stream:
        hello = await stream.next("hello")
        told = [
            await stream.until("created", horae.jobs.start("rebuild_index", owner="alice").id)
            for _ in range(4)
        ]
        for since, resumed in ((hello, False), (told[0], False), (told[1], True), (told[3], True)):
            async with listening(app, "alice", since.identity) as other:
                assert (await other.next("hello")).data == {"resumed": resumed}


async def test_a_silent_stream_beats(app: HttpInterface) -> None:
    give_timing(app, StreamTiming(heartbeat=0.05))
    async with listening(app, "alice") as stream:
        await until_after(stream.changes, lambda: stream.text.count(": beat\n\n") >= 2)


async def test_closing_ends_the_streams_and_a_later_one_is_served(app: HttpInterface) -> None:
    async with listening(app, "alice") as stream:
        await stream.next("hello")
        await asyncio.to_thread(app.close)
        await until_after(stream.changes, lambda: stream.ended)
    async with listening(app, "alice") as stream:
        assert (await stream.next("hello")).data == {"resumed": False}


@pytest.mark.parametrize("place", ["thread", "follow"])
async def test_streams_end_while_the_machine_lacks_something(
    app: HttpInterface, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    start = threading.Thread.start
    with monkeypatch.context() as patch:
        if place == "thread":
            patch.setattr(
                threading.Thread,
                "start",
                lambda each: (refuse if each.name == "horae-events" else start)(each),
            )
        else:
            patch.setattr(type(app.services.components.live), "follow", refuse)
        async with listening(app, "alice") as stream:
            await until_after(stream.changes, lambda: stream.ended)
    async with listening(app, "alice") as stream:
        assert (await stream.next("hello")).data == {"resumed": False}


async def test_without_listeners_the_database_is_not_polled(
    horae: Horae, app: HttpInterface
) -> None:
    give_timing(app, hub=HubTiming(linger=0.0))
    async with listening(app, "alice") as stream:
        await stream.next("hello")
    hub = app.services.hub
    await until(lambda: vars(hub)["_thread"] is None)
    with counted_statements(horae) as statements:
        assert not hub.listening
    assert statements == []


async def test_a_database_that_fails_for_a_while_ends_no_stream(
    horae: Horae, app: HttpInterface, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_timing(app, hub=HubTiming(after_failure=0.05))
    failures = iter([OSError("gone")] * 3)
    look = JobSource.changes

    def failing(source: JobSource, wanted: object) -> object:
        for failure in failures:
            raise failure
        return look(source, wanted)  # type: ignore[arg-type] # passed on as it came

    async with listening(app, "alice") as stream:
        await stream.next("hello")
        monkeypatch.setattr(JobSource, "changes", failing)
        await stream.next("unavailable")
        async with listening(app, "bob") as other:
            job = horae.jobs.start("rebuild_index", owner="alice")
            await stream.until("created", job.id)
            assert stream.text.count("event: unavailable") == 1
            assert (await other.next("hello")).data == {"resumed": False}
    assert next(failures, None) is None
