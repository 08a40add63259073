"""Faults under a steady load, as a table: `python -m tests.faults.measure [NAME…]`, or `make faults`.

Exits with 1 if a rule was broken: a job lost, begun twice, run side by side with itself, or failed without reason; a
rate that did not recover; a node that did not end in time.
"""

import argparse
import logging
import shutil
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from tests.faults.measure.measuring import measure
from tests.faults.measure.scenarios import SCENARIOS, Scenario, lasting
from tests.faults.measure.scene import Scene
from tests.faults.measure.settings import prepared
from tests.faults.measure.stories import STORIES

KINDS: Final = ("sqlite", "postgresql", "pgbouncer")
"""The databases; the last one is PostgreSQL behind a pooler."""
HEADING: Final = f"{'database':10} {'fault':42} {'jobs ended per second':>20}\n{'':53} before during after  recovered"


def main() -> int:
    """Run the given scenarios on each database that they apply to, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of scenarios; all if left out")
    parser.add_argument("--only", choices=KINDS, help="leave the other databases out")
    parser.add_argument(
        "--keep", action="store_true", help="keep the logs of the nodes, and print where they are"
    )
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="horae-faults-"))
    print(HEADING, flush=True)
    broken = 0
    for kind in KINDS:
        for name in [*SCENARIOS, *STORIES]:
            chosen = not arguments.names or any(part in name for part in arguments.names)
            if chosen and arguments.only in (None, kind):
                broken += not _run(
                    kind, name, folder / f"{kind} {name}".replace(" ", "-").replace(",", "")
                )
    if arguments.keep:
        print(f"logs: {folder}")
    else:
        shutil.rmtree(folder)
    return int(broken > 0)


def _run(kind: str, name: str, folder: Path) -> bool:
    """Run a scenario or story on this kind of database, print its line, and return whether all rules held."""
    scenario = SCENARIOS.get(name, Scenario(fault=lasting(nullcontext), seconds=0, briefly=0))
    if kind not in scenario.on:
        return True
    began = time.monotonic()
    try:
        with prepared(kind, scenario, folder) as scene:
            line, problems = STORIES[name](scene) if name in STORIES else _measured(scene, scenario)
    except Exception as error:  # noqa: BLE001 - the table shows which scenarios failed
        line, problems = "", [f"{type(error).__name__}: {error}"]
    verdict = "BROKEN: " + "; ".join(problems) if problems else "holds"
    print(
        f"{kind:10} {name:42} {line}  {verdict}; {time.monotonic() - began:.0f} s in all",
        flush=True,
    )
    return not problems


def _measured(scene: Scene, scenario: Scenario) -> tuple[str, list[str]]:
    outcome = measure(scene, scenario, scenario.seconds)
    errors = ", ".join(f"{count} {error}" for error, count in outcome.errors.items())
    return f"{outcome}{f'; callers saw {errors}' if errors else ''}", outcome.problems


if __name__ == "__main__":
    sys.exit(main())
