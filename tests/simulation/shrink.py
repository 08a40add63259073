"""Makes a failing plan smaller: it leaves out faults, ends of processes and operations as long as the same invariant still breaks."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.simulation.plan import Plan
from tests.simulation.run import Result

Run = Callable[[Plan], Result]


def broken(result: Result) -> set[str]:
    """Return the names of the invariants that a simulation broke."""
    return {text.partition(":")[0] for text in result.violations}


def shrunk(run: Run, failed: Result) -> Result:
    """Return the result of the smallest plan found that still breaks one of the same invariants."""
    wanted, best = broken(failed), failed
    for part in ("lives", "faults", "operations"):
        best = _smaller(run, best, wanted, part)
    return best


def _smaller(run: Run, best: Result, wanted: set[str], part: str) -> Result:
    """Leave out halves of a part of the plan, then quarters, and in the end single items."""
    size = max(len(getattr(best.plan, part)) // 2, 1)
    while size:
        at = 0
        while at < len(getattr(best.plan, part)):
            items: tuple[Any, ...] = getattr(best.plan, part)
            changed: dict[str, Any] = {part: items[:at] + items[at + size :]}
            result = run(replace(best.plan, **changed))
            if broken(result) & wanted:
                best = result
            else:
                at += size
        size //= 2
    return best
