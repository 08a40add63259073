"""Measures Horae beside raw statements on the same databases in the same run: `python -m benchmarks`.

Ratios are what counts: absolute figures are of one machine on one day. The exit status is 1 if a budget is broken.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    celery,
    drains,
    fires,
    flatness,
    footprint,
    idle,
    inserts,
    latency,
    limits,
    pick_up,
    progress,
    redis,
    schedules,
    search,
)
from benchmarks.conditions import conditions
from benchmarks.figures import Figure
from benchmarks.ground import Grounds, Scale, open_grounds

BENCHMARKS: Mapping[str, Callable[[Grounds, Scale], list[Figure]]] = {
    "single": inserts.single,
    "batch": inserts.batch,
    "shared": inserts.shared,
    "drain": drains.coroutines,
    "threads": drains.functions,
    "group": drains.groups,
    "limits": limits.limits,
    "flatness": flatness.flatness,
    "pickup": pick_up.pick_up,
    "latency": latency.latency,
    "progress": progress.progress,
    "redis": redis.redis,
    "celery": celery.celery,
    "idle": idle.idle,
    "footprint": footprint.footprint,
    "cron": fires.next_after,
    "burst": schedules.burst,
    "registered": schedules.registered,
    "search": search.search,
}


QUICK = Scale(rounds=1, jobs=2000)
PAGE = 150
"""Columns of the output if it goes to no terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    scale = QUICK if options.quick else Scale(rounds=options.rounds, jobs=options.jobs)
    console = Console(width=None if sys.stdout.isatty() else PAGE)
    with open_grounds() as grounds:
        stated = conditions(grounds, scale)
        figures: list[Figure] = []
        for name in options.only or BENCHMARKS:
            with console.status(f"measuring: {name}"):
                figures += BENCHMARKS[name](grounds, scale)
    console.print(
        *(f"[dim]{name}: {value}[/dim]" for name, value in stated.items()),
        sep="\n",
        highlight=False,
    )
    console.print(table(figures))
    if options.json is not None:
        document = {"conditions": stated, "figures": [figure.as_json() for figure in figures]}
        options.json.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    missed = [figure for figure in figures if figure.kept is False]
    for figure in missed:
        console.print(f"[red]falls short:[/red] {figure.shortfall}", highlight=False)
    return 1 if missed else 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every sample to FILE")
    parser.add_argument(
        "--only",
        action="extend",
        type=_names,
        metavar="NAME[,NAME]",
        help=f"measure these: {', '.join(BENCHMARKS)}",
    )
    parser.add_argument(
        "--rounds", type=to_positive, default=Scale().rounds, help="default: %(default)s"
    )
    parser.add_argument(
        "--jobs", type=to_positive, default=Scale().jobs, help="of one drain; default: %(default)s"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a tenth of the work, once: whether all runs, not how fast",
    )
    return parser.parse_args(arguments)


def table(figures: Sequence[Figure]) -> Table:
    result = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("benchmark", "database"):
        result.add_column(name)
    for name in ("Horae", "raw", "ratio", "budget"):
        result.add_column(name, justify="right", no_wrap=True)
    result.add_column("unit")
    result.add_column("")
    for figure in figures:
        result.add_row(*_cells(figure))
    return result


def _cells(figure: Figure) -> tuple[str, ...]:
    colour = {True: "green", False: "red", None: "default"}[figure.kept]
    ratio = "" if figure.ratio is None else f"[{colour}]{figure.ratio:.2f}[/]"
    budget = "" if figure.budget is None else f"[{colour}]{figure.budget}[/]"
    raw = "" if figure.raw is None else str(figure.raw)
    return (
        figure.name,
        figure.database,
        str(figure.horae),
        raw,
        ratio,
        budget,
        figure.unit,
        figure.note,
    )


def _names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in BENCHMARKS:
            raise argparse.ArgumentTypeError(
                f"{name!r} is no benchmark; choose from {', '.join(BENCHMARKS)}"
            )
    return names


def to_positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: expected 1 or more")
    return number


if __name__ == "__main__":
    sys.exit(main())
