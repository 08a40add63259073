"""Applications whose live state and hints are on a Redis server: what moves there, and that losing it loses nothing."""

import asyncio
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import pytest

from horae import Horae, JobContext, JobState
from horae.api.security.actor import Actor, Role
from horae.api.stream.hub import Hub
from horae.api.stream.job_source import JobSource
from horae.api.stream.listener import StreamListener
from horae.api.stream.timing import HubTiming, JobSourceTiming
from horae.api.views.jobs import JobViews
from horae.domain.jobs.job import JobId
from horae.errors import ConfigurationError
from horae.live.database import DatabaseLiveStore
from horae.live.redis import RedisLiveStore
from horae.live.store import CancelRequest, LiveReport
from horae.runtime.components import Components
from horae.runtime.timing import RunMonitorTiming, Timing
from horae.storage.engine.database import Database
from horae.wakeup.local import LocalChannel
from horae.wakeup.postgres import PostgresChannel
from horae.wakeup.redis import RedisChannel
from tests.client.test_fork import child_does
from tests.harness.applications import counted_statements, url_of
from tests.harness.nodes import running_node, until, until_released, until_set, until_state
from tests.harness.redis import RedisServer
from tests.harness.reuse import ReusedDatabases
from tests.storage.hint_recorder import HintRecorder, work

pytestmark = pytest.mark.redis

MakeHorae = Callable[..., Horae]
MAKE_CERTIFICATE: Final = [
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-days",
    "2",
    "-subj",
    "/CN=localhost",
    "-addext",
    "subjectAltName=IP:127.0.0.1",
]
SELDOM: Final = Timing(run_monitor=RunMonitorTiming(round=60.0))
"""No round of the run monitor takes place unless a hint causes it."""


@pytest.fixture
def make(
    database: Database, redis_server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeHorae]:
    """Make an application, with live state and hints on Redis unless the settings differ."""
    monkeypatch.delenv("HORAE_REDIS", raising=False)
    with ExitStack() as opened:

        def make(**settings: Any) -> Horae:
            chosen: dict[str, Any] = {
                "redis": redis_server.url(),
                "redis_prefix": str(tmp_path),
                **settings,
            }
            return opened.enter_context(closing(Horae(url_of(database), **chosen)))

        yield make


def test_each_setting_moves_its_part(
    make: MakeHorae, redis_server: RedisServer, database: Database
) -> None:
    def parts(**settings: Any) -> tuple[type, type]:
        components = make(redis=None, **settings).components
        return type(components.live), type(components.wakeup)

    channel = LocalChannel if database.dialect == "sqlite" else PostgresChannel
    assert parts() == (DatabaseLiveStore, channel)
    assert parts(redis_live=redis_server.url()) == (RedisLiveStore, channel)
    assert parts(redis_hints=redis_server.url()) == (DatabaseLiveStore, RedisChannel)
    both = make().components
    assert (type(both.live), type(both.wakeup)) == (RedisLiveStore, RedisChannel)


async def test_progress_writes_nothing_to_the_database(make: MakeHorae) -> None:
    horae = make()
    seen = threading.Event()

    @horae.job
    def work(job: JobContext) -> None:
        for step in range(100):
            job.progress.set(step, f"step-{step % 10}")
            if step == 50:
                seen.wait(20)

    async with running_node(horae):
        with counted_statements(horae) as statements:
            job = await horae.aio.jobs.start(work)
            shown = await until_state(horae, job.id, JobState.STARTED)
            await until(lambda: horae.jobs.get(job.id).progress_percentage == 50)
            seen.set()
            await until_state(horae, job.id, JobState.FINISHED)
        await until(lambda: not vars(horae.components.live)["_published"])
    assert shown.state is JobState.STARTED
    assert [
        each
        for each in statements
        if "live" in each and not each.lstrip().upper().startswith("SELECT")
    ] == []


def seldom_polling_hub(web: Horae, node: Horae) -> Hub:
    """The event streams of a web process, which poll only when something causes it."""
    components = web.components
    source = JobSource(
        components, web.jobs, JobViews(components.database, node.registry), JobSourceTiming()
    )
    return Hub(lambda: [source], components.wakeup, components.live, HubTiming(every=60.0))


async def test_progress_is_pushed_to_event_streams(make: MakeHorae) -> None:
    node, web = make(), make()
    may_report = threading.Semaphore(0)

    @node.job
    def work(job: JobContext) -> None:
        for percentage in (30, 31, 32):
            may_report.acquire(timeout=20)
            job.progress.set(percentage)

    hub, listener = (
        seldom_polling_hub(web, node),
        StreamListener(Actor("alice", frozenset({Role.STAFF}))),
    )
    async with running_node(node):
        web.components.wakeup.subscribe(lambda _: None)
        await until(
            lambda: web.components.wakeup.connected
        )  # else the first poll would come with its begin
        job = await node.aio.jobs.start(work)
        await until_state(web, job.id, JobState.STARTED)
        hub.join(listener, None)
        await received(listener, "event: hello")  # after the first poll
        for percentage in (30, 31):
            may_report.release()
            await received(listener, f'"progress_percentage":{percentage}')
        may_report.release()
    await asyncio.to_thread(hub.close)


