"""One contract for every wake-up channel; two channels on one medium stand for two processes."""

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import make_url

from horae.redis_access.access import RedisAccess
from horae.wakeup.channel import Hint, HintKind, WakeupChannel
from horae.wakeup.local import LocalChannel
from horae.wakeup.postgres import PostgresChannel
from horae.wakeup.redis import RedisChannel
from tests.client.test_fork import child_does
from tests.harness.postgres import PostgresServer
from tests.storage.hint_recorder import PATIENCE, HintRecorder, cancel, ended, work

MakeChannel = Callable[[], WakeupChannel]

LOCAL: Final = "LocalChannel({!r})"
POSTGRES: Final = "PostgresChannel(sqlalchemy.make_url({!r}))"
REDIS: Final = "RedisChannel(RedisAccess({!r}, {!r}))"

ECHOING_PROCESS: Final = """
import sys, threading, sqlalchemy
from horae.wakeup.channel import Hint, HintKind
from horae.wakeup.local import LocalChannel
from horae.wakeup.postgres import PostgresChannel
from horae.wakeup.redis import RedisChannel
from horae.redis_access.access import RedisAccess
from tests.storage.hint_recorder import HintRecorder

channel = {channel}
recorder = HintRecorder.on(channel)
print("ready", flush=True)
recorder.wait_until(lambda: bool(recorder.ids()))
channel.send(Hint(HintKind.ENDED, recorder.received[-1].job_ids))
channel.close()
"""


