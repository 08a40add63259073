"""Replaces all nodes one after another while jobs are started, as a deploy does, and counts what became of the jobs.

`python -m tests.harness.rolling_restart URL [NODES] [ROUNDS] [GRACE]` measures it on an empty database. With a grace, in
milliseconds, jobs are interrupted, and only those are started that may run again.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from horae import Horae, JobState
from horae.storage.engine import Database
from tests.harness.applications import execute, rows, url_of
from tests.harness.background import Background
from tests.harness.fault_application import SCHEMA, fault_application
from tests.harness.node_processes import NodeProcess, wait_until

BATCH: Final = 2
"""Jobs of each type that are started at a time."""
MEASURED_BATCH: Final = 5
"""The same for a measurement, which has the machine to itself."""
EVERY: Final = "1s"
"""The interval of schedules."""
PAUSE: Final = 0.1
"""Seconds between two starts of jobs."""
PATIENCE: Final = 60.0
"""Seconds within which all jobs end after the last restart."""
QUICK: Final = ("threaded", "looped", "fragile", "quick", "contained")
"""Types of jobs that end within the usual grace."""
REPEATABLE: Final = ("threaded", "looped", "lengthy", "contained")
"""Types of jobs that may run again after an interruption."""
SCHEDULED: Final = ("lengthy", "contained")
"""Types of jobs that also run by schedules."""
GRACE_GIVEN: Final = 3
"""Numbers that are given if one of them is the grace."""
WRONG_EFFECTS: Final = """
    SELECT count(*) FROM horae_jobs WHERE type IN ('threaded', 'looped', 'lengthy')
    AND (SELECT count(*) FROM effects WHERE job = horae_jobs.id) <> 1
"""
COUNTS: Final = "SELECT outcome, count(*) AS number FROM horae_job_attempts GROUP BY outcome"


@dataclass(frozen=True, slots=True)
class RollingRestart:
    """What a rolling restart did. `stops`: the seconds that each node took to stop; `attempts`: how many by outcome.

    `jobs`: those that were started by callers, `runs`: those of schedules. `faulty_schedules`: those that have counted a
    failure or a crash. `wrong_effects`: jobs in a transaction that left no row or several.
    """

    jobs: int
    seconds: float
    stops: Sequence[float]
    exit_codes: Sequence[int]
    attempts: dict[str, int]
    states: dict[str, int]
    wrong_effects: int
    counted_again: int
    runs: int
    faulty_schedules: Sequence[str]

    def __str__(self) -> str:
        """Return the figures in one line."""
        return (
            f"{self.jobs} jobs and {self.runs} runs of schedules in {self.seconds:.1f} s, {len(self.stops)} nodes replaced, "
            f"the slowest stopped in {max(self.stops):.2f} s: states {self.states}, attempts {self.attempts}, "
            f"{self.counted_again} jobs with a counted second attempt, {self.wrong_effects} with wrong effects, "
            f"{len(self.faulty_schedules)} schedules with failures or crashes"
        )


class Load(Background):
    """Starts jobs in a thread until its block ends."""

    def __init__(self, horae: Horae, types: Sequence[str], batch: int) -> None:
        super().__init__()
        self._horae, self._types, self._batch = horae, types, batch
        self.started = 0

    def work(self) -> None:
        """Start jobs of each type, with a pause between two batches."""
        draw = Random(1)
        while not self.done.wait(PAUSE):
            for name in self._types:
                values = [
                    {} if name == "quick" else {"seed": draw.randrange(10**6)}
                    for _ in range(self._batch)
                ]
                self.started += len(self._horae.jobs.start_many(name, values))


def restart_one_by_one(
    database: Database,
    folder: Path,
    *,
    types: Sequence[str],
    scheduled: Sequence[str] = (),
    batch: int = BATCH,
    nodes: int = 2,
    rounds: int = 1,
    grace: float | None = None,
) -> RollingRestart:
    """Run nodes under load, replace each of them in each round, and wait until all jobs have ended.

    Each type of `scheduled` also has a schedule.
    """
    options: dict[str, Any] = {} if grace is None else {"grace": grace}
    with closing(fault_application(url_of(database))) as horae, ExitStack() as processes:

        def started() -> NodeProcess:
            process = processes.enter_context(NodeProcess(database, folder, **options))
            process.ready()
            return process

        execute(horae, SCHEMA)
        for name in scheduled:
            horae.schedules.add(name, name=name, every=EVERY, config={"seed": 1}, priority=1)
        running = [started() for _ in range(nodes)]
        begun, stops, exit_codes = time.monotonic(), list[float](), list[int]()
        with Load(horae, types, batch) as load:
            for _ in range(rounds):
                for index in range(nodes):
                    replacement = started()
                    told = time.monotonic()
                    exit_codes.append(running[index].end())
                    stops.append(time.monotonic() - told)
                    running[index] = replacement
        for name in scheduled:
            horae.schedules.pause(name)
        wait_until(lambda: _open(horae) == 0, within=PATIENCE)
        return _counted(horae, load.started, time.monotonic() - begun, stops, exit_codes)


def _open(horae: Horae) -> int:
    counts = horae.jobs.count()
    return counts.get(JobState.PENDING, 0) + counts.get(JobState.STARTED, 0)


def _counted(
    horae: Horae, started: int, seconds: float, stops: Sequence[float], exit_codes: Sequence[int]
) -> RollingRestart:
    [(wrong_effects,)] = rows(horae, WRONG_EFFECTS)
    [(again,)] = rows(horae, "SELECT count(*) FROM horae_jobs WHERE attempt > 1")
    attempts = {str(row.outcome): int(row.number) for row in rows(horae, COUNTS)}
    states = {state.value: count for state, count in horae.jobs.count().items()}
    schedules = horae.schedules.list()
    faulty = [
        each.name
        for each in schedules
        if each.statistics.total_successes != each.statistics.total_runs
    ]
    runs = sum(each.statistics.total_runs for each in schedules)
    return RollingRestart(
        started, seconds, stops, exit_codes, attempts, states, wrong_effects, again, runs, faulty
    )


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[2:]]
    with closing(Horae(sys.argv[1])) as new:
        new.migrate()
    with tempfile.TemporaryDirectory() as temporary, closing(Database(sys.argv[1])) as own:
        done = restart_one_by_one(
            own,
            Path(temporary),
            types=QUICK if len(given) < GRACE_GIVEN else REPEATABLE,
            scheduled=SCHEDULED,
            batch=MEASURED_BATCH,
            nodes=given[0] if given else 4,
            rounds=given[1] if len(given) > 1 else 3,
            grace=given[2] / 1000 if len(given) == GRACE_GIVEN else None,
        )
        print(done)  # noqa: T201 - it is a program
