"""What only LISTEN and NOTIFY have to survive."""

import errno
import logging
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from logging.handlers import QueueHandler
from queue import Queue
from typing import Any, Final, Protocol

import psycopg
import pytest
from sqlalchemy import URL, make_url

from horae import receiving_thread
from horae.wakeup import postgres
from horae.wakeup.payload import encode
from horae.wakeup.postgres import PostgresChannel, PostgresTiming
from tests.harness.network import Network
from tests.harness.operating_system import free_loopback_port
from tests.harness.postgres import PostgresServer
from tests.storage.hint_recorder import PATIENCE, HintRecorder, ended, work
from tests.storage.pooler import Pooler

pytestmark = pytest.mark.postgres


USUAL: Final = PostgresTiming()


class Open(Protocol):
    """Opens a channel, which is closed after the test."""

    def __call__(self, url: URL, timing: PostgresTiming = USUAL) -> PostgresChannel: ...


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[URL]:
    url = postgres_server.create_database()
    yield make_url(url)
    postgres_server.drop_database(url)


@pytest.fixture
def session(url: URL) -> Iterator[psycopg.Connection]:
    """Somebody else's."""
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with closing(psycopg.connect(plain, autocommit=True)) as session:
        yield session


@pytest.fixture
def channel_on() -> Iterator[Open]:
    with ExitStack() as channels:
        yield lambda url, timing=USUAL: channels.enter_context(
            closing(PostgresChannel(url, timing=timing))
        )


def test_garbage_is_ignored(url: URL, channel_on: Open, session: psycopg.Connection) -> None:
    recorder = HintRecorder.on(channel_on(url))
    for payload in (
        "",
        "garbage",
        "tag [",
        'tag {"kind":"party"}',
        'tag {"kind":"work","ids":["1"]}',
        "tag " + "[" * 7000,
    ):
        session.execute("SELECT pg_notify('horae', %s)", (payload,))
    channel_on(url).send(work(2))
    recorder.wait_for(work(2))
    assert recorder.received == [work(2)]


def test_lost_connections_are_made_again(
    url: URL, channel_on: Open, session: psycopg.Connection
) -> None:
    here, there = channel_on(url), channel_on(url)
    own, other = HintRecorder.on(here), HintRecorder.on(there)
    here.send(work(1))
    other.wait_for(work(1))
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'horae hints' AND datname = current_database()"
    )
    own.wait_until_listening()
    other.wait_until_listening()
    assert here.connected
    assert there.connected
    here.send(work(2))  # its sending connection is gone, too
    other.wait_for(work(2))
    there.send(ended(3))
    own.wait_for(ended(3))
    assert own.received == [work(2), ended(3)]


