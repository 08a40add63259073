"""What Redis does to live state and hints when it fails, and that both go on without it and return to it."""

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest
from redis.client import Pipeline

from horae.domain.backoff import Backoff
from horae.domain.jobs.job import JobId
from horae.live.redis import RedisLiveStore, RedisLiveTiming
from horae.live.store import CancelRequest, LiveReport
from horae.redis_access.access import UNUSABLE, RedisAccess, RedisTiming
from horae.wakeup.redis import RedisChannel
from tests.harness.network import Network
from tests.harness.operating_system import free_loopback_port
from tests.harness.redis import RedisServer
from tests.simulation.replaced import SimulatedLiveStore
from tests.storage.hint_recorder import PATIENCE, HintRecorder, work

FIRST: Final = JobId(1)
PASSWORD: Final = "of-the-test"
IMPATIENT: Final = RedisTiming(connect_within=0.5, answer_within=0.5, silence=0.1)
QUICK: Final = RedisLiveTiming(
    retry=Backoff(base=timedelta(seconds=1), cap=timedelta(seconds=1)),
    check_writes_every=0.0,
    read_both_for=2.0,
)
ALICE: Final = CancelRequest("alice", forced=True)

FOREIGN: Final = (
    *(
        "",
        "x",
        "1",
        "1 50",
        "1 50 [1]",
        "9 9 9",
        "-1 50 null",
        "1 50 \udcff",
        '1 999 "x"',
        '1 50 "\\ud800"',
    ),
    *(
        "1 50 " + "[" * 100_000,
        '1 50 "' + "x" * 2_000_000 + '"',
        '1 50 "pending"',
        '1 50 "a\\u001b[31m"',
    ),
)
"""Reports that no body can have made."""

pytestmark = pytest.mark.redis

Fault = Callable[[RedisServer, Network], AbstractContextManager[None]]


@contextmanager
def killed(server: RedisServer, _: Network) -> Generator[None]:
    server.kill()
    yield
    server.start()


@contextmanager
def frozen(server: RedisServer, _: Network) -> Generator[None]:
    with server.frozen():
        yield


@contextmanager
def slow(server: RedisServer, _: Network) -> Generator[None]:
    server.command("CLIENT", "PAUSE", 60_000, "WRITE")  # all commands that write wait
    yield
    server.command("CLIENT", "UNPAUSE")


@contextmanager
def another_password(server: RedisServer, _: Network) -> Generator[None]:
    server.command("CONFIG", "SET", "requirepass", "changed")
    for kind in ("normal", "pubsub"):
        server.command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes", password="changed")
    yield
    server.command("CONFIG", "SET", "requirepass", PASSWORD, password="changed")


@contextmanager
def out_of_memory(server: RedisServer, _: Network) -> Generator[None]:
    server.command("CONFIG", "SET", "maxmemory", 1)
    yield
    server.command("CONFIG", "SET", "maxmemory", 0)


@contextmanager
def read_only_replica(server: RedisServer, _: Network) -> Generator[None]:
    server.command("REPLICAOF", "127.0.0.1", free_loopback_port())
    yield
    server.command("REPLICAOF", "NO", "ONE")


@contextmanager
def unreachable(_: RedisServer, network: Network) -> Generator[None]:
    network.refuse()
    network.cut()
    yield
    network.resume()


@contextmanager
def half_open(_: RedisServer, network: Network) -> Generator[None]:
    network.silence()
    yield
    network.cut()
    network.resume()


AWAY: Final = [killed, frozen, another_password, unreachable, half_open]
"""Redis does not answer, or refuses everything."""
WRITES_REFUSED: Final = [out_of_memory, read_only_replica, slow]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer({"requirepass": PASSWORD}) as server:
        yield server


@pytest.fixture
def network(server: RedisServer) -> Iterator[Network]:
    server.command("FLUSHALL")
    with Network(server.port) as network:
        yield network


@pytest.fixture
def access(network: Network) -> Iterator[Callable[[], RedisAccess]]:
    """The access of one process after the other, through the network."""
    url = f"redis://:{PASSWORD}@127.0.0.1:{network.port}/1"
    with ExitStack() as opened:
        yield lambda: opened.enter_context(closing(RedisAccess(url, "test", IMPATIENT)))


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def percentage(store: RedisLiveStore) -> int | None:
    report = store.read([FIRST]).get(FIRST)
    return None if report is None else report.progress_percentage


