"""A standby is promoted under load: no acknowledged commit is lost, and nodes find the new primary by themselves."""

import os
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from sqlalchemy import text

from horae import Horae
from horae.storage.engine import Database, is_transient
from horae.storage.migrations import runner
from tests.harness.applications import rows
from tests.harness.background import Background
from tests.harness.checked import findings
from tests.harness.fault_application import SCHEMA, fault_application
from tests.harness.figures import figure
from tests.harness.node_processes import BODY_LOG, NodeProcess, wait_until
from tests.harness.postgres import THROW_AWAY, PostgresServer
from tests.harness.replication import Standby, make_synchronous, url_of_all
from tests.harness.server_faults import administer, frozen

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

KINDS: Final = ("threaded", "looped")
RECONNECTED_WITHIN: Final = 10.0
"""Seconds from the promotion until the nodes work on the new primary."""
NOTICED_WITHIN: Final = 30.0
"""The same if nothing but silence shows that the primary is lost."""
SILENCE: Final = 3.0
"""Seconds without an answer after which a node counts as dead here."""
BEFORE: Final = 40
"""Jobs that have been acknowledged when the primary fails."""
PATIENCE: Final = 60.0
"""Seconds for what must happen some time: the load, and the end of all jobs."""
PAUSE: Final = 0.02
"""Seconds between two starts of jobs."""

BEATING: Final = "SELECT pid FROM horae_nodes WHERE heartbeat_at > :since"
ACTIVE: Final = "SELECT count(*) FROM horae_jobs WHERE finished_at IS NULL OR node_id IS NOT NULL"
Fault: TypeAlias = Callable[[PostgresServer], AbstractContextManager[None]]


class Callers(Background):
    """Start jobs one by one on a thread, and remember which starts the server has acknowledged."""

    def __init__(self, horae: Horae) -> None:
        super().__init__()
        self._horae = horae
        self.acknowledged: list[int] = []
        self.failed = 0
        self.unexpected: list[BaseException] = []

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self._horae.components.database.hang_up()  # a call to a primary that stands still ends after 20 s only
        super().__exit__(*error)

    def __str__(self) -> str:
        """Return the figures in one line."""
        return f"{len(self.acknowledged)} starts acknowledged, {self.failed} failed"

    def work(self) -> None:
        """Start jobs of both kinds by turns."""
        number = 0
        while not self.done.wait(PAUSE):
            number += 1
            try:
                self.acknowledged.append(self._horae.jobs.start(KINDS[number % 2], seed=number).id)
            except Exception as error:  # noqa: BLE001 - told apart here
                self.failed += 1
                if not is_transient(error):
                    self.unexpected.append(error)


@contextmanager
def killed(primary: PostgresServer) -> Generator[None]:
    """The machine of the primary restarts, and does not come back."""
    primary.kill()
    yield


@contextmanager
def demoted(primary: PostgresServer) -> Generator[None]:
    """Whoever manages the servers has made the primary read-only; it is reachable and is not stopped."""
    with administer(primary.url()) as connection:
        connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        connection.execute("SELECT pg_reload_conf()")
    yield


@contextmanager
def cluster() -> Generator[tuple[PostgresServer, Standby, str]]:
    """A primary and its synchronous standby with a migrated database, and the URL of both."""
    with PostgresServer(THROW_AWAY) as primary:
        url = primary.create_database()
        with closing(Database(url)) as database:
            runner.upgrade(database)
            database.transact(lambda connection: connection.execute(text(SCHEMA)))
        with Standby(primary) as standby:
            make_synchronous(primary)
            yield primary, standby, url_of_all(url, primary, standby)


FAILOVERS: Final[list[tuple[Fault, float]]] = [
    (killed, RECONNECTED_WITHIN),
    (demoted, RECONNECTED_WITHIN),
    *([(frozen, NOTICED_WITHIN)] if "TEST_FAILOVERS" in os.environ else []),
]
"""What happens to the primary. The last one takes long, and so belongs to the acceptance run only."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("fault", "within"), FAILOVERS)
def test_acknowledged_jobs_survive_and_nodes_find_the_promoted_standby(
    fault: Fault, within: float, tmp_path: Path
) -> None:
    with cluster() as (primary, standby, url), ExitStack() as stack:
        horae = stack.enter_context(closing(fault_application(url)))
        database = horae.components.database
        nodes = [
            stack.enter_context(NodeProcess(database, tmp_path, silence=SILENCE)) for _ in range(2)
        ]
        for node in nodes:
            node.ready()
        with Callers(horae) as callers:
            wait_until(lambda: len(callers.acknowledged) >= BEFORE, PATIENCE)
            stack.enter_context(fault(primary))
            standby.promote()
            promoted = time.monotonic()
            seen = stack.enter_context(
                closing(fault_application(standby.url(database.url.database or "")))
            )
            [(since,)] = rows(seen, "SELECT clock_timestamp()")
            probe = seen.jobs.start("looped", seed=0)
            pids = {node.process.pid for node in nodes}
            wait_until(lambda: {pid for (pid,) in rows(seen, BEATING, since=since)} >= pids)
            seen.jobs.wait(probe.id, timeout="30s")
            back = time.monotonic() - promoted
        wait_until(lambda: rows(seen, ACTIVE) == [(0,)], PATIENCE)
        states = dict(rows(seen, "SELECT id, state FROM horae_jobs"))
        assert callers.unexpected == []
        assert [job for job in callers.acknowledged if states.get(job) != "finished"] == []
        assert findings(seen.components.database, tmp_path / BODY_LOG) == []
        assert seen.audit().findings == []
    figure(f"{fault.__name__}: {callers}, nodes back {back:.2f} s after the promotion")
    assert back < within
