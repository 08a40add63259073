"""Nodes on several hosts, and a network between them and the database that fails: it loses packets in one direction or in
both, is slow, resets connections, and leaves connections half-open.

Hosts are network namespaces. Where those are not to be had, a proxy stands for the network, and the test prints why. A
proxy always stands for a network that is slow or resets connections.
"""

import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import pytest

from horae import Horae
from horae.storage.engine import Database
from tests.checker.body_log import Body, BodyLog, read
from tests.harness.applications import execute, rows, url_of
from tests.harness.chaos import Chaos
from tests.harness.checked import findings
from tests.harness.fault_application import SCHEMA, fault_application
from tests.harness.figures import figure
from tests.harness.hosts import Host, Lost, NamespaceHost, ProxyHost, why_no_namespaces
from tests.harness.network import Network
from tests.harness.node_processes import NodeProcess, wait_until
from tests.harness.pgbouncer import PgBouncer
from tests.harness.postgres import THROW_AWAY, PostgresServer

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

SILENCE: Final = 2.0
"""Seconds after which a node counts as dead; the usual limits are five times as long."""
SEED: Final = 20260101
FINISHED: Final = "SELECT 1 FROM horae_jobs WHERE id = :id AND state = 'finished'"
ALIVE: Final = "SELECT 1 FROM horae_nodes WHERE pid = :pid AND heartbeat_at > :since"
TWICE: Final = "SELECT job FROM effects GROUP BY job HAVING count(*) > 1"
ENOUGH_RESETS: Final = 10
"""How many connections are reset in each way, at least; on a busy machine that takes longer than two seconds."""
NOTICED_SOON: Final = {"tcp_keepidle": 1, "tcp_keepintvl": 1, "tcp_user_timeout": 3000}
"""How soon a pooler notices that a client is gone: seconds, and for the last one milliseconds without an answer."""


class Site(NamedTuple):
    """A host that can be cut off, and the database, as nodes reach it here and there."""

    host: Host
    database: Database
    directions: Sequence[Lost] = ("both", "answers", "requests")
    """What is lost in one test; a share where the same is tested on another site."""


@contextmanager
def namespaced(pooled: bool) -> Generator[Site]:
    """Open a site on a network namespace, with a server that it reaches."""
    with ExitStack() as stack:
        host = stack.enter_context(NamespaceHost())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="horae-access-")))
        folder.chmod(0o755)
        access = folder / "pg_hba.conf"
        access.write_text(host.access_file)
        addresses = f"127.0.0.1,{host.here}"
        server = PostgresServer(
            {**THROW_AWAY, "listen_addresses": addresses, "hba_file": str(access)}
        )
        url = migrated(stack.enter_context(server))
        if pooled:
            url = stack.enter_context(
                PgBouncer(server.port, default_pool_size=16, listen_addr=addresses, **NOTICED_SOON)
            ).url(url)
        database = stack.enter_context(closing(Database(url)))
        yield Site(host, database, ("both",)) if pooled else Site(host, database)


@contextmanager
def proxied(server: PostgresServer, pooled: bool) -> Generator[Site]:
    """Open a site behind a proxy."""
    with ExitStack() as stack:
        url, port = migrated(server), server.port
        if pooled:
            pooler = stack.enter_context(PgBouncer(server.port, default_pool_size=16))
            url, port = pooler.url(url), pooler.port
        host = ProxyHost(stack.enter_context(Network(port)))
        yield Site(host, stack.enter_context(closing(Database(url))), ("answers",))


def migrated(server: PostgresServer) -> str:
    url = server.create_database()
    with closing(Horae(url)) as horae:
        horae.migrate()
        execute(horae, SCHEMA)
    return url


POOLED: Final = pytest.param("namespace-pooled", marks=pytest.mark.nightly)
"""The same network before a pooler, whose own faults are in `test_pooler.py`."""


PROXY: Final = pytest.param("proxy", marks=pytest.mark.nightly)
"""Loses less than a namespace does; where there are none, it stands for them by day as well."""


