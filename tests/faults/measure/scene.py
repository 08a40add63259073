"""A database, nodes as `horae run` starts them, and the rules that must hold after a fault."""

import os
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy import Executable, make_url, text

from horae import Horae
from horae.storage.engine import Database
from horae.storage.migrations.runner import upgrade
from tests.checker.body_log import Body, BodyLog, read
from tests.faults.measure import bodies as application
from tests.harness.applications import declare_as
from tests.harness.body_log import LOG_VARIABLE
from tests.harness.checked import findings
from tests.harness.clocks import CONTROL_VARIABLE, ProcessControl, ServerClock
from tests.harness.forked import ForkedProcess
from tests.harness.network import Network
from tests.harness.node_process import SILENCE_VARIABLE
from tests.harness.node_processes import BODY_LOG, wait_until
from tests.harness.pgbouncer import PgBouncer
from tests.harness.postgres import PostgresServer

ALL: Final = text("SELECT count(*) FROM horae_jobs")
FAILED: Final = text("SELECT id FROM horae_jobs WHERE state = 'failed'")
ACTIVE: Final = text(
    "SELECT count(*) FROM horae_jobs WHERE finished_at IS NULL OR node_id IS NOT NULL"
)
GRACE: Final = 3.0
"""Seconds that bodies have after a node was told to end."""
MAIN_NODES: Final = 2
"""Nodes that work for the load."""
AFTER_GRACE: Final = 5.0
"""Seconds after the grace period within which such a node must have ended, also without a database."""


@dataclass
class Verdict:
    """What came of the jobs; `never_begun`: how many of those that failed had not begun, and so should not have failed.

    `findings`: what the outside checker found.
    """

    jobs: int
    failed: int
    never_begun: int
    findings: list[str]

    def __str__(self) -> str:
        return f"{self.jobs} jobs: failed {self.failed} (never begun {self.never_begun})"

    def problems(self, may_fail: int, kills: int = 0) -> list[str]:
        """Return the rules that are broken. `may_fail`: how many bodies that were under way may have failed.

        `kills`: how many processes were killed, each perhaps after a body was noted as begun and before its first line.
        """
        counts = {
            "failed although never begun": self.never_begun if self.never_begun > kills else 0,
            f"failed, more than {may_fail}": self.failed if self.failed > may_fail else 0,
        }
        problems = [f"{count} jobs {rule}" for rule, count in counts.items() if count]
        return problems + self.findings[:3]