async def received(listener: StreamListener, text: str) -> None:
    found = b""
    while text.encode() not in found:
        taken = await listener.take(20)
        assert taken
        found += taken


async def test_a_cancel_is_pushed_to_the_body(make: MakeHorae) -> None:
    node, web = make(), make()
    begun = asyncio.Event()

    @node.job
    async def work() -> None:
        begun.set()
        await asyncio.sleep(60)

    async with running_node(node, timing=SELDOM):
        job = await node.aio.jobs.start(work)
        await until_set(begun)
        await web.aio.jobs.cancel(job.id, by="alice")
        ended = await until_released(web, job.id)
    assert (ended.state, ended.cancelled_by) == (JobState.CANCELLED, "alice")


class Bodies:
    """A body that reports 40 %, and 70 % once it may, and one that runs until it is cancelled."""

    def __init__(self, horae: Horae) -> None:
        self.begun, self.may_report, self.may_end = (
            threading.Event(),
            threading.Event(),
            threading.Event(),
        )

        @horae.job(max_count=None)
        def measured(job: JobContext) -> str:
            job.progress.set(40)
            self.begun.set()
            self.may_report.wait(20)
            job.progress.set(70)
            self.may_end.wait(20)
            return "done"

        @horae.job(max_count=None)
        async def endless() -> None:
            await asyncio.sleep(60)


async def test_a_killed_redis_loses_no_job_no_cancel_and_no_state(
    make: MakeHorae, caplog: pytest.LogCaptureFixture
) -> None:
    with RedisServer() as server:
        node, web = make(redis=server.url()), make(redis=server.url())
        bodies = Bodies(node)
        async with running_node(node):
            measured, early = [await node.aio.jobs.start(name) for name in ("measured", "endless")]
            await until_set(bodies.begun)
            await until(lambda: web.jobs.get(measured.id).progress_percentage == 40)
            await until_state(web, early.id, JobState.STARTED)
            server.kill()
            bodies.may_report.set()
            await until(lambda: web.jobs.get(measured.id).progress_percentage == 70)
            await web.aio.jobs.cancel(early.id)
            await until_released(web, early.id)
            late = await node.aio.jobs.start("endless")
            await until_state(web, late.id, JobState.STARTED)
            server.start()
            await until(lambda: server.command("EXISTS", f"{prefix_of(node)}:report:{measured.id}"))
            await web.aio.jobs.cancel(late.id)
            bodies.may_end.set()
            ended = await until_state(web, measured.id, JobState.FINISHED)
            await until_released(web, late.id)
    assert ended.result == "done"
    assert [web.jobs.get(job.id).state for job in (early, late)] == [JobState.CANCELLED] * 2
    assert (
        len(
            [
                each
                for each in caplog.records
                if (each.name, each.levelname) == ("horae.redis", "WARNING")
            ]
        )
        <= 2
    )


def test_a_node_starts_without_redis(make: MakeHorae, caplog: pytest.LogCaptureFixture) -> None:
    horae = make(redis="redis://:secret@127.0.0.1:1/0")

    @horae.job
    def work(job: JobContext) -> str:
        job.progress.set(50)
        return "done"

    with horae.node().running():
        assert horae.jobs.wait(horae.jobs.start(work).id, timeout="20s") == "done"
    assert "cannot be used" in caplog.text
    assert "secret" not in caplog.text


def prefix_of(horae: Horae) -> str:
    prefix: str = vars(horae.components.live)["_access"].prefix
    return prefix


def test_two_databases_on_one_server_do_not_mix(
    redis_server: RedisServer, migrated_sqlite: Path, tmp_path: Path
) -> None:
    keys: list[str] = []
    for name in ("one", "two"):
        shutil.copy(migrated_sqlite, tmp_path / f"{name}.db")
        with closing(Horae(f"sqlite:///{tmp_path}/{name}.db", redis=redis_server.url())) as horae:
            with closing(
                Horae(
                    f"sqlite:///{tmp_path}/../{tmp_path.name}/{name}.db", redis=redis_server.url()
                )
            ) as same:
                assert prefix_of(horae) == prefix_of(same)
            keys.append(prefix_of(horae))
    assert keys[0] != keys[1]


