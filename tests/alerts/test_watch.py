"""A watch on a real database, with real receivers."""

import json
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from horae import Horae, InvalidRequest, Limit
from horae.alerts import AlertThresholds, Notice, Pace, Ping, Watch, Webhook
from horae.alerts.reading import observe
from horae.client.doctor import About, Noun
from horae.storage.engine.database import Database
from tests.alerts.receiver import Receiver, receiver
from tests.api.timetable import fail_often, fire, make_late
from tests.harness.applications import application, execute
from tests.harness.fault_application import fault_application
from tests.harness.node_processes import BODY_LOG, NodeProcess, wait_until
from tests.harness.nodes import running_node, until, until_state

HERE = ["127.0.0.1"]
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **length: float) -> None:
        self.now += timedelta(**length)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as horae:

        @horae.job(max_count=None)
        def work() -> None: ...

        yield horae


@contextmanager
def watching(horae: Horae, **options: Any) -> Generator[Watch]:
    with closing(Watch(horae, **options)) as watch:
        yield watch


def told(notices: Any) -> list[str]:
    return [f"{notice.happening} {notice.alert.key}" for notice in notices]


def events(server: Receiver) -> list[str]:
    bodies = [json.loads(request.body) for request in server.requests]
    return [f"{body['event']} {body['alert']['key']}" for body in bodies]


def ago(horae: Horae, column: str, seconds: int) -> str:
    length = (
        f"INTERVAL '{seconds} seconds'"
        if horae.components.database.dialect == "postgresql"
        else f"{seconds}000000"
    )
    return f"{column} = {column} - {length}"


def kinds(database: Database) -> list[str]:
    return [each.kind for each in observe(database, AlertThresholds(), ()) if each.kind]


def test_a_healthy_application_is_pinged(horae: Horae, server: Receiver) -> None:
    horae.schedules.add("work", name="nightly", cron="0 3 * * *")
    ping = Ping(url=f"{server.url}/ping", allow_internal=HERE)
    hook = Webhook(url=server.url, allow_internal=HERE)
    with watching(horae, targets=[hook], pings=[ping]) as watch:
        assert watch.look() == []
        assert watch.deliver()
        assert watch.is_well
    assert [(each.method, each.path) for each in server.requests] == [("GET", "/ping")]


def test_a_late_schedule_is_told_once_and_when_it_is_over(
    horae: Horae, server: Receiver, clock: Clock
) -> None:
    late = horae.schedules.add("work", name="nightly", cron="* * * * *").id
    make_late(horae, late, 600)
    hook = Webhook(url=server.url, allow_internal=HERE)
    ping = Ping(url=f"{server.url}/ping", allow_internal=HERE)
    with watching(horae, targets=[hook], pings=[ping], clock=clock, name="shop") as watch:
        for _ in range(3):
            watch.look()
            watch.deliver()
        assert events(server) == [f"begun schedule_late:{late}"]
        assert not watch.is_well
        assert fire(horae, late)
        for _ in range(3):
            clock.advance(seconds=30)
            watch.look()
            watch.deliver(with_pings=False)
    assert events(server) == [f"begun schedule_late:{late}", f"over schedule_late:{late}"]
    assert json.loads(server.requests[0].body)["source"] == "shop"


def test_a_missed_schedule_is_told_until_it_runs_again(horae: Horae, clock: Clock) -> None:
    schedule = horae.schedules.add("work", name="nightly", cron="0 3 * * *", catch_up="none").id
    before = ago(horae, "next_start", 3 * 86_400)
    decided = before.replace("next_start =", "last_tick =")
    execute(horae, f"UPDATE horae_schedules SET {before}, {decided}")
    with watching(horae, clock=clock) as watch:
        assert told(watch.look()) == [f"begun schedule_late:{schedule}"]
        assert fire(horae, schedule) == []
        clock.advance(minutes=2)
        assert set(told(watch.look())) == {
            f"begun schedule_missed:{schedule}",
            f"over schedule_late:{schedule}",
        }
        # Found again long after its decision, because it is known.
        execute(horae, f"UPDATE horae_schedules SET {ago(horae, 'updated_at', 7200)}")
        clock.advance(minutes=2)
        assert told(watch.look()) == []
        horae.schedules.run_now(schedule)
        clock.advance(minutes=2)
        assert told(watch.look()) == [f"over schedule_missed:{schedule}"]


def test_a_failing_schedule(horae: Horae) -> None:
    schedule = horae.schedules.add("work", name="nightly", cron="0 3 * * *").id
    fail_often(horae, schedule, 2)
    with watching(horae) as watch:
        assert watch.look() == []
    with watching(horae, thresholds=AlertThresholds(failures=2)) as watch:
        assert told(watch.look()) == [f"begun schedule_failing:{schedule}"]


