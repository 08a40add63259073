"""A database, nodes as `horae run` starts them, and the rules that must hold after a fault."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import text

from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.checker.body_log import BodyLog, read
from tests.faults.measure import bodies
from tests.harness.body_log import LOG_VARIABLE
from tests.harness.checked import findings
from tests.harness.node_processes import BODY_LOG, ROOT, wait_until

JOBS = text("SELECT id, state FROM horae_jobs")
ACTIVE = text("SELECT count(*) FROM horae_jobs WHERE finished_at IS NULL OR node_id IS NOT NULL")
NODES = text("SELECT count(*) FROM horae_nodes")


@dataclass
class Verdict:
    """How many jobs failed, of these how many whose bodies never began, and what the outside checker found."""

    jobs: int
    failed: int
    failed_never_begun: int
    findings: list[str]

    def __str__(self) -> str:
        found = f"{len(self.findings)} findings, such as: {self.findings[0]}" if self.findings else "no findings"
        return f"{self.jobs} jobs: failed {self.failed} (never begun {self.failed_never_begun}), {found}"


@dataclass
class Scene:
    """One run of one scenario."""

    url: str
    folder: Path
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def __post_init__(self) -> None:
        self.log = self.folder / BODY_LOG
        with closing(Database(self.url)) as database:
            upgrade(database)
        self.horae = Horae(self.url)
        self.horae.registry = bodies.horae.registry
        self.watching = Database(self.url)

    def node(self, *, url: str | None = None, concurrency: int = 10, grace: str = "3s") -> subprocess.Popen[bytes]:
        """Start a node and wait until it is ready."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "HORAE_DATABASE": url or self.url,
            LOG_VARIABLE: str(self.log),
        }
        command = [sys.executable, "-m", "horae", "run", "tests.faults.measure.bodies:horae", "--no-api"]
        command += ["--concurrency", str(concurrency), "--grace", grace]
        log = self.folder / f"node-{len(self.nodes)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
        self.nodes.append(process)
        wait_until(lambda: b"is ready" in log.read_bytes() or process.poll() is not None)
        if process.poll() is not None:
            raise RuntimeError(f"the node did not start:\n{log.read_text()}")
        return process

    def begun(self) -> set[int]:
        """Return the jobs whose bodies have begun."""
        return BodyLog.of(read(self.log)).jobs("begin")

    def until_begun(self, count: int, within: float = 60.0) -> None:
        """Wait until this number of bodies has begun."""
        wait_until(lambda: len(self.begun()) >= count, within)

    def until_over(self, within: float = 120.0) -> float:
        """Wait until no job is active, and return the seconds that it took."""
        began = time.monotonic()
        wait_until(lambda: not self._one(ACTIVE), within)
        return time.monotonic() - began

    def node_count(self) -> int:
        """Return how many nodes are listed."""
        return self._one(NODES)

    def _one(self, statement: object) -> int:
        return int(self.watching.autocommit(lambda connection: connection.execute(statement).scalar_one()))  # type: ignore[call-overload]

    def verdict(self) -> Verdict:
        """Let the outside checker examine the log and the tables."""
        rows = self.watching.autocommit(lambda connection: connection.execute(JOBS).all())
        failed = {row.id for row in rows if row.state == "failed"}
        return Verdict(len(rows), len(failed), len(failed - self.begun()), findings(self.watching, self.log))

    def end(self) -> None:
        """End all processes and remove all files."""
        for process in self.nodes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        self.horae.close()
        self.watching.close()


@contextmanager
def scene(url: str, folder: Path) -> Generator[Scene]:
    """Open a scene, and close it in any case."""
    folder.mkdir(parents=True)
    one = Scene(url, folder)
    try:
        yield one
    finally:
        one.end()
