"""Runs simulations from the command line: many seeds on all cores, or one seed with its trace (`make simulate`)."""

import argparse
import math
import multiprocessing
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Final

from tests.simulation.plan import Plan, plan_of, storm_of
from tests.simulation.postgresql.server import DatabaseSource, prepared, simulation_server
from tests.simulation.run import Result, Simulator, simulator
from tests.simulation.shrink import shrunk
from tests.simulation.template import memory_folder

PlanOf = Callable[[int], Plan]
CHUNK: Final = 10
"""Seeds that a process runs at a time."""
SERVER_CHUNK: Final = 3
"""The same on PostgreSQL, where a seed takes ten times as long."""
STORM_CHUNK: Final = 300
"""Failovers of storms that a process simulates at a time, roughly."""
CHUNKS: Final = 12
"""How often a process does so before it ends, which is quicker than to collect the garbage of its worlds.

Its first seeds take twice as long, because its connections prepare all statements.
"""
WARMING: Final = 4
"""Seeds that run before others: their processes then have all compiled statements. The last one has coroutines."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return 1 if an invariant broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this seed only, and print its trace")
    parser.add_argument(
        "--seeds", type=int, default=1000, help="how many seeds to run (default 1000)"
    )
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    parser.add_argument(
        "--crashes", type=int, help="a storm of about so many crashes for each seed instead"
    )
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="begin no more seeds after so many minutes"
    )
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="default: one for each core"
    )
    parser.add_argument(
        "--database", choices=("sqlite", "postgresql"), default="sqlite", help="default: sqlite"
    )
    given = parser.parse_args(arguments)
    plan = plan_of if given.crashes is None else partial(storm_of, crashes=given.crashes)
    with sqlite() if given.database == "sqlite" else postgresql() as source:
        if given.seed is not None:
            return run_one(plan(given.seed), source)
        usual = CHUNK if source is None else SERVER_CHUNK
        chunk = usual if given.crashes is None else max(STORM_CHUNK // given.crashes, 1)
        seeds = range(given.first, given.first + given.seeds)
        return run_many(
            results(seeds, given.processes, plan, chunk, source), given.processes, given.minutes
        )


def sqlite() -> AbstractContextManager[DatabaseSource | None]:
    """Prepare nothing: each process makes a file."""
    return nullcontext()


@contextmanager
def postgresql() -> Generator[DatabaseSource | None]:
    """Start a server for all processes."""
    with simulation_server() as server:
        yield prepared(server)


def run_one(plan: Plan, source: DatabaseSource | None) -> int:
    """Run one seed; if it fails, print the smallest plan that fails and its trace."""
    with simulator(source=source) as simulations:
        warm(simulations)
        result = simulations.run(plan)
        if result.violations:
            print_broken(result)
            result = shrunk(simulations.run, result)
            print("\nthe smallest plan found that fails:")
    print(f"seed {plan.seed}: {result.plan}".replace("(", "(\n    ", 1))
    print(*result.trace, sep="\n")
    print_broken(result)
    print(f"trace {digest(result)}")
    return 1 if result.violations else 0


def warm(simulations: Simulator) -> None:
    """Run a few seeds, so that the first one of a process has the same trace as a later one."""
    for seed in range(WARMING):
        simulations.run(plan_of(seed))


def print_broken(result: Result) -> None:
    """Print which invariants a simulation broke."""
    for text in result.violations:
        print(f"BROKEN seed {result.plan.seed}: {text}")


def digest(result: Result) -> str:
    """Return a short text that differs if the traces of two runs differ."""
    return sha256("\n".join(result.trace).encode()).hexdigest()[:16]


def run_many(simulated: Iterator[Result], processes: int, longest: float) -> int:
    """Take results for `longest` minutes at most, and print what they have shown together."""
    began, done = time.monotonic(), 0
    faults: Counter[str] = Counter()
    failovers, virtual, jobs, failed = 0, 0.0, 0, list[int]()
    for result in simulated:
        done += 1
        failovers += result.failovers
        virtual += result.virtual_seconds
        jobs += result.jobs
        faults += result.faults
        if result.violations:
            failed.append(result.plan.seed)
            print_broken(result)
        if time.monotonic() - began > longest * 60:
            break
    minutes = (time.monotonic() - began) / 60
    print(
        f"{done} seeds in {minutes:.2f} minutes, {done / minutes:.0f} a minute with {processes} processes"
    )
    print(
        f"{failovers} failovers ({failovers / minutes:.0f} a minute), {jobs} jobs, {virtual / 3600:.1f} virtual hours"
    )
    print("faults: " + ", ".join(f"{kind} {count}" for kind, count in faults.most_common()))
    if failed:
        print("failing seeds: " + " ".join(map(str, sorted(failed))))
    return 1 if failed else 0


def results(
    seeds: range, processes: int, plan: PlanOf, chunk: int, source: DatabaseSource | None
) -> Iterator[Result]:
    """Run seeds on several processes; the results have no traces."""
    chunks = [seeds[start : start + chunk] for start in range(0, len(seeds), chunk)]
    with simulator(source=source) as simulations:
        warm(simulations)
    folder = memory_folder()
    try:
        context = multiprocessing.get_context("fork")
        pool = context.Pool(processes, prepare_process, (folder, source), maxtasksperchild=CHUNKS)
        with pool:
            for batch in pool.imap_unordered(partial(run_chunk, plan), chunks):
                yield from batch
    finally:
        shutil.rmtree(folder)  # the processes of the pool remove nothing


_prepared: list[Simulator] = []
"""What runs the simulations of this process."""
_chunks: Final = count(1)
"""Counts the chunks that this process runs."""
_open: list[AbstractContextManager[Simulator]] = []
"""The context that keeps it usable: it would end if nothing referred to it."""


def prepare_process(folder: Path, source: DatabaseSource | None) -> None:
    """Prepare simulations in a process of the pool, until it ends; its files are in a part of the folder."""
    simulations = simulator(folder, collects=False, source=source)
    _prepared.append(simulations.__enter__())
    _open.append(simulations)


def run_chunk(plan: PlanOf, seeds: range) -> list[Result]:
    """Run some seeds in a process of the pool; with the last ones it removes its files and its database on a server."""
    found = [run_traceless(_prepared[0], plan(seed)) for seed in seeds]
    if next(_chunks) == CHUNKS:
        _prepared[0].discard()
    return found


def run_traceless(simulations: Simulator, plan: Plan) -> Result:
    """Run a plan, and drop its trace."""
    result = simulations.run(plan)
    result.trace = []
    return result


if __name__ == "__main__":
    sys.exit(main())