async def test_a_late_queue_and_free_slots_that_claim_nothing(
    horae: Horae, database: Database
) -> None:
    job = horae.jobs.start("work", queue="mail")
    with watching(horae) as watch:
        execute(horae, f"UPDATE horae_jobs SET {ago(horae, 'run_at', 700)}")
        assert watch.look() == []  # as the run of a late schedule, it has just been created
        execute(horae, f"UPDATE horae_jobs SET {ago(horae, 'created_at', 700)}")
        assert told(watch.look()) == ["begun queue_late:mail"]
    async with running_node(horae, queues=("other",)):
        assert kinds(database) == ["queue_late"]  # no slot may take it
        # As if the node served the queue, and had forgotten to look.
        execute(horae, "UPDATE horae_nodes SET queues = NULL")
        found = {each.kind: each.message for each in observe(database, AlertThresholds(), ())}
        assert found["nothing_claimed"].startswith(
            "1 job due in queue 'mail' and 10 slots free for them"
        )
        other = horae.jobs.start("work", queue="other")
        await until_state(horae, other.id, "finished")
        assert "nothing_claimed" in kinds(database)
        execute(horae, "UPDATE horae_jobs SET queue = 'mail' WHERE id = :id", id=other.id)
        assert kinds(database) == ["queue_late"]  # one was claimed just now
        horae.queues.pause("mail")
        assert kinds(database) == []
    assert job.id


async def test_what_a_limit_holds_back_for_long_is_told_of_the_limit(
    horae: Horae, database: Database
) -> None:
    @horae.job(limits=[Limit(rate="1/h", name="calls")])
    def call() -> None: ...

    first, *held = [horae.jobs.start("call") for _ in range(3)]
    async with running_node(horae):
        await until_state(horae, first.id, "finished")
        await until(lambda: "holds it back" in (horae.jobs.waiting_reason(held[1].id) or ""))
        for column in ("run_at", "created_at"):
            execute(horae, f"UPDATE horae_jobs SET {ago(horae, column, 700)}")
        [found] = [each for each in observe(database, AlertThresholds(), ()) if each.kind]
    assert found.message == "limit 'calls' holds back 2 jobs for long: one has been due for 12 min"
    assert (found.kind, found.about, found.deeds) == ("limit_late", About(Noun.LIMIT, "calls"), ())


