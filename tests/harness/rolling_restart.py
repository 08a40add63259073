"""Replaces all nodes one after another while jobs are started, as a deploy does, and counts what became of the jobs.

`python -m tests.harness.rolling_restart URL [NODES] [ROUNDS]` measures it on an empty database.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, Self

from horae import Horae, JobState
from horae.storage.engine.database import Database
from tests.harness.applications import execute, rows, url_of
from tests.harness.fault_application import SCHEMA, fault_application
from tests.harness.node_processes import NodeProcess, wait_until

BATCH: Final = 5
"""Jobs of each type that are started at a time."""
PAUSE: Final = 0.1
"""Seconds between two starts of jobs."""
PATIENCE: Final = 60.0
"""Seconds within which all jobs end after the last restart."""
COUNTS: Final = "SELECT outcome, count(*) AS number FROM horae_job_attempts GROUP BY outcome"


@dataclass(frozen=True, slots=True)
class RollingRestart:
    """What a rolling restart did. `stops`: the seconds that each node took to stop; `attempts`: how many by outcome."""

    jobs: int
    seconds: float
    stops: Sequence[float]
    exit_codes: Sequence[int]
    attempts: dict[str, int]
    states: dict[str, int]
    effects: int
    counted_again: int

    def __str__(self) -> str:
        """Return the figures in one line."""
        return (
            f"{self.jobs} jobs in {self.seconds:.1f} s, {len(self.stops)} nodes replaced, "
            f"the slowest stopped in {max(self.stops):.2f} s: states {self.states}, attempts {self.attempts}, "
            f"{self.counted_again} jobs with a counted second attempt"
        )


class Load:
    """Starts jobs in a thread until its block ends."""

    def __init__(self, horae: Horae, types: Sequence[str]) -> None:
        self._horae, self._types = horae, types
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load")
        self.started = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        draw = Random(1)
        while not self._ended.wait(PAUSE):
            for name in self._types:
                values = [{"seed": draw.randrange(10**6)} for _ in range(BATCH)]
                self.started += len(self._horae.jobs.start_many(name, values))


def restart_one_by_one(
    database: Database, folder: Path, *, types: Sequence[str], nodes: int = 2, rounds: int = 1,
    grace: float | None = None,
) -> RollingRestart:  # fmt: skip
    """Run nodes under load, replace each of them in each round, and wait until all jobs have ended."""
    options: dict[str, Any] = {} if grace is None else {"grace": grace}
    with closing(fault_application(url_of(database))) as horae, ExitStack() as processes:

        def started() -> NodeProcess:
            process = processes.enter_context(NodeProcess(database, folder, **options))
            process.ready()
            return process

        execute(horae, SCHEMA)
        running = [started() for _ in range(nodes)]
        begun, stops, exit_codes = time.monotonic(), list[float](), list[int]()
        with Load(horae, types) as load:
            for _ in range(rounds):
                for index in range(nodes):
                    replacement = started()
                    told = time.monotonic()
                    exit_codes.append(running[index].end())
                    stops.append(time.monotonic() - told)
                    running[index] = replacement
        wait_until(lambda: _open(horae) == 0, within=PATIENCE)
        return _counted(horae, load.started, time.monotonic() - begun, stops, exit_codes)


def _open(horae: Horae) -> int:
    counts = horae.jobs.count()
    return counts.get(JobState.PENDING, 0) + counts.get(JobState.STARTED, 0)


def _counted(
    horae: Horae, started: int, seconds: float, stops: Sequence[float], exit_codes: Sequence[int]
) -> RollingRestart:
    [(effects,)] = rows(horae, "SELECT count(*) FROM effects")
    [(again,)] = rows(horae, "SELECT count(*) FROM horae_jobs WHERE attempt > 1")
    attempts = {str(row.outcome): int(row.number) for row in rows(horae, COUNTS)}
    states = {state.value: count for state, count in horae.jobs.count().items()}
    return RollingRestart(started, seconds, stops, exit_codes, attempts, states, effects, again)


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[2:]]
    with closing(Horae(sys.argv[1])) as new:
        new.migrate()
    with tempfile.TemporaryDirectory() as temporary, closing(Database(sys.argv[1])) as own:
        done = restart_one_by_one(
            own, Path(temporary), types=("threaded", "looped", "fragile"), nodes=given[0] if given else 4,
            rounds=given[1] if len(given) > 1 else 3,
        )  # fmt: skip
        print(done)  # noqa: T201 - it is a program
