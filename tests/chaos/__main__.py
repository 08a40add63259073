"""`make chaos SECONDS=60 SEED=1`: schedules of one second under random faults; the last line is the verdict."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from typing import Final

from sqlalchemy import Connection, text

from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.migrations import runner
from tests.chaos.app import beat
from tests.chaos.fault_injector import NO_FAULTS, SILENCE, DatabaseFaults, FaultInjector
from tests.harness import server_faults
from tests.harness.checked import findings
from tests.harness.file_faults import write_lock_held
from tests.harness.postgres import THROW_AWAY, PostgresServer

DECISIONS: Final = text("SELECT decision, sum(count) FROM horae_ticks GROUP BY decision")
OUTCOMES: Final = text(
    "SELECT 'attempts ' || outcome, count(*) FROM horae_job_attempts GROUP BY outcome"
)
NEVER_FIRED: Final = text(
    "SELECT name FROM horae_schedules WHERE NOT EXISTS "
    "(SELECT 1 FROM horae_jobs WHERE schedule_id = horae_schedules.id)"
)
START_WITHIN: Final = 60.0
"""Seconds that nodes which were killed again and again may need to start on a busy machine."""
RECOVERY: Final = 1.6
"""How long nodes have to recover from all faults, as a multiple of the silence after which a node counts as dead."""


@dataclass(frozen=True)
class Verdict:
    """What was injected, how many decisions and ends there were of each kind, and which rules are broken."""

    injected: Counter[str]
    figures: Counter[str]
    findings: list[str]


def run(  # noqa: PLR0913 - the options of the program
    url: str,
    folder: Path,
    *,
    seconds: float,
    seed: int,
    schedules: int,
    nodes: int,
    skewed: bool,
    of_database: DatabaseFaults = NO_FAULTS,
    silence: float = SILENCE,
) -> Verdict:
    """Add the schedules, inject faults, let the nodes recover, pause the schedules and call the checker."""
    random, body_log = Random(seed), folder / "bodies.jsonl"
    with closing(Database(url)) as database:
        runner.upgrade(database)
    with closing(Horae(url)) as horae:
        horae.registry.add(beat.job_type)
        for number in range(schedules):
            pause = random.choice([0.0, 0.05, 0.4, 1.5])
            horae.schedules.add(
                beat, name=f"beat-{number}", cron="* * * * * *", config={"pause": pause}
            )
    injector = FaultInjector(url, body_log, random, nodes, skewed, of_database, silence=silence)
    injector.inject_for(seconds)
    with closing(
        Horae(url)
    ) as horae:  # new, because faults of the server may have ended the former's connections
        recover(horae, RECOVERY * silence)
        injector.stop_all()
        database = horae.components.database
        never = [f"schedule {name} never fired" for name in database.autocommit(_never_fired)]
        found = never + findings(
            database, body_log, frozen_processes=injector.injected["SIGSTOP"] > 0
        )
        return Verdict(injector.injected, database.autocommit(_figures), found)


def _figures(connection: Connection) -> Counter[str]:
    figures = Counter[str]()
    for counted in (DECISIONS, OUTCOMES):
        figures.update({name: int(number) for name, number in connection.execute(counted)})
    return figures


def _never_fired(connection: Connection) -> Sequence[str]:
    return connection.execute(NEVER_FIRED).scalars().all()


def recover(horae: Horae, within: float) -> None:
    """Let the nodes recover from the faults, then pause all schedules and wait for the last runs."""
    time.sleep(within / 2)
    database = horae.components.database
    starting = time.monotonic() + START_WITHIN
    while time.monotonic() < starting and database.autocommit(_never_fired):
        time.sleep(0.2)
    deadline = time.monotonic() + within / 2
    for schedule in horae.schedules.list():
        horae.schedules.pause(schedule.id, "no more faults")
    while time.monotonic() < deadline + within:
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
    print(
        f"seed {given.seed}: {given.schedules} schedules for {given.seconds:g} s on {given.database}",
        flush=True,
    )
    options = {"seconds": given.seconds, "seed": given.seed, "schedules": given.schedules}
    with tempfile.TemporaryDirectory() as folder:
        if given.database == "postgresql":
            with PostgresServer(THROW_AWAY) as server:
                url = server.create_database()
                faults = faults_of_server(server, url)
                verdict = run(
                    url,
                    Path(folder),
                    **options,
                    nodes=given.nodes or 3,
                    skewed=True,
                    of_database=faults,
                )
        else:
            file = Path(folder) / "horae.db"
            faults = {"write lock held": partial(write_lock_held, file)}
            options["nodes"] = given.nodes or 2
            verdict = run(
                f"sqlite:///{file}", Path(folder), **options, skewed=False, of_database=faults
            )
    return report(verdict, given.seed)


def faults_of_server(server: PostgresServer, url: str) -> DatabaseFaults:
    """Return what can happen to a server and the database of the schedules."""
    tables = {
        f"{table} locked": partial(server_faults.table_locked, url, table)
        for table in ("horae_jobs", "horae_schedules", "horae_nodes")
    }
    return {
        **tables,
        "server away": partial(server_faults.server_away, server, "immediate"),
        "server frozen": partial(server_faults.frozen, server),
        "server read-only": partial(server_faults.read_only, server),
        "backends terminated": partial(server_faults.backends_terminated, server, 0.5),
        "transaction idle": partial(server_faults.idle_transaction, url),
    }


def report(verdict: Verdict, seed: int) -> int:
    """Print the figures, the findings and the verdict. Return the exit code."""
    print(
        "injected:",
        ", ".join(f"{name} {count}" for name, count in sorted(verdict.injected.items())),
    )
    print(
        "ledger:", ", ".join(f"{name} {count}" for name, count in sorted(verdict.figures.items()))
    )
    for finding in verdict.findings[:20]:
        print("FINDING:", finding)
    if verdict.findings:
        print(f"did not hold (seed {seed}): {len(verdict.findings)} findings")
        return 1
    print(
        f"held (seed {seed}): each nominal time has one decision, no job ran twice, no runs overlap, the totals add up"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
