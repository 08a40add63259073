"""`make chaos SECONDS=60 SEED=1`: schedules of one second under random faults; the last line is the verdict."""

import argparse
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from random import Random, SystemRandom
from typing import Final

from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.migrations import runner
from tests.chaos.app import beat
from tests.chaos.fault_injector import FaultInjector
from tests.chaos.ledger import Findings, examine
from tests.harness.postgres import THROW_AWAY, PostgresServer

RECOVER_WITHIN: Final = 16.0
"""Seconds that nodes have to recover from all faults: longer than the silence after which a node counts as dead."""


def run(
    url: str, *, seconds: float, seed: int, schedules: int, nodes: int, skewed: bool
) -> tuple[Findings, FaultInjector]:
    """Add the schedules, inject faults, let the nodes recover, pause the schedules and examine the ledger."""
    random = Random(seed)
    with closing(Database(url)) as database:
        runner.upgrade(database)
    with closing(Horae(url)) as horae:
        horae.registry.add(beat.job_type)
        for number in range(schedules):
            pause = random.choice([0.0, 0.05, 0.4, 1.5])
            horae.schedules.add(beat, name=f"beat-{number}", cron="* * * * * *", config={"pause": pause})
        injector = FaultInjector(url, random, nodes, skewed)
        injector.inject_for(seconds)
        recover(horae)
        injector.stop_all()
        for schedule in horae.schedules.list():
            horae.schedules.resume(schedule.id)
        return examine(horae.components.database), injector


def recover(horae: Horae) -> None:
    """Let the nodes recover from the faults, then pause all schedules and wait for the last runs."""
    deadline = time.monotonic() + RECOVER_WITHIN
    time.sleep(RECOVER_WITHIN / 2)
    for schedule in horae.schedules.list():
        horae.schedules.pause(schedule.id, "no more faults")
    while time.monotonic() < deadline + RECOVER_WITHIN:
        if all(schedule.state == "disabled" for schedule in horae.schedules.list()):
            return
        time.sleep(0.2)


def main() -> int:
    """Run on the given database. Return 0 only if all rules held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--schedules", type=int, default=300)
    parser.add_argument("--nodes", type=int, default=None)
    parser.add_argument("--database", choices=["postgresql", "sqlite"], default="postgresql")
    given = parser.parse_args()
    print(f"seed {given.seed}: {given.schedules} schedules for {given.seconds:g} s on {given.database}", flush=True)
    options = {"seconds": given.seconds, "seed": given.seed, "schedules": given.schedules}
    if given.database == "postgresql":
        with PostgresServer(THROW_AWAY) as server:
            findings, injector = run(server.create_database(), **options, nodes=given.nodes or 3, skewed=True)
    else:
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{Path(folder) / 'horae.db'}"
            findings, injector = run(url, **options, nodes=given.nodes or 2, skewed=False)
    return report(findings, injector, given.seed)


def report(findings: Findings, injector: FaultInjector, seed: int) -> int:
    """Print the figures, the violations and the verdict. Return the exit code."""
    print("injected:", ", ".join(f"{name} {count}" for name, count in sorted(injector.injected.items())))
    print("ledger:", ", ".join(f"{name} {count}" for name, count in sorted(findings.figures.items())))
    for violation in findings.violations[:20]:
        print("VIOLATION:", violation)
    if findings.violations:
        print(f"did not hold (seed {seed}): {len(findings.violations)} violations")
        return 1
    print(
        f"held (seed {seed}): each nominal time has one decision, no job ran twice, no runs overlap, the totals add up"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