@pytest.mark.parametrize("fault", [*AWAY, *WRITES_REFUSED], ids=lambda fault: fault.__name__)
def test_live_state_moves_to_the_database_and_back(
    server: RedisServer,
    network: Network,
    access: Callable[[], RedisAccess],
    fault: Fault,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    beside = SimulatedLiveStore()
    node_access, web_access = access(), access()
    node, web = (RedisLiveStore(each, beside, QUICK) for each in (node_access, web_access))
    node.publish([LiveReport(FIRST, 1, 50)])
    assert percentage(web) == 50
    assert beside.reports == {}
    with fault(server, network):
        assert node.cancel_requests([FIRST]) == {}
        assert percentage(web) == 50  # the node has moved what it had published before
        node.publish([LiveReport(FIRST, 1, 60)])
        assert percentage(web) == 60
        web.request_cancel(FIRST, ALICE)
        assert node.cancel_requests([FIRST]) == {FIRST: ALICE}
    until(
        lambda: (
            node.cancel_requests([FIRST])
            and percentage(web) == 60
            and not failing(node_access, web_access)
        )
    )
    until(lambda: percentage(RedisLiveStore(web_access, SimulatedLiveStore())) == 60)
    node.forget([FIRST])
    assert (beside.reports, beside.requests, percentage(web)) == ({}, {}, None)
    assert len(warnings(caplog)) == 2  # one of each process
    assert all("cannot be used for live state" in each for each in warnings(caplog))
    assert caplog.text.count("can be used again") == 2
    assert PASSWORD not in caplog.text


@pytest.mark.parametrize(
    "missing", ["+eval", "+get", "+set", "+mget", "+exists", "+del", "+publish", "&*", "~*"]
)
def test_a_user_that_may_do_only_a_part_keeps_all_of_it_in_the_database(
    server: RedisServer, access: Callable[[], RedisAccess], missing: str
) -> None:
    """Else a reader, which needs other commands than a writer, would look where nothing is."""
    server.command("ACL", "SETUSER", "partly", "reset", "on", f">{PASSWORD}", "~*", "&*", "+@all")
    lost = {"&": ["resetchannels"], "~": ["resetkeys"]}.get(missing[0], [missing.replace("+", "-")])
    server.command("ACL", "SETUSER", "partly", *lost)
    beside, url = SimulatedLiveStore(), f"unix://partly:{PASSWORD}@{server.socket}"
    with (
        closing(RedisAccess(url, "test", IMPATIENT)) as node,
        closing(RedisAccess(url, "test", IMPATIENT)) as web,
    ):
        RedisLiveStore(node, beside, QUICK).publish([LiveReport(FIRST, 1, 50)])
        assert percentage(RedisLiveStore(web, beside, QUICK)) == 50
        assert node.examine().refuses_writes


def failing(*each: RedisAccess) -> bool:
    return any(access.log.failing for access in each)


@pytest.mark.parametrize("fault", AWAY, ids=lambda fault: fault.__name__)
def test_hints_arrive_again_after_a_failure(
    server: RedisServer,
    network: Network,
    access: Callable[[], RedisAccess],
    fault: Fault,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with closing(RedisChannel(access())) as here, closing(RedisChannel(access())) as there:
        recorder = HintRecorder.on(here)
        there.send(work(1))
        recorder.wait_for(work(1))
        with fault(server, network):
            until(lambda: not here.connected)
            there.send(work(2))
        recorder.wait_until(lambda: work() in recorder.received)  # anything may have been missed
        until(lambda: here.connected)
        there.send(work(3))
        recorder.wait_until(lambda: 3 in recorder.ids())
    assert len(warnings(caplog)) <= 2
    assert PASSWORD not in caplog.text


def test_one_lost_connection_closes_the_idle_ones(
    server: RedisServer, access: Callable[[], RedisAccess]
) -> None:
    """Else each of them would fail one more call after the failure is over."""
    process, together = access(), threading.Barrier(4)

    def wait(_: int) -> None:
        together.wait()
        process.run_pipeline(lambda pipeline: pipeline.blpop("nothing", timeout=0.1))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(wait, range(4)))
    assert server.command("CLIENT", "LIST").count("name=horae") > 1
    with server.frozen(), pytest.raises(UNUSABLE):
        process.run_pipeline(Pipeline.ping)
    until(lambda: "name=horae" not in server.command("CLIENT", "LIST"))


def test_a_flush_is_repaired_in_the_next_round(
    server: RedisServer, access: Callable[[], RedisAccess]
) -> None:
    beside = SimulatedLiveStore()
    node, web = RedisLiveStore(access(), beside, QUICK), RedisLiveStore(access(), beside, QUICK)
    node.publish([LiveReport(FIRST, 1, 50, "half")])
    web.request_cancel(FIRST, ALICE)
    server.command("FLUSHALL")
    assert node.cancel_requests([FIRST]) == {}
    assert web.read([FIRST]) == {FIRST: LiveReport(FIRST, 1, 50, "half")}
    assert node.cancel_requests([FIRST], thorough=True) == {FIRST: ALICE}
    node.forget([FIRST])
    assert beside.requests == {}


@pytest.mark.parametrize("answers", [True, False])
def test_a_job_that_ends_while_redis_is_slow_is_forgotten(
    server: RedisServer,
    access: Callable[[], RedisAccess],
    monkeypatch: pytest.MonkeyPatch,
    *,
    answers: bool,
) -> None:
    """A look whether its report is still there does not write it again."""
    beside, connection = SimulatedLiveStore(), access()
    node = RedisLiveStore(connection, beside, QUICK)
    node.publish([LiveReport(FIRST, 1, 50)])
    run = connection.run_pipeline

    def slowly(fill: Callable[[Pipeline], object]) -> list[Any]:
        monkeypatch.setattr(connection, "run_pipeline", run)
        node.forget([FIRST])
        if not answers:
            raise TimeoutError
        return run(fill)

    monkeypatch.setattr(connection, "run_pipeline", slowly)
    node.cancel_requests([JobId(2)])
    assert server.command("EXISTS", "test:report:1", number=1) == 0
    assert beside.reports == {}


def test_entries_expire_unless_they_are_written_again(
    server: RedisServer, access: Callable[[], RedisAccess]
) -> None:
    node = RedisLiveStore(
        access(), SimulatedLiveStore(), RedisLiveTiming(expires_after=60, refresh_every=0.0)
    )
    node.publish([LiveReport(FIRST, 1, 50)])
    node.request_cancel(FIRST, ALICE)
    lives = [server.command("TTL", f"test:{kind}:1", number=1) for kind in ("report", "cancel")]
    assert all(0 < life <= 60 for life in lives)
    server.command("EXPIRE", "test:report:1", 5, number=1)
    node.cancel_requests([FIRST])
    assert server.command("TTL", "test:report:1", number=1) > 5


def test_entries_of_other_programs_are_ignored_and_overwritten(
    server: RedisServer, access: Callable[[], RedisAccess], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    beside = SimulatedLiveStore()
    store, key = RedisLiveStore(access(), beside, QUICK), "test:report:1"
    foreign: list[tuple[object, ...]] = [
        ("RPUSH", key, "1 50 null"),
        ("HSET", key, "a", "b"),
        ("SETBIT", key, 99_999, 1),
    ]
    foreign += [("SET", key, entry.encode(errors="surrogateescape")) for entry in FOREIGN]
    foreign += [("SET", key, Random(seed).randbytes(seed)) for seed in range(30)]
    for command in foreign:
        server.command("DEL", key, number=1)
        server.command(*command, number=1)
        assert store.read([FIRST]) == {}
        store.publish([LiveReport(FIRST, 1, 50)])
        assert percentage(store) == 50
    assert [
        "entries for live state that Horae cannot have written" in each for each in warnings(caplog)
    ] == [True]
    assert beside.reports == {}


def test_a_request_to_cancel_that_only_redis_has_cancels_nothing(
    server: RedisServer, access: Callable[[], RedisAccess]
) -> None:
    beside = SimulatedLiveStore()
    store = RedisLiveStore(access(), beside, QUICK)
    for entry in ("1", '1 "root"', "nonsense", b"\xff"):
        server.command("SET", "test:cancel:1", entry, number=1)
        assert store.cancel_requests([FIRST]) == {}
    beside.request_cancel(FIRST, ALICE)
    assert store.cancel_requests([FIRST]) == {FIRST: ALICE}


def test_progress_is_pushed_to_subscribers(access: Callable[[], RedisAccess]) -> None:
    node, web = (
        RedisLiveStore(access(), SimulatedLiveStore()),
        RedisLiveStore(access(), SimulatedLiveStore()),
    )
    calls: list[int] = []
    ends = [web.follow(lambda: calls.append(1)), web.follow(lambda: calls.append(2))]
    until(lambda: 1 in calls)  # reports may have been missed before the subscription began
    calls.clear()
    node.publish([LiveReport(FIRST, 1, 50)])
    until(lambda: calls == [1, 2])
    ends[0]()
    node.publish([LiveReport(FIRST, 1, 51)])
    until(lambda: calls == [1, 2, 2])
    ends[1]()
    ends[1]()
    web.close()
