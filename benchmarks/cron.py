"""Next fires a second, beside croniter, cronsim and APScheduler: `python -m benchmarks.cron`.

Every library walks the same patterns from the same start. Rounds of all libraries take turns, and
the best round of each counts, so that a busy machine disturbs them alike. Only the walk is timed:
parsing, which some libraries do together with it, is not.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, tzinfo
from functools import partial
from itertools import islice
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger  # type: ignore[import-untyped] # has no types
from croniter import croniter
from cronsim import CronSim

from horae.domain.cron.expression import CronExpression

PATTERNS = ("* * * * *", "*/15 * * * *", "0 3 * * *", "30 8 * * 1-5", "0 12 29 2 *")
ZONES = ("UTC", "Europe/Stockholm")
TARGET = 5  # times croniter

STEPS = 15
"""Fires of one sequence: as many leap days as there are from 2026 to the last year that every library supports."""
ROUNDS = 7
"""Rounds, of which the fastest counts."""
SECONDS_A_ROUND = 0.05
"""Seconds of one round of one library."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The fires per second of every library, for one pattern in one zone."""

    zone: str
    pattern: str
    fires_per_second: dict[str, float]

    @property
    def ratio(self) -> float:
        return self.fires_per_second["horae"] / self.fires_per_second["croniter"]

    def row(self) -> str:
        columns = "".join(f"{each:12,.0f}" for each in self.fires_per_second.values())
        verdict = "" if self.ratio >= TARGET else f"  below {TARGET}"
        return f"{self.zone:17} {self.pattern:14}{columns} {self.ratio:6.1f}x{verdict}"


Walk = Iterator[datetime | None]
Start = Callable[[str, datetime, str], Walk]


def horae(pattern: str, start: datetime, zone: str) -> Walk:
    next_after = CronExpression.parse(pattern, timezone=zone).next_after
    fire: datetime | None = start
    while fire is not None:
        fire = next_after(fire)
        yield fire


def by_croniter(pattern: str, start: datetime, _zone: str) -> Walk:
    cursor = croniter(pattern, start)
    while True:
        yield cursor.get_next(datetime)


def by_cronsim(pattern: str, start: datetime, _zone: str) -> Walk:
    return CronSim(pattern, start)


def by_apscheduler(pattern: str, start: datetime, zone: str) -> Walk:
    # Its weekdays begin with Monday as 0, so subtract one for the same days.
    trigger = CronTrigger.from_crontab(pattern.replace("1-5", "0-4"), timezone=ZoneInfo(zone))
    fire: datetime | None = trigger.get_next_fire_time(None, start)
    while fire is not None:
        fire = trigger.get_next_fire_time(fire, fire)
        yield fire


LIBRARIES: dict[str, Start] = {
    "horae": horae,
    "croniter": by_croniter,
    "cronsim": by_cronsim,
    "APScheduler": by_apscheduler,
}


def rate(start: Callable[[], Walk]) -> float:
    """Return the fires per second over one round of short sequences."""
    spent, fires = 0.0, 0
    while spent < SECONDS_A_ROUND:
        walk = start()
        next(walk)  # starts the generator
        began = time.perf_counter()
        fires += sum(1 for _ in islice(walk, STEPS))
        spent += time.perf_counter() - began
    return fires / spent


def measure(pattern: str, zone: str, rounds: int) -> Figure:
    info: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
    start = datetime(2026, 1, 1, tzinfo=info)
    best = dict.fromkeys(LIBRARIES, 0.0)
    for _ in range(rounds):
        for name, library in LIBRARIES.items():
            best[name] = max(best[name], rate(partial(library, pattern, start, zone)))
    return Figure(zone, pattern, best)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print figures instead of a table")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    figures = [measure(pattern, zone, options.rounds) for zone in ZONES for pattern in PATTERNS]
    if options.json:
        listed = [asdict(figure) | {"times_croniter": figure.ratio} for figure in figures]
        print(json.dumps(listed, indent=2))
        return
    print(f"{'zone':17} {'pattern':14}" + "".join(f"{name:>12}" for name in LIBRARIES) + "   ratio")
    for figure in figures:
        print(figure.row())


if __name__ == "__main__":
    main()
