"""Removes the guards of `ablations` one at a time, and reports what catches each removal (`make ablations`)."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from tests.simulation.ablations import ABLATIONS, Ablation
from tests.simulation.postgresql.server import prepared, simulation_server
from tests.simulation.run import Simulator, simulator

MOST_SEEDS: Final = 200
"""Seeds after which the simulation has not caught a removal."""
VARIABLE: Final = "HORAE_ABLATION"
"""Names the guard that a process of pytest removes."""


class Caught(NamedTuple):
    """What caught a removal, after how many seeds; nothing if `by` is empty."""

    name: str
    by: str
    seeds: int = 0
    shown: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Remove the guards; return 1 if a removal was not caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.ablate", description=__doc__)
    parser.add_argument("names", nargs="*", help="the guards to remove (default: each in turn)")
    parser.add_argument(
        "--here", action="store_true", help="remove one guard in this process, and print JSON"
    )
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="default: one for each core"
    )
    given = parser.parse_args(arguments)
    if given.here:
        print(json.dumps(caught(ABLATIONS[given.names[0]])))
        return 0
    found: list[Caught] = []
    with ThreadPoolExecutor(given.processes) as pool:
        for each in pool.map(in_a_process, given.names or list(ABLATIONS)):
            found.append(each)
            print(
                f"{each.name}: {each.by or 'NOT CAUGHT'} {each.shown}", file=sys.stderr, flush=True
            )
    print(*table(found), sep="\n")
    missed = [each.name for each in found if not each.by]
    print(f"{len(found) - len(missed)} of {len(found)} removals were caught", *missed)
    return 1 if missed else 0


def in_a_process(name: str) -> Caught:
    """Remove a guard in a process of its own."""
    command = [sys.executable, "-m", "tests.simulation.ablate", "--here", name]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        return Caught(name, "", shown=ended.stderr.strip().rpartition("\n")[2])
    return Caught(*json.loads(ended.stdout))


def caught(ablation: Ablation) -> Caught:
    """Return what catches a removal."""
    if ablation.test is not None:
        return caught_by_test(ablation, ablation.test)
    with simulations_for(ablation) as simulations:
        for seed in range(MOST_SEEDS):
            plan = ablation.plan(seed)
            with ablation.patch():
                result = simulations.run(plan)
            if result.violations:
                if with_guard := simulations.run(plan).violations:
                    return Caught(
                        ablation.name, "", seed + 1, f"also broken with the guard: {with_guard[0]}"
                    )
                database = " on PostgreSQL" if ablation.on_postgresql else ""
                return Caught(
                    ablation.name,
                    f"simulation{database}, seed {seed}",
                    seed + 1,
                    result.violations[0],
                )
    return Caught(ablation.name, "", MOST_SEEDS)


@contextmanager
def simulations_for(ablation: Ablation) -> Generator[Simulator]:
    """Prepare simulations on the database on which the removal shows."""
    if not ablation.on_postgresql:
        with simulator() as simulations:
            yield simulations
        return
    with simulation_server() as server, simulator(source=prepared(server)) as simulations:
        yield simulations


def caught_by_test(ablation: Ablation, test: str) -> Caught:
    """Run a test of the suite without the guard; it must fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.simulation.ablated", test]
    environment = {**os.environ, VARIABLE: ablation.name}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    failed = ended.returncode == 1 and "FAILED" in ended.stdout
    return Caught(ablation.name, test if failed else "", shown=_assertion(ended.stdout))


def _assertion(output: str) -> str:
    lines = [line for line in output.splitlines() if line.startswith("FAILED")]
    return lines[0] if lines else output.strip().rpartition("\n")[2]


def table(found: Sequence[Caught]) -> list[str]:
    """Return the table as Markdown."""
    rows: list[Any] = ["| without this guard | caught by | after seeds |", "|---|---|---|"]
    for each in found:
        own = ", of its own plans" if ABLATIONS[each.name].on_postgresql else ""
        seeds = f"{each.seeds}{own}" if each.seeds else ""
        rows.append(
            f"| {ABLATIONS[each.name].guard} | {each.by or '**nothing**: ' + each.shown} | {seeds} |"
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
