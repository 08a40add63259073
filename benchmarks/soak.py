"""Faults for as long as you like: `python -m benchmarks.soak --seconds 600 --seed 1`, or `make soak SECONDS=600 SEED=1`.

Three nodes work in processes of their own on each kind of database, one after the other. They are killed, and stopped
for longer than counts as death, and PostgreSQL itself is restarted. Afterwards every job must have ended, none twice,
with exactly one effect for each that finished. The last line is the verdict; the exit code is 1 if a rule was violated.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random

from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.harness.chaos import Chaos
from tests.harness.figures import quantiles
from tests.harness.postgres import THROW_AWAY, PostgresServer

HELD = "every job ended, none finished twice, one effect for each that finished"


def main() -> int:
    """Run the faults on each database for its share of the time."""
    arguments = _arguments()
    seed = arguments.seed if arguments.seed is not None else Random().randrange(1_000_000)
    databases = [arguments.only] if arguments.only else ["sqlite", "postgresql"]
    print(f"seed {seed}, {arguments.seconds:g} s, at most {arguments.faults} faults, on {' and '.join(databases)}")
    wrong: list[str] = []
    for number, kind in enumerate(databases):
        share = arguments.seconds / len(databases)
        faults = arguments.faults // len(databases)
        wrong += [f"{kind}: {problem}" for problem in _soak(kind, seed + number, share, faults)]
    print(f"DID NOT HOLD with seed {seed}: {'; '.join(wrong)}" if wrong else f"held with seed {seed}: {HELD}")
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=900.0, help="how long to make faults, in all (900)")
    parser.add_argument("--seed", type=int, help="decides the faults and the work, though not their timing (random)")
    parser.add_argument("--faults", type=int, default=200, help="stop after so many faults (200)")
    parser.add_argument("--only", choices=["sqlite", "postgresql"], help="leave the other database out")
    return parser.parse_args()


def _soak(kind: str, seed: int, seconds: float, faults: int) -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="horae-soak-"))
    try:
        with _database(kind, folder) as (database, restart), Chaos(database, folder, seed) as chaos:
            problems = _under_faults(chaos, restart, seconds, faults)
            print(f"{kind}: {chaos.summary()}")
    except Exception as error:  # noqa: BLE001 - what broke the run did not hold either
        problems = [f"{type(error).__name__}: {error}"]
    if problems:
        print(f"{kind}: see {folder}")
    else:
        shutil.rmtree(folder)
    return problems


def _under_faults(chaos: Chaos, restart: Callable[[], None] | None, seconds: float, faults: int) -> list[str]:
    kinds = [(5, chaos.kill), (3, chaos.kill_quickly), (2, chaos.stop_and_go_on)]
    if restart is not None:
        kinds.append((1, restart))
    weights, makers = [weight for weight, _ in kinds], [maker for _, maker in kinds]
    end, made = time.monotonic() + seconds, 0
    while time.monotonic() < end and made < faults:
        chaos.feed()
        chaos.draw.choices(makers, weights)[0]()
        made += 1
        if made % 10 == 0:
            print(f"  {made} faults; rescued within {quantiles(chaos.recoveries)}", flush=True)
    chaos.finish()
    return [f"{len(jobs)} {name}, such as {jobs[0]}" for name, jobs in chaos.problems().items()]


@contextmanager
def _database(kind: str, folder: Path) -> Iterator[tuple[Database, Callable[[], None] | None]]:
    if kind == "sqlite":
        with closing(Database(f"sqlite:///{folder}/horae.db")) as database:
            upgrade(database)
            yield database, None
        return
    with PostgresServer(THROW_AWAY) as server, closing(Database(server.create_database())) as database:
        upgrade(database)
        yield database, partial(server.restart, "immediate")


if __name__ == "__main__":
    sys.exit(main())
