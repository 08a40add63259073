"""A soak: `python -m benchmarks.soak --minutes 60 --seed 1`, or `make soak MINUTES=60 SEED=1`.

Nodes of `horae run` work under a mixed load, with clients and random faults, on each kind of database, one after the
other. Memory, descriptors, threads, tables, latency and rate are measured every few seconds and must stay flat; all jobs
must end as promised. Each line of the table is a rule with its figure and its bound. The exit code is 1 if a rule was
broken.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from random import SystemRandom

from benchmarks.soak.ground import soak
from benchmarks.soak.report import as_json, table
from benchmarks.soak.rules import Bounds
from benchmarks.soak.run import Plan, Result
from horae.cli.serving.process import tune_garbage_collector


def main() -> int:
    """Run on each database for its share of the time, and print the verdicts."""
    given = _arguments()
    seed = SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    kinds = [given.only] if given.only else ["sqlite", "postgresql"]
    results: list[Result] = []
    tune_garbage_collector()
    for number, kind in enumerate(kinds):
        plan = Plan(
            kind=kind,
            seconds=given.minutes * 60 / len(kinds),
            seed=seed + number,
            rate=given.rate,
            fault_pause=(given.pause * 0.5, given.pause * 1.5),
            bounds=Bounds().with_patience(given.patience),
        )
        _say(given, f"{kind}: {plan.seconds:g} s with seed {plan.seed}, {plan.rate:g} jobs/s")
        result = _soak(plan)
        results.append(result)
        if not given.json:
            print(table(result), flush=True)
    if given.json:
        print(json.dumps([as_json(result) for result in results], indent=2))
    broken = [
        f"{result.plan.kind}: {verdict.rule}" for result in results for verdict in result.broken
    ]
    _say(
        given,
        f"BROKEN with seed {seed}: {'; '.join(broken)}"
        if broken
        else f"all rules held with seed {seed}",
    )
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=15.0, help="how long to run, in all (15)")
    parser.add_argument(
        "--seed", type=int, help="decides load and faults, though not their timing (random)"
    )
    parser.add_argument(
        "--rate",
        type=float,
        default=10.0,
        help="jobs per second that are started, beside schedules (10)",
    )
    parser.add_argument(
        "--pause", type=float, default=15.0, help="seconds between two faults, on average (15)"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=1.0,
        help="multiplies all time limits, for a busy machine (1)",
    )
    parser.add_argument(
        "--only", choices=["sqlite", "postgresql"], help="leave the other database out"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON document instead of tables"
    )
    return parser.parse_args()


def _soak(plan: Plan) -> Result:
    folder = Path(tempfile.mkdtemp(prefix="horae-soak-"))
    with soak(plan, folder) as one:
        result = one.run()
    if result.broken:
        print(f"{plan.kind}: logs and bodies.log are in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder)
    return result


def _say(given: argparse.Namespace, text: str) -> None:
    print(text, file=sys.stderr if given.json else sys.stdout, flush=True)


if __name__ == "__main__":
    sys.exit(main())
