"""`make chaos SECONDS=60 SEED=1`: schedules of one second under random faults; the last line says what held."""

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
from tests.chaos.ledger import Findings, examine
from tests.chaos.storm import Storm
from tests.harness.postgres import THROW_AWAY, PostgresServer

AFTERWARDS: Final = 16.0
"""Seconds in which nodes left alone must have dealt with everything: longer than the silence that is death."""


def run(url: str, *, seconds: float, seed: int, schedules: int, nodes: int, skewed: bool) -> tuple[Findings, Storm]:
    """Add the schedules, let the storm blow, wait for calm, stop the schedules and examine the ledger."""
    random = Random(seed)
    with closing(Database(url)) as database:
        runner.upgrade(database)
    with closing(Horae(url)) as horae:
        horae.registry.add(beat.job_type)
        for number in range(schedules):
            pause = random.choice([0.0, 0.05, 0.4, 1.5])
            horae.schedules.add(beat, name=f"beat-{number}", cron="* * * * * *", config={"pause": pause})
        storm = Storm(url, random, nodes, skewed)
        storm.blow(seconds)
        settle(horae)
        storm.calm()
        for schedule in horae.schedules.list():
            horae.schedules.resume(schedule.id)
        return examine(horae.components.database), storm


def settle(horae: Horae) -> None:
    """Let the nodes deal with what the faults left behind, then pause everything and wait for the last runs."""
    deadline = time.monotonic() + AFTERWARDS
    time.sleep(AFTERWARDS / 2)
    for schedule in horae.schedules.list():
        horae.schedules.pause(schedule.id, "the storm is over")
    while time.monotonic() < deadline + AFTERWARDS:
        if all(schedule.state == "disabled" for schedule in horae.schedules.list()):
            return
        time.sleep(0.2)


def main() -> int:
    """Run on the chosen database; 0 only if everything held."""
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
            findings, storm = run(server.create_database(), **options, nodes=given.nodes or 3, skewed=True)
    else:
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{Path(folder) / 'horae.db'}"
            findings, storm = run(url, **options, nodes=given.nodes or 2, skewed=False)
    return tell(findings, storm, given.seed)


def tell(findings: Findings, storm: Storm, seed: int) -> int:
    """Print figures, faults, and the one line that counts."""
    print("befell:", ", ".join(f"{name} {count}" for name, count in sorted(storm.done.items())))
    print("ledger:", ", ".join(f"{name} {count}" for name, count in sorted(findings.figures.items())))
    for fault in findings.faults[:20]:
        print("FAULT:", fault)
    if findings.faults:
        print(f"did not hold (seed {seed}): {len(findings.faults)} faults")
        return 1
    print(f"held (seed {seed}): every nominal time has one decision, no job twice, no overlap, totals add up")
    return 0


if __name__ == "__main__":
    sys.exit(main())
