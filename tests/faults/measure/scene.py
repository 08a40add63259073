"""A database, nodes as `horae run` starts them, and the rules that must hold after a fault."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from sqlalchemy import text

from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.faults.measure import bodies
from tests.harness.node_processes import ROOT, wait_until

JOBS = text("SELECT id, state, attempt, max_attempts, node_id FROM horae_jobs")
ACTIVE = text("SELECT count(*) FROM horae_jobs WHERE finished_at IS NULL OR node_id IS NOT NULL")
NODES = text("SELECT count(*) FROM horae_nodes")


@dataclass
class Verdict:
    """The findings from the bodies' log and the tables; each number but the first must be 0."""

    jobs: int
    failed_never_begun: int
    failed: int
    begun_twice: int
    side_by_side: int
    lost: int

    def __str__(self) -> str:
        return (
            f"{self.jobs} jobs: failed {self.failed} (never begun {self.failed_never_begun}), "
            f"begun twice {self.begun_twice}, side by side {self.side_by_side}, lost {self.lost}"
        )


@dataclass
class Scene:
    """One run of one scenario."""

    url: str
    folder: Path
    nodes: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def __post_init__(self) -> None:
        self.log = self.folder / "bodies.log"
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
            "HORAE_BODY_LOG": str(self.log),
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

    def lines(self) -> list[list[str]]:
        """Return the entries of the bodies' log: what, job, attempt, process, moment."""
        return [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def begun(self) -> int:
        """Return how many bodies have begun."""
        return sum(line[0] == "begin" for line in self.lines())

    def until_begun(self, count: int, within: float = 60.0) -> None:
        """Wait until this number of bodies has begun."""
        wait_until(lambda: self.begun() >= count, within)

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
        """Examine the log and the tables, without Horae's own logic."""
        rows = self.watching.autocommit(lambda connection: connection.execute(JOBS).all())
        begun: Counter[int] = Counter(int(line[1]) for line in self.lines() if line[0] == "begin")
        failed = [row.id for row in rows if row.state == "failed"]
        return Verdict(
            jobs=len(rows),
            failed=len(failed),
            failed_never_begun=sum(not begun[job] for job in failed),
            begun_twice=sum(begun[row.id] > 1 for row in rows if row.max_attempts == 1),
            side_by_side=self._side_by_side(),
            lost=sum(row.state in ("pending", "started") or row.node_id is not None for row in rows),
        )

    def _side_by_side(self) -> int:
        """Return the jobs of which two bodies ran at the same time, by the bodies' log."""
        spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
        open_: dict[tuple[str, str, str], float] = {}
        for what, job, attempt, process, moment in self.lines():
            if what == "begin":
                open_[job, attempt, process] = float(moment)
            elif (job, attempt, process) in open_:
                spans[job].append((open_.pop((job, attempt, process)), float(moment)))
        return sum(_overlap(sorted(times)) for times in spans.values())

    def end(self) -> None:
        """End all processes and remove all files."""
        for process in self.nodes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        self.horae.close()
        self.watching.close()


def _overlap(times: list[tuple[float, float]]) -> bool:
    return any(later[0] < earlier[1] for earlier, later in pairwise(times))


@contextmanager
def scene(url: str, folder: Path) -> Generator[Scene]:
    """Open a scene, and close it in any case."""
    folder.mkdir(parents=True)
    one = Scene(url, folder)
    try:
        yield one
    finally:
        one.end()
