"""Checks all models and mutations, and prints how many states there are (`make model`)."""

import sys
import time

from tests.model.checker import check
from tests.model.suite import LEASE_MODELS, LEASES, TICK_MODELS, TICKS, mutated


def main() -> int:
    """Print a line for each model and mutation; return 1 if a model is violated or a mutation is not."""
    wrong = states = 0
    began = time.perf_counter()
    leases = ((f"leases: {name}", check(model)) for name, model in LEASE_MODELS.items())
    ticks = ((f"ticks: {name}", check(model)) for name, model in TICK_MODELS.items())
    for name, found in (*leases, *ticks):
        states += found.states
        wrong += found.violation is not None
        print(
            f"{found.states:9,} states {found.steps:10,} steps  {name}: {found.violation or 'holds'}"
        )
    print(f"{states:9,} states in all, {time.perf_counter() - began:.1f} s")
    for mutation in (*LEASES, *TICKS):
        violation = mutated(mutation).violation
        caught = violation is not None and violation.what == mutation.violates
        wrong += not caught
        print(
            f"{'caught' if caught else 'MISSED'}: {mutation.what}: {violation and violation.what}"
        )
    return 1 if wrong else 0


sys.exit(main())