@pytest.mark.postgres
def test_the_prefix_is_the_same_for_each_url_of_a_database(
    reused_databases: ReusedDatabases, redis_server: RedisServer
) -> None:
    prefixes = set[str]()
    with reused_databases.one() as given:
        for url in (given, given.replace("127.0.0.1", "localhost")):
            with closing(Horae(url, redis=redis_server.url())) as horae:
                prefixes.add(prefix_of(horae))
    assert len(prefixes) == 1


@pytest.mark.postgres
def test_a_prefix_that_two_databases_share_does_not_mix_them(
    reused_databases: ReusedDatabases, redis_server: RedisServer
) -> None:
    """A cancel of the first job of one stops no job of the other."""
    shared: dict[str, Any] = {"redis": redis_server.url(), "redis_prefix": "shop"}
    with (
        reused_databases.one() as first,
        reused_databases.one() as second,
        closing(Horae(first, **shared)) as horae,
        closing(Horae(second, **shared)) as other,
    ):
        horae.components.live.request_cancel(JobId(1), CancelRequest())
        assert other.components.live.cancel_requests([JobId(1)]) == {}
        assert {prefix_of(each).partition(":")[0] for each in (horae, other)} == {"shop"}


def test_a_child_of_a_fork_uses_connections_of_its_own(make: MakeHorae) -> None:
    horae = make()

    @horae.job
    def work() -> None: ...

    job = horae.jobs.start(work)
    horae.jobs.get(job.id)
    assert child_does(lambda: horae.jobs.cancel(horae.jobs.start(work).id))
    assert horae.jobs.get(job.id).state is JobState.PENDING
    assert vars(horae.components.live)["_access"].log.failing == {}


def test_without_the_client_library_the_start_says_how_to_install_it(
    make: MakeHorae, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [
        name
        for name in sys.modules
        if name.partition(".")[0] == "redis" or "redis_access.access" in name
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigurationError, match=r"HORAE_REDIS.*pip install 'horae\[redis\]'"):
        make().open()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        (
            "redis://:secret@127.0.0.1/0?ssl_ca_certs=/ca.pem",
            "unknown option 'ssl_ca_certs'",
        ),  # not a TLS URL
        (
            "rediss://:secret@127.0.0.1/0?ssl_cert_reqs=perhaps",
            "Invalid SSL Certificate Requirements Flag: perhaps",
        ),
    ],
)
def test_an_option_that_does_not_fit_is_refused_at_the_start(
    make: MakeHorae, url: str, problem: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"is not allowed: {problem}") as caught:
        make(redis=url).open()
    assert "secret" not in str(caught.value)


def permissions_in_the_guide() -> list[str]:
    guide = (Path(__file__).parents[2] / "docs/guides/redis.md").read_text(encoding="utf-8")
    block = guide.partition("ACL SETUSER horae on >password ")[2].partition("```")[0]
    assert "+eval" in block
    return block.split()


def test_sockets_database_numbers_and_tls(make: MakeHorae, tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        [*MAKE_CERTIFICATE, "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    tls = {"tls-cert-file": str(certificate), "tls-key-file": str(key), "tls-auth-clients": "no"}
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(0o755)
    key.chmod(0o644)
    with RedisServer(tls) as server:
        server.command("CONFIG", "SET", "port", 0)
        server.command("CONFIG", "SET", "tls-port", server.port)
        server.command("ACL", "SETUSER", "horae", "on", ">pw", *permissions_in_the_guide())
        for number, url in enumerate(
            (
                f"redis://127.0.0.1:{server.port}/0",  # the port is for TLS alone
                f"unix://{server.socket}?db=1",
                f"unix://horae:pw@{server.socket}?db=2",
                f"rediss://127.0.0.1:{server.port}/3?ssl_ca_certs={certificate}",
                f"rediss://127.0.0.1:{server.port}/4",  # an authority that the system does not know
            )
        ):
            components = make(redis=url, redis_prefix="horae:here").components
            failures = vars(components.live)["_access"].log
            use(components)
            wait_for(lambda: components.wakeup.connected or "hints" in failures.failing)  # noqa: B023 - called at once
            works, failing = number in {1, 2, 3}, failures.failing
            assert (failing == {}, server.command("DBSIZE", number=number) > 0) == (works, works), (
                failing
            )


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def use(components: Components) -> None:
    """Use whatever Redis can do."""
    live, recorder = components.live, HintRecorder()
    live.publish([LiveReport(JobId(1), 1, 50), LiveReport(JobId(2), 1, 50)])
    live.request_cancel(JobId(1), CancelRequest())
    assert live.read([JobId(1)]).keys() == live.cancel_requests([JobId(1)]).keys() == {JobId(1)}
    live.forget([JobId(1)])
    components.wakeup.subscribe(recorder)
    components.wakeup.send(work(1))
    recorder.wait_until(lambda: 1 in recorder.ids())
    components.live.follow(lambda: None)()