@pytest.fixture(
    params=[
        "local",
        pytest.param("redis", marks=pytest.mark.redis),
        pytest.param("postgresql", marks=pytest.mark.postgres),
    ]
)
def medium(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The Python expression that makes a channel, for this process or for another."""
    if request.param == "local":
        yield LOCAL.format(str(tmp_path.stat().st_ino))
        return
    if request.param == "redis":
        yield REDIS.format(request.getfixturevalue("redis_server").url(), f"test:{tmp_path}")
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.create_database()
    yield POSTGRES.format(url)
    server.drop_database(url)


@pytest.fixture
def make(medium: str, tmp_path: Path) -> Iterator[MakeChannel]:
    with ExitStack() as channels:

        def make() -> WakeupChannel:
            return channels.enter_context(closing(made()))

        def made() -> WakeupChannel:
            if medium.startswith("Local"):
                return LocalChannel(str(tmp_path.stat().st_ino))
            if medium.startswith("Redis"):
                url, prefix = medium.split("'")[1::2]
                return RedisChannel(RedisAccess(url, prefix))
            return PostgresChannel(make_url(medium.split("'")[1]))

        yield make


@pytest.mark.parametrize(
    "hint", [work(1), cancel(2, 3), ended(2**63 - 1), work(), cancel(), ended()]
)
def test_a_hint_reaches_another_process(make: MakeChannel, hint: Hint) -> None:
    recorder = HintRecorder.on(make())
    make().send(hint)
    recorder.wait_for(hint)
    assert recorder.received == [hint]


def test_a_hint_reaches_everybody_once_the_sender_too(make: MakeChannel) -> None:
    here, there = make(), make()
    own, other = HintRecorder.on(here), HintRecorder.on(there)
    here.send(work(1))
    other.wait_for(work(1))
    there.send(ended(2))  # behind whatever of the first one is still on its way
    own.wait_until(lambda: own.received[-1:] == [ended(2)])
    assert own.received == [work(1), ended(2)]


def test_all_listeners_of_a_process_are_called(make: MakeChannel) -> None:
    here = make()
    first, second = HintRecorder.on(here), HintRecorder()
    here.subscribe(second)
    make().send(work(1))
    first.wait_for(work(1))
    second.wait_for(work(1))


def test_waiting_hints_are_merged(make: MakeChannel) -> None:
    recorder = HintRecorder.on(make())
    sender = make()
    for id_ in range(1, 201):
        sender.send(work(id_))
    recorder.wait_until(lambda: len(recorder.ids()) == 200)
    assert len(recorder.received) < 200


def test_more_ids_than_fit_are_left_out(make: MakeChannel) -> None:
    recorder = HintRecorder.on(make())
    make().send(ended(*range(2**62, 2**62 + 900)))
    recorder.wait_for(ended())


def test_a_listener_that_raises_affects_no_other(
    make: MakeChannel, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = make(), make()

    def fail(hint: Hint) -> None:
        raise ValueError(hint)

    HintRecorder.on(here)
    here.subscribe(fail)
    recorder = HintRecorder()
    here.subscribe(recorder)  # so it is called after the one that raises
    for sender in (here, there):
        sender.send(work(1))
        recorder.wait_for(work(1))
        sender.send(work(2))
        recorder.wait_for(work(2))
    assert "a listener failed" in caplog.text


def test_a_removed_listener_gets_no_hints(make: MakeChannel) -> None:
    here, sender = make(), make()
    stays, leaves = HintRecorder.on(here), HintRecorder()
    leave = here.subscribe(leaves)
    leave()
    leave()
    sender.send(work(1))
    stays.wait_for(work(1))
    sender.send(work(2))  # whoever hears it has called everybody for the first one
    stays.wait_for(work(2))
    assert leaves.is_empty()


def test_the_same_function_may_listen_twice_and_leave_once(make: MakeChannel) -> None:
    here, sender = make(), make()
    recorder = HintRecorder.on(here)
    here.subscribe(recorder)()
    sender.send(work(1))
    recorder.wait_for(work(1))
    sender.send(work(2))
    recorder.wait_for(work(2))
    assert recorder.received == [work(1), work(2)]


def test_close_sends_what_waits(make: MakeChannel) -> None:
    recorder = HintRecorder.on(make())
    before = set(threading.enumerate())
    sender = make()
    for id_ in range(1, 101):
        sender.send(work(id_))
    sender.close()
    assert set(threading.enumerate()) <= before
    recorder.wait_until(lambda: len(recorder.ids()) == 100)


def test_a_closed_channel_is_silent_and_harmless(make: MakeChannel) -> None:
    closed, other = make(), make()
    HintRecorder.on(closed)
    recorder = HintRecorder.on(other)
    closed.close()
    closed.close()
    assert not closed.connected
    closed.send(work(1))
    closed.subscribe(HintRecorder())()
    other.send(work(2))
    recorder.wait_for(work(2))
    assert recorder.received == [work(2)]


def test_a_listener_may_send_subscribe_and_close(make: MakeChannel) -> None:
    here, there = make(), make()
    closed = threading.Event()

    def answer(hint: Hint) -> None:
        if hint == work(1):
            here.subscribe(HintRecorder())
            here.send(ended(1))
            here.close()
            closed.set()

    HintRecorder.on(here)
    here.subscribe(answer)
    recorder = HintRecorder.on(there)
    there.send(work(1))
    assert closed.wait(PATIENCE)
    recorder.wait_for(ended(1))


def test_no_connection_is_opened_before_it_is_needed(make: MakeChannel) -> None:
    before = set(threading.enumerate())
    channel = make()
    assert not channel.connected
    assert set(threading.enumerate()) == before


def test_a_channel_is_connected_while_others_can_reach_it(make: MakeChannel) -> None:
    channel = make()
    HintRecorder.on(channel)
    assert channel.connected
    channel.close()
    assert not channel.connected


def test_many_threads_may_send(make: MakeChannel) -> None:
    recorder = HintRecorder.on(make())
    sender = make()

    def send(start: int) -> None:
        for id_ in range(start, start + 25):
            sender.send(work(id_))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(send, range(1, 201, 25)))
    recorder.wait_until(lambda: len(recorder.ids()) == 200)


def test_hints_cross_processes(make: MakeChannel, medium: str) -> None:
    channel = make()
    recorder = HintRecorder.on(channel)
    script = ECHOING_PROCESS.format(channel=medium)
    command = [sys.executable, "-c", script]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        channel.send(work(7, 8))
        recorder.wait_for(ended(7, 8))
        assert process.wait(PATIENCE) == 0


def test_every_kind_goes_at_once_in_one_batch(
    make: MakeChannel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    recorder = HintRecorder.on(make())
    sender = make()
    for kind in HintKind:
        sender.send(Hint(kind))
    recorder.wait_until(lambda: {hint.kind for hint in recorder.received} == set(HintKind))
    assert caplog.text == ""


def test_a_process_gets_the_hints_of_those_that_it_has_forked(make: MakeChannel) -> None:
    channel = make()
    recorder = HintRecorder.on(channel)

    def send() -> None:
        channel.send(ended(7))
        channel.close()

    assert child_does(send)
    recorder.wait_for(ended(7))
    assert recorder.received == [ended(7)]