def test_without_a_server_hints_stay_in_the_process(
    channel_on: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    retries = threading.Semaphore(0)

    def soon(*_: object) -> timedelta:
        retries.release()
        return timedelta(milliseconds=1)

    monkeypatch.setattr(receiving_thread, "retry_delay", soon)
    channel = channel_on(
        make_url(f"postgresql+psycopg://nobody@127.0.0.1:{free_loopback_port()}/none")
    )
    recorder = HintRecorder()
    channel.subscribe(recorder)
    for id_ in (1, 2, 3):
        channel.send(work(id_))
        recorder.wait_for(work(id_))
    for _ in range(3):
        assert retries.acquire(timeout=PATIENCE)
    assert not channel.connected
    channel.close()
    assert caplog.text.count("cannot receive hints") == 1


def test_hints_arrive_again_after_a_lack_of_descriptors(
    url: URL, channel_on: Open, session: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = HintRecorder.on(channel_on(url))
    lacking, refused, make = threading.Event(), threading.Semaphore(0), selectors.DefaultSelector

    def take_one() -> selectors.BaseSelector:
        if lacking.is_set():
            refused.release()
            raise OSError(errno.EMFILE, "too many open files")
        return make()

    def connect(options: dict[str, Any]) -> psycopg.Connection:
        with closing(take_one()):
            return once(options)

    once = postgres._connect  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # what takes descriptors
    monkeypatch.setattr(postgres, "_connect", connect)
    monkeypatch.setattr(selectors, "DefaultSelector", take_one)
    monkeypatch.setattr(receiving_thread, "retry_delay", lambda *_: timedelta(milliseconds=1))
    lacking.set()
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'horae hints' AND datname = current_database()"
    )
    for _ in range(3):
        assert refused.acquire(timeout=PATIENCE)
    lacking.clear()
    recorder.wait_until_listening()


@pytest.fixture
def warnings() -> Iterator[Queue[logging.LogRecord]]:
    """What the channels of this test have to say."""
    messages: Queue[logging.LogRecord] = Queue()
    handler = QueueHandler(messages)
    logger = logging.getLogger(postgres.__name__)
    logger.addHandler(handler)
    yield messages
    logger.removeHandler(handler)


@pytest.mark.slow
def test_both_directions_survive_a_restart_of_the_server(
    channel_on: Open, warnings: Queue[logging.LogRecord]
) -> None:
    with PostgresServer() as server:
        url = make_url(server.url())
        listener, sender = channel_on(url), channel_on(url)
        recorder = HintRecorder.on(listener)
        sender.send(work(1))
        recorder.wait_for(work(1))
        server.halt("immediate")
        assert "cannot receive hints" in warnings.get(timeout=PATIENCE).getMessage()
        assert not listener.connected
        sender.send(work(2))
        server.start()
        recorder.wait_until_listening()
        sender.send(
            work(3)
        )  # perhaps with the one that waits; or that one came while nobody listened
        recorder.wait_until(lambda: 3 in recorder.ids())
        listener.close()
        sender.close()


def test_a_pooler_that_swallows_notifications_is_found_out(url: URL, channel_on: Open) -> None:
    direct = HintRecorder.on(channel_on(url))
    with Pooler(url.port or 0) as pooler:
        through = url.set(port=pooler.port).update_query_dict(
            {"sslmode": "disable", "gssencmode": "disable"}
        )
        channel = channel_on(through, PostgresTiming(proof_within=0.25))
        recorder = HintRecorder()
        channel.subscribe(recorder)
        for _ in range(3):  # LISTEN, its proof, and another try because that one has failed
            assert pooler.connections.acquire(timeout=PATIENCE)
        assert not channel.connected
        channel.send(work(1))
        direct.wait_for(work(1))
        recorder.wait_for(work(1))
        assert recorder.received == [work(1)]

        pooler.swallows = False
        recorder.wait_until_listening()
        assert channel.connected
        channel.close()


def test_silence_is_found_out_and_ends_with_new_connections(
    url: URL, channel_on: Open, session: psycopg.Connection
) -> None:
    timing = PostgresTiming(silence=0.05, answer_within=1.5)
    assert url.port is not None
    with Network(url.port) as network:
        channel = channel_on(url.set(port=network.port), timing)
        recorder, other = HintRecorder.on(channel), HintRecorder.on(channel_on(url))
        channel.send(work(1))
        other.wait_for(work(1))
        network.silence()
        channel.send(work(2))
        wait_until(lambda: not channel.connected)
        network.cut()
        network.resume()
        wait_until(lambda: channel.connected)
        other.wait_until(
            lambda: 2 in other.ids()
        )  # with job 1 again if the answer about it was lost
        session.execute("SELECT pg_notify('horae', %s)", (encode("else", work(3), 1000),))
        recorder.wait_for(work(3))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_nothing_is_sent_inside_a_transaction_of_the_user(
    url: URL, channel_on: Open, session: psycopg.Connection
) -> None:
    """A notification inside it would come at its commit, and hold a lock of the whole server then."""
    recorder = HintRecorder.on(channel_on(url))
    with session.transaction():
        session.execute("CREATE TABLE anything ()")
        channel_on(url).send(work(1))
        recorder.wait_for(work(1))


def test_close_does_not_wait_for_a_retry(channel_on: Open) -> None:
    channel = channel_on(
        make_url(f"postgresql+psycopg://nobody@127.0.0.1:{free_loopback_port()}/none")
    )
    channel.subscribe(HintRecorder())
    threads = [thread for thread in threading.enumerate() if thread.name == "horae-hints-receiver"]
    channel.close()
    assert [thread for thread in threads if thread.is_alive()] == []


def test_the_connection_for_sending_is_closed_by_the_thread_that_uses_it(
    url: URL, channel_on: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[psycopg.Connection] = []

    def connect(options: dict[str, Any]) -> psycopg.Connection:
        made.append(once(options))
        return made[-1]

    once = postgres._connect  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # all that it connects
    monkeypatch.setattr(postgres, "_connect", connect)
    channel = channel_on(url)
    channel.send(work(1))
    channel.close()
    assert [connection.closed for connection in made] == [True]