@dataclass
class Scene:
    """One run of one scenario.

    `network`, `pooler`: what the nodes connect through, in this order; `disk`: the folder of a small disk that holds the database; `silence`: the
    seconds after which a node counts as dead, if shortened; `grace`: seconds that bodies have after their node was told to
    end.
    """

    url: str
    folder: Path
    server: PostgresServer | None = None
    network: Network | None = None
    pooler: PgBouncer | None = None
    disk: Path | None = None
    server_clock: ServerClock | None = None
    silence: float | None = None
    grace: float = GRACE
    main_queues: str | None = None
    nodes: list[ForkedProcess] = field(default_factory=list[ForkedProcess])

    def __post_init__(self) -> None:
        self.log = self.folder / BODY_LOG
        self.control = ProcessControl(self.folder / "control")
        with closing(Database(self.url)) as database:
            upgrade(database)
        self.horae = Horae(self.url)
        declare_as(self.horae, application.horae)
        self.watching = Database(self.url)
        self.lasting = ExitStack()

    @property
    def file(self) -> Path:
        """The database file, on SQLite."""
        return Path(make_url(self.url).database or "")

    def node(
        self, *, concurrency: int = 10, queues: str | None = None, control: bool = True
    ) -> ForkedProcess:
        """Start a node and wait until it is ready. `control`: whether `self.control` applies to it."""
        process = self.launch(concurrency=concurrency, queues=queues, control=control)
        self.until_ready(process)
        return process

    def launch_when_reachable(self, *, queues: str) -> ForkedProcess:
        """Launch a node once it can connect: a pooler refuses clients for a while after its server was away."""
        if self.server is not None:
            wait_until(self._connects, 60)
        return self.launch(queues=queues)

    def _connects(self) -> bool:
        url = self._nodes_url.replace("+psycopg", "")
        with (
            suppress(psycopg.OperationalError),
            psycopg.connect(url, connect_timeout=5) as connection,
        ):
            connection.execute("SELECT 1")
            return True
        return False

    def launch(
        self, *, concurrency: int = 10, queues: str | None = None, control: bool = True
    ) -> ForkedProcess:
        """Start a node as `node` does, without waiting for it."""
        environment = {**os.environ, "HORAE_DATABASE": self._nodes_url, LOG_VARIABLE: str(self.log)}
        if control:
            environment[CONTROL_VARIABLE] = str(self.control.file)
        if self.silence is not None:
            environment[SILENCE_VARIABLE] = str(self.silence)
        arguments = ["run", "tests.faults.measure.bodies:horae", "--no-api"]
        arguments += ["--concurrency", str(concurrency), "--grace", f"{self.grace:g}s"]
        arguments += ["--queues", queues] if queues else []
        with self._log_of(len(self.nodes)).open("wb") as output:
            process = ForkedProcess(
                "horae", arguments, environment=environment, stdout=output, stderr=output
            )
        self.nodes.append(process)
        return process

    def until_ready(self, process: ForkedProcess) -> None:
        """Wait until a node is ready."""
        log = self._log_of(self.nodes.index(process))
        wait_until(lambda: b"is ready" in log.read_bytes() or process.poll() is not None, 60)
        if process.poll() is not None:
            raise RuntimeError(f"the node did not start:\n{log.read_text()[-2000:]}")

    def _log_of(self, number: int) -> Path:
        return self.folder / f"node-{number}.log"

    def main_nodes(self) -> list[ForkedProcess]:
        """Return the nodes that work for the load, as the scenario started them."""
        return self.nodes[:MAIN_NODES]

    def bodies(self) -> list[Body]:
        """Return all bodies that have begun."""
        return BodyLog.of(read(self.log)).bodies()

    def until_begun(self, count: int, within: float = 60.0) -> None:
        """Wait until this number of bodies has begun."""
        wait_until(lambda: len(self.bodies()) >= count, within)

    def until_over(self, within: float = 120.0) -> float:
        """Wait until no job is active, and return the seconds that it took."""
        began = time.monotonic()
        wait_until(lambda: not self._one(ACTIVE), within)
        return time.monotonic() - began

    def release(self) -> None:
        """Let the bodies end that wait for the end of the scenario."""
        Path(f"{self.log}.release").touch()

    @property
    def _nodes_url(self) -> str:
        if (between := self.network or self.pooler) is None:
            return self.url
        return make_url(self.url).set(port=between.port).render_as_string(hide_password=False)

    def _one(self, statement: Executable) -> int:
        return int(
            self.watching.autocommit(lambda connection: connection.execute(statement).scalar_one())
        )

    def verdict(self, **settings: bool) -> Verdict:
        """Examine the log and the tables, without Horae's own logic. `settings`: those of the outside checker."""
        failed = self.watching.autocommit(lambda connection: connection.execute(FAILED).all())
        begun = {body.job for body in self.bodies()}
        return Verdict(
            jobs=self._one(ALL),
            failed=len(failed),
            never_begun=sum(row.id not in begun for row in failed),
            findings=findings(self.watching, self.log, **settings),
        )

    def end(self) -> None:
        """End all processes and remove all files."""
        for process in self.nodes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        self.lasting.close()
        self.horae.close()
        self.watching.close()


def stop(process: ForkedProcess, within: float = 30.0) -> float | None:
    """Send SIGTERM, and return the seconds until the process has ended; None if it has not within the time."""
    began = time.monotonic()
    process.terminate()
    try:
        process.wait(within)
    except subprocess.TimeoutExpired:
        return None
    return time.monotonic() - began


@contextmanager
def opened(scene: Scene) -> Generator[Scene]:
    """End the scene in any case."""
    try:
        yield scene
    finally:
        scene.end()
