"""Removes the guards of `ablations` one at a time, and reports what catches each removal (`make ablations`)."""

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final, NamedTuple

from tests.simulation.ablations import ABLATIONS
from tests.simulation.plan import plan_of
from tests.simulation.run import simulator

MOST_SEEDS: Final = 200
"""Seeds after which the simulation has not caught a removal."""


class Caught(NamedTuple):
    """Whether a seed has caught a removal, and what it showed."""

    name: str
    seed: int | None
    shown: str = ""


def caught(name: str) -> Caught:
    """Simulate without a guard until a rule is broken, which must hold with the guard."""
    (ablation,) = (each for each in ABLATIONS if each.name == name)
    with simulator() as simulations:
        for seed in range(MOST_SEEDS):
            with ablation.patch():
                violations = simulations.run(plan_of(seed)).violations
            if violations:
                if with_guard := simulations.run(plan_of(seed)).violations:
                    return Caught(name, None, f"also broken with the guard: {with_guard[0]}")
                return Caught(name, seed, violations[0])
    return Caught(name, None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Remove the guards; return 1 if a removal was not caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.ablate", description=__doc__)
    parser.add_argument("names", nargs="*", help="the guards to remove (default: each in turn)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    missed = 0
    with ProcessPoolExecutor(
        given.processes, mp_context=get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        for each in pool.map(caught, given.names or [each.name for each in ABLATIONS]):
            missed += each.seed is None
            by = "NOT CAUGHT" if each.seed is None else f"seed {each.seed}"
            print(f"{each.name}: {by} {each.shown}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