@pytest.fixture(params=["namespace", POOLED, PROXY])
def site(request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Iterator[Site]:
    kind, _, pooled = request.param.partition("-")
    reason = why_no_namespaces() if kind == "namespace" else "to test it as well"
    if reason is None:
        opened = namespaced(bool(pooled))
    else:
        figure(f"a proxy stands for the network: {reason}")
        opened = proxied(postgres_server, bool(pooled))
    with opened as site:
        yield site


@pytest.fixture
def horae(site: Site) -> Iterator[Horae]:
    with closing(fault_application(url_of(site.database))) as horae:
        yield horae


def bodies_of(log: Path, job_id: int) -> list[Body]:
    """Return the bodies of a job, in the order in which they began."""
    return [body for body in BodyLog.of(read(log)).bodies() if body.job == job_id]


def begun_on(horae: Horae, process: NodeProcess, log: Path, *, early: bool = False) -> int:
    """Start a job until it has begun on the node of this process, and return its id."""
    while True:
        job = horae.jobs.start("obedient", early=early)
        [body] = wait_until(partial(bodies_of, log, job.id))
        if body.node == str(process.process.pid):
            return job.id
        horae.jobs.cancel(job.id)


def works_again(horae: Horae, process: NodeProcess, log: Path) -> None:
    """Wait until the node of this process, as it is registered now, sends heartbeats and has finished a job."""
    [(healed_at,)] = rows(horae, "SELECT clock_timestamp()")
    wait_until(partial(rows, horae, ALIVE, pid=process.process.pid, since=healed_at))
    while True:
        job = horae.jobs.start("threaded", seed=1)
        wait_until(partial(rows, horae, FINISHED, id=job.id))
        if bodies_of(log, job.id)[-1].node == str(process.process.pid):
            return


def test_a_node_that_is_cut_off_stops_its_bodies_before_others_run_their_jobs(
    horae: Horae, site: Site, tmp_path: Path, body_log: Path
) -> None:
    """Whatever is lost. When the node is back, it works again, and nothing was written twice."""
    with (
        NodeProcess(site.database, tmp_path, silence=SILENCE, host=site.host) as lost,
        NodeProcess(site.database, tmp_path, silence=SILENCE) as other,
    ):
        lost.ready()
        other.ready()
        time.sleep(
            SILENCE * 1.2
        )  # a node declares no other dead before it has been connected for so long
        for direction in site.directions:
            job_id = begun_on(horae, lost, body_log)
            with site.host.apart(direction):
                wait_until(partial(rows, horae, FINISHED, id=job_id))
                first, *_, last = bodies_of(body_log, job_id)
                assert first.end is not None, direction
                assert first.end < last.begin, direction
                assert last.node == str(other.process.pid), direction
            works_again(horae, lost, body_log)
        assert (lost.end(), other.end()) == (0, 0)
    assert rows(horae, TWICE) == []
    assert findings(site.database, body_log) == []
    assert not horae.audit().findings


@pytest.mark.parametrize("site", ["namespace", POOLED], indirect=True)
def test_locks_of_a_half_open_connection_hold_up_the_next_attempt_only_for_seconds(
    horae: Horae, site: Site, tmp_path: Path, body_log: Path
) -> None:
    """The server, or a pooler, ends the connection of a host that no longer answers, and so the locks of its transaction.

    The body has written a row by then whose key the next attempt writes again. The usual limit of 30 seconds is shortened
    to three.
    """
    execute(horae, "CREATE UNIQUE INDEX ON effects (job)")
    reason = why_no_namespaces()
    if reason is not None:
        pytest.skip(f"a proxy answers for the host, so no connection is half-open: {reason}")
    impatient = {"keepalives_idle": "1", "keepalives_interval": "1", "tcp_user_timeout": "3000"}
    with (
        closing(Database(site.database.url.update_query_dict(impatient))) as database,
        NodeProcess(database, tmp_path, silence=SILENCE, host=site.host) as lost,
        NodeProcess(site.database, tmp_path, silence=SILENCE) as other,
    ):
        lost.ready()
        other.ready()
        time.sleep(SILENCE * 1.2)
        job_id = begun_on(horae, lost, body_log, early=True)
        with site.host.apart():
            wait_until(partial(rows, horae, FINISHED, id=job_id), within=SILENCE + 20)
        assert lost.end() == 0
    assert rows(horae, TWICE) == []
    assert findings(site.database, body_log) == []


def has_reset(chaos: Chaos, network: Network, times: int) -> bool:
    """Cause traffic, and return whether so many connections have been reset."""
    chaos.restart_ended()
    chaos.feed()
    return network.resets >= times


@pytest.fixture
def network(postgres_server: PostgresServer) -> Iterator[Network]:
    with Network(postgres_server.port) as network:
        yield network


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_slow_network_and_one_that_resets_connections_lose_and_repeat_nothing(
    database: Database, network: Network, tmp_path: Path
) -> None:
    """200 ms for each question and answer; then each twentieth request is reset, of which half arrive; then each twentieth
    answer, in the middle.
    """
    url = database.url.set(port=network.port)
    with (
        closing(Database(url)) as apart,
        Chaos(apart, tmp_path, SEED, nodes=2, silence=SILENCE) as chaos,
    ):
        chaos.feed()
        network.delay = 0.1
        chaos.kill_quickly()
        time.sleep(2.0)
        network.delay = 0.0
        for resetting in (network.resetting, network.breaking):
            earlier = network.resets
            with resetting(0.05, Random(SEED)):
                chaos.feed()
                chaos.kill_quickly()
                time.sleep(2.0)
                wait_until(partial(has_reset, chaos, network, earlier + ENOUGH_RESETS), within=60)
        chaos.finish(restarting=True)
        figure(f"{network.resets} connections reset; {chaos.summary()}")
        assert chaos.findings(interrupted=True) == []
        assert not chaos.horae.audit().findings
