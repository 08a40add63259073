"""Measures Horae beside raw statements on the same databases in the same run: `python -m benchmarks`.

Ratios are what counts: absolute figures are of one machine on one day. The exit status is 1 if a budget is broken.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence

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
from benchmarks.command import (
    page,
    parser_of,
    print_conditions,
    print_missed,
    table,
    write_json,
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


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    scale = QUICK if options.quick else Scale(rounds=options.rounds, jobs=options.jobs)
    console = page()
    with open_grounds() as grounds:
        stated = conditions(grounds, scale)
        figures: list[Figure] = []
        for name in options.only or BENCHMARKS:
            with console.status(f"measuring: {name}"):
                figures += BENCHMARKS[name](grounds, scale)
    print_conditions(console, stated)
    console.print(table(figures))
    write_json(
        options.json,
        {"conditions": stated, "figures": [figure.as_json() for figure in figures]},
    )
    return 1 if print_missed(console, figures) else 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    return parser_of(
        "benchmarks",
        __doc__,
        BENCHMARKS,
        Scale(),
        noun="benchmark",
        quick="a tenth of the work, once: whether all runs, not how fast",
    ).parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
