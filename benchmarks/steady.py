"""Half an hour at half load: `python -m benchmarks.steady`, on each database for `--minutes`.

A node in a process of its own runs jobs that do nothing, as many a second as half of what it drained at first, and
deletes ended ones after a sixth of the time. For another sixth of the time, from the middle on, a transaction stays open
as that of a long report does. Each minute has its row: rates, waits, rows, dead rows, bytes. Before, within and after that
transaction a backlog is drained as well, because half load has room for a loss. The exit status is 1 if the rate falls, or
does not come back, or if the tables grow.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from rich.table import Table
from sqlalchemy import Connection, TextClause, select, text

from benchmarks.application import Measured
from benchmarks.command import page, print_missed, table, to_positive
from benchmarks.figures import Budget, Figure, Samples, percentile
from benchmarks.ground import Ground, opened
from benchmarks.running import node_process
from horae.domain.jobs import JobId
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.jobs import reading
from horae.storage.jobs.tables import jobs
from tests.harness.postgres import PostgresServer

Phase = Literal["before", "within", "after"]
BACKLOG: Final = 50_000
BURSTS: Final = 3
"""Backlogs in each phase."""
STEP: Final = 0.05
"""Seconds between two batches of the steady load."""
SAMPLED: Final = 5_000
"""The newest ended jobs, whose waits are read each minute."""
PAUSE: Final = 0.01
HELD_BACK: Final = Budget("ratio at least", 0.95)
GROWN: Final = Budget("at most", 1.2)
_READY: Final = "FROM horae_jobs WHERE state = 'pending' AND waits_for IS NULL AND sent_at IS NULL"
_HELD: Final = "FROM horae_jobs WHERE node_id IS NOT NULL"
OPEN: Final = text(f"SELECT (SELECT count(*) {_READY}) + (SELECT count(*) {_HELD})")
ANY_OPEN: Final = text(f"SELECT EXISTS (SELECT 1 {_READY}) OR EXISTS (SELECT 1 {_HELD})")
NEWEST: Final = (
    select(jobs.c.created_at, jobs.c.started_at)
    .where(jobs.c.started_at.is_not(None))
    .order_by(jobs.c.id.desc())
    .limit(SAMPLED)
)
SIZES: Final = text(
    "SELECT sum(pg_total_relation_size(relid)) / 1e6, sum(n_live_tup), sum(n_dead_tup) FROM pg_stat_user_tables"
    " WHERE relname IN ('horae_jobs', 'horae_job_attempts')"
)


@dataclass(frozen=True, slots=True)
class Minute:
    """What was measured at the end of a minute; `waits`: milliseconds from the insert to the start."""

    phase: Phase
    started: float
    ended: float
    waiting: int
    waits: Sequence[float]
    megabytes: float
    rows: int | None
    dead: int | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each minute and what follows from them, and return 1 if a budget is broken."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=to_positive, default=30, help="default: %(default)s")
    parser.add_argument("--only", choices=["postgresql", "sqlite"], help="only this database")
    given = parser.parse_args(arguments)
    console, figures = page(), list[Figure]()
    for kind in [given.only] if given.only else ["postgresql", "sqlite"]:
        with _ground(kind) as ground, console.status(f"{ground.name}: {given.minutes} minutes"):
            steady = Steady(ground, given.minutes)
            steady.run()
        console.print(steady.rows())
        figures += steady.figures()
    console.print(table(figures))
    return 1 if print_missed(console, figures) else 0


@contextmanager
def _ground(kind: str) -> Iterator[Ground]:
    with ExitStack() as stack:
        if kind == "postgresql":
            url = stack.enter_context(PostgresServer()).create_database()
        else:
            folder = stack.enter_context(TemporaryDirectory(prefix="horae-steady-"))
            url = f"sqlite:///{Path(folder) / 'horae.db'}"
        yield stack.enter_context(opened(url))


class Steady:
    """One run on one database."""

    def __init__(self, ground: Ground, minutes: int) -> None:
        self.ground, self.minutes = ground, minutes
        self.application: Measured = ground.application
        self.database: Database = ground.application.horae.components.database
        self.sixth = max(1, minutes // 6)
        self.began = time.monotonic()
        self.measured = list[Minute]()
        self.drained: dict[Phase, list[float]] = {"before": [], "within": [], "after": []}

    def run(self) -> None:
        """Run the load of all phases, each followed by backlogs."""
        keep = timedelta(minutes=self.sixth)
        before = self.minutes // 2
        with node_process(self.ground.url, keep=keep):
            self._wait_for_none()
            rate = statistics.median(self._drain() for _ in range(BURSTS)) / 2
            self._phase("before", before, rate)
            with self.database.snapshot() as report:
                report.execute(NEWEST).all()
                self._phase("within", self.sixth, rate)
            self._phase("after", max(1, self.minutes - before - self.sixth), rate)

    def _phase(self, phase: Phase, minutes: int, rate: float) -> None:
        for _ in range(minutes):
            self.measured.append(self._minute(phase, rate))
        for _ in range(BURSTS):
            self.drained[phase].append(self._drain())

    def _minute(self, phase: Phase, rate: float) -> Minute:
        began, due, before, started = time.monotonic(), 0.0, self._read(OPEN), 0
        while (now := time.monotonic()) < began + 60:
            due = (now - began) * rate
            if (count := int(due) - started) > 0:
                self._start(count)
                started += count
            time.sleep(STEP)
        took, left = time.monotonic() - began, self._read(OPEN)
        newest = self.database.autocommit(lambda connection: connection.execute(NEWEST).all())
        waits = [(begun - created).total_seconds() * 1000 for created, begun in newest]
        megabytes, rows, dead = self.database.autocommit(self._sizes)
        ended = started + before - left
        return Minute(phase, started / took, ended / took, left, waits, megabytes, rows, dead)

    def _drain(self) -> float:
        """Start a backlog, and return the jobs per second until the last has ended."""
        began = time.monotonic()
        last = self._start(BACKLOG)
        # The last job is read by its id: a search for open jobs would read the index entries of all
        # that have ended during an old transaction, again and again.
        while (job := self.database.autocommit(reading.get, last)) and job.finished_at is None:
            time.sleep(PAUSE)
        self._wait_for_none()
        return BACKLOG / (time.monotonic() - began)

    def _start(self, count: int) -> JobId:
        """Start so many jobs, and return the last one."""
        return self.application.horae.jobs.start_many(self.application.noop, [{}] * count)[-1]

    def _wait_for_none(self) -> None:
        while self._read(ANY_OPEN):
            time.sleep(PAUSE)

    def _read(self, asked: TextClause) -> int:
        found: int = self.database.autocommit(lambda each: each.execute(asked).scalar_one())
        return found

    def _sizes(self, connection: Connection) -> tuple[float, int | None, int | None]:
        if self.database.dialect == POSTGRESQL:
            megabytes, rows, dead = connection.execute(SIZES).one()
            return float(megabytes), int(rows), int(dead)
        file = Path(self.ground.url.removeprefix("sqlite:///"))
        files = [file, file.with_name(f"{file.name}-wal")]
        return sum(each.stat().st_size for each in files if each.exists()) / 1e6, None, None

    def rows(self) -> Table:
        """Return the table of the minutes."""
        result = Table(box=None, pad_edge=False, title=self.ground.name, title_justify="left")
        names = ("minute", "started/s", "ended/s", "open", "wait p50, ms", "p99", "MB")
        for name in (*names, "rows", "dead rows"):
            result.add_column(name, justify="right")
        result.add_column("transaction")
        for number, each in enumerate(self.measured, 1):
            counts = ("" if count is None else f"{count:,}" for count in (each.rows, each.dead))
            result.add_row(
                str(number),
                f"{each.started:,.0f}",
                f"{each.ended:,.0f}",
                f"{each.waiting:,}",
                f"{percentile(each.waits, 0.5):.0f}",
                f"{percentile(each.waits, 0.99):.0f}",
                f"{each.megabytes:,.0f}",
                *counts,
                each.phase,
            )
        return result

    def figures(self) -> list[Figure]:
        """Return the rates of each phase beside those before the transaction, and how the tables grew."""
        found = list[Figure]()
        name = self.ground.name
        before = [each.ended for each in self.measured if each.phase == "before"]
        for phase in ("within", "after"):
            ended = [each.ended for each in self.measured if each.phase == phase]
            for what, ours, theirs in (
                ("half load", ended, before),
                ("backlog", self.drained[phase], self.drained["before"]),
            ):
                both = Samples.of(ours), Samples.of(theirs)
                note = "the raw side is Horae before the transaction"
                found.append(Figure(f"{what}, {phase}", name, "jobs/s", *both, HELD_BACK, note))
        # The tables have their size once the first jobs have been deleted.
        settled = self.measured[min(2 * self.sixth, len(self.measured) - 1)].megabytes
        grown = Samples.of([self.measured[-1].megabytes / settled])
        note = f"at the end beside minute {2 * self.sixth + 1}, {settled:,.0f} MB"
        return [*found, Figure("size of the tables", name, "times", grown, None, GROWN, note)]


if __name__ == "__main__":
    sys.exit(main())