def test_a_database_that_is_away(server: Receiver, clock: Clock, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    ping = Ping(url=f"{server.url}/ping", allow_internal=HERE)
    horae = Horae(f"postgresql+psycopg://horae:sesame@127.0.0.1:{port}/horae")
    with closing(horae), watching(horae, pings=[ping], clock=clock) as watch:
        assert watch.look() == []
        watch.deliver()
        clock.advance(seconds=10)
        [notice] = watch.look()
        watch.deliver()
    assert notice.alert.key == "database_away"
    assert "refused" in notice.alert.summary
    assert "sesame" not in repr(notice)
    assert server.requests == []  # the pings have stopped at once


def test_a_file_that_is_missing_is_not_made(tmp_path: Path) -> None:
    horae = Horae(f"sqlite:///{tmp_path}/horae.db")
    with closing(horae), watching(horae) as watch:
        [notice] = watch.look(at_once=True)
    assert "there is no file" in notice.alert.summary
    assert list(tmp_path.iterdir()) == []


def test_a_look_that_does_not_return(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("horae.alerts.watch.LOOK_WITHIN", 0.01)
    release = threading.Event()

    def hang(*_: object) -> None:
        release.wait(20)
        raise RuntimeError("too late")

    with monkeypatch.context() as hanging, watching(horae, clock=clock) as watch:
        hanging.setattr("horae.alerts.watch.observe", hang)
        watch.look()
        clock.advance(seconds=11)
        assert told(watch.look()) == ["begun database_away"]
        release.set()


def test_a_target_that_refuses_is_tried_again_and_holds_up_no_other(
    horae: Horae, server: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    make_late(horae, horae.schedules.add("work", name="nightly", cron="0 3 * * *").id, 600)
    with receiver() as refusing:
        refusing.respond = lambda _: (500, {}, b"")
        hooks = [
            Webhook(url=f"{each.url}/s3cret", allow_internal=HERE) for each in (refusing, server)
        ]
        with watching(horae, targets=hooks) as watch:
            watch.look()
            assert not watch.deliver()
            assert (len(refusing.requests), len(server.requests)) == (1, 1)
            assert not watch.deliver()  # it is not due for a try yet
            assert len(refusing.requests) == 1
            refusing.respond = lambda _: (200, {}, b"")
            assert watch.deliver(at_once=True)
            assert (len(refusing.requests), len(server.requests)) == (2, 1)
        first, second = (json.loads(each.body)["id"] for each in refusing.requests)
        assert first == second
    assert "next try within 5 s: it has answered 500" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_slow_target_does_not_delay_the_next_look(
    horae: Horae, server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horae.alerts.watch.DELIVER_WITHIN", 0.01)
    make_late(horae, horae.schedules.add("work", name="nightly", cron="0 3 * * *").id, 600)
    release = threading.Event()

    def wait(_: object) -> tuple[int, dict[str, str], bytes]:
        release.wait(20)
        return 200, {}, b""

    server.respond = wait
    with watching(horae, targets=[Webhook(url=server.url, allow_internal=HERE)]) as watch:
        watch.look()
        assert not watch.deliver()
        watch.look()
        release.set()
        wait_until(watch.deliver)
    assert len(server.requests) == 1  # the first try was left to itself, and not made again


def test_a_restart_tells_nothing_again(
    horae: Horae, server: Receiver, clock: Clock, tmp_path: Path
) -> None:
    late = horae.schedules.add("work", name="nightly", cron="* * * * *").id
    make_late(horae, late, 600)
    options: dict[str, Any] = {
        "targets": [Webhook(url=server.url, allow_internal=HERE)],
        "state": tmp_path / "state",
        "clock": clock,
    }
    server.respond = lambda _: (503, {}, b"")
    with watching(horae, **options) as watch:
        watch.look()
        assert not watch.deliver()
    server.requests.clear()
    server.respond = lambda _: (200, {}, b"")
    with watching(horae, **options) as watch:
        assert watch.look() == []
        assert watch.deliver()  # what waited is delivered by the next one
        assert events(server) == [f"begun schedule_late:{late}"]
    assert fire(horae, late)
    clock.advance(minutes=5)
    with watching(horae, **options) as watch:
        assert told(watch.look()) == [f"over schedule_late:{late}"]


def test_after_a_kill_between_two_notices_only_the_second_is_sent(
    horae: Horae, server: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horae.alerts.watch.DELIVER_WITHIN", 0.01)
    for name in ("nightly", "weekly"):
        make_late(horae, horae.schedules.add("work", name=name, cron="0 3 * * *").id, 600)
    options: dict[str, Any] = {
        "targets": [Webhook(url=server.url, allow_internal=HERE)],
        "state": tmp_path / "state",
    }
    release = threading.Event()

    def answer_one(_: object) -> tuple[int, dict[str, str], bytes]:
        if len(server.requests) > 1:
            release.wait(20)
        return 200, {}, b""

    server.respond = answer_one
    with watching(horae, **options) as watch:
        watch.look()
        watch.deliver()
        wait_until(lambda: len(server.requests) == 2)
        watch.deliver()
        killed = (tmp_path / "state").read_bytes()
        release.set()
        wait_until(watch.deliver)
    (tmp_path / "state").write_bytes(killed)
    with watching(horae, **options) as watch:
        assert watch.look() == []
        wait_until(watch.deliver)
    first, *others = events(server)
    assert len(others) == 2
    assert len({first, *others}) == 2
    assert others[0] == others[1]


def test_it_runs_until_it_is_stopped(horae: Horae) -> None:
    make_late(horae, horae.schedules.add("work", name="nightly", cron="0 3 * * *").id, 600)
    stop = threading.Event()
    got: list[Notice] = []

    def tell(notice: Notice) -> None:
        got.append(notice)
        stop.set()

    with watching(horae, pace=Pace(every="1h")) as watch:
        thread = threading.Thread(target=watch.run, args=(stop, tell))
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
    assert len(got) == 1


class Broken:
    name = "a target of the application"

    def deliver(self, notice: Notice, source: str, now: datetime) -> None:
        raise LookupError("broken")


def test_a_target_that_breaks_ends_nothing(horae: Horae, caplog: pytest.LogCaptureFixture) -> None:
    make_late(horae, horae.schedules.add("work", name="nightly", cron="0 3 * * *").id, 600)
    with watching(horae, targets=[Broken()]) as watch:
        watch.look()
        assert not watch.deliver()
    assert "a target of the application has not taken 1 notice, " in caplog.text


def test_paces_are_checked() -> None:
    with pytest.raises(InvalidRequest, match="every"):
        Pace(every="0s")


@pytest.mark.slow
def test_the_death_of_a_node_is_told_with_the_fate_of_its_jobs(
    database: Database, server: Receiver, tmp_path: Path
) -> None:
    horae = fault_application(database.url.render_as_string(hide_password=False))
    bodies = tmp_path / BODY_LOG
    hook = Webhook(url=server.url, allow_internal=HERE)
    with closing(horae), watching(horae, targets=[hook]) as watch:
        with NodeProcess(database, tmp_path, silence=1.0) as node:
            node.ready()
            horae.jobs.start("holding", seconds=30)
            wait_until(bodies.exists)
            assert watch.look() == []
            node.kill()
            with NodeProcess(database, tmp_path, silence=1.0) as rescuer:
                rescuer.ready()
                notices = wait_until(watch.look)
        watch.deliver()
    assert {notice.alert.rule for notice in notices} == {"node_dead"}
    [event] = events(server)
    assert event.startswith("begun node_dead:")
