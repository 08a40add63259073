"""Whether a table that grows slows starts and drains down: `python -m benchmarks.growth`.

Two databases on one server take turns: one is empty before each turn, the other has as many ended jobs as named, each
with its attempt, over 30 days. The exit status is 1 if one is slower than the budget allows.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from sqlalchemy import Connection, text

from benchmarks.command import page, print_missed, table
from benchmarks.drains import CONCURRENCY
from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Ground, opened
from benchmarks.running import drain
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL
from tests.harness.postgres import PostgresServer

FLAT: Final = Budget("ratio at least", 0.9)
JOBS: Final = 20_000
SLICES: Final = 20
STARTS: Final = 50
"""Jobs that are started one by one in each slice of a round."""
CHUNK: Final = 500_000
"""Rows of one transaction while a table is filled."""
_JOBS: Final = """
    INSERT INTO horae_jobs (type, queue, priority, state, params, max_attempts, meta, lease, attempt,
                            run_at, created_at, updated_at, started_at, finished_at)
    SELECT 'type-' || (n % 20), 'queue-' || (n % 60), 0, CASE WHEN n % 40 = 0 THEN 'failed' ELSE 'finished' END,
           NULL, 1, '{}', 1, 1, at, at, at, at, at FROM numbered
"""
NUMBERED: Final = {
    POSTGRESQL: """WITH numbered AS (
        SELECT n, now() - (:all - n) * interval '30 days' / :all AS at
        FROM generate_series(CAST(:first AS int), CAST(:last AS int)) n)""",
    "sqlite": """WITH RECURSIVE numbers (n) AS (
        SELECT :first UNION ALL SELECT n + 1 FROM numbers WHERE n < :last),
        numbered AS (SELECT n, horae_now() - (:all - n) * (2592000000000 / :all) AS at FROM numbers)""",
}
ATTEMPTS: Final = """
    INSERT INTO horae_job_attempts (job_id, lease, attempt, node_id, started_at, finished_at, outcome, error)
    SELECT id, 1, 1, 'n1', started_at, finished_at, state, error FROM horae_jobs WHERE id > :after AND lease = 1
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table, and return 1 if a budget is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ended", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["PostgreSQL", "SQLite"])
    given = parser.parse_args(arguments)
    console, figures = page(), list[Figure]()
    with pairs() as found:
        for empty, full in found:
            if given.only in (None, full.name):
                lying = 0
                for count in sorted(given.ended):
                    with console.status(f"{full.name}: {count:,} ended jobs"):
                        fill(full, lying, count)
                        lying = count
                        figures += measured(empty, full, count, given.rounds)
    console.print(table(figures))
    return 1 if print_missed(console, figures) else 0


@contextmanager
def pairs() -> Iterator[list[tuple[Ground, Ground]]]:
    """Yield two empty databases of each kind."""
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer())
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="horae-growth-")))
        urls = [
            (server.create_database(), server.create_database()),
            (f"sqlite:///{folder / 'empty.db'}", f"sqlite:///{folder / 'full.db'}"),
        ]
        yield [
            (stack.enter_context(opened(one)), stack.enter_context(opened(other)))
            for one, other in urls
        ]


def fill(ground: Ground, lying: int, count: int) -> None:
    """Add ended jobs until there are `count`, and collect statistics, as the server does in time."""
    database = ground.application.horae.components.database
    numbered = NUMBERED[database.dialect]

    def add(connection: Connection, first: int, last: int) -> None:
        newest = connection.execute(text("SELECT coalesce(max(id), 0) FROM horae_jobs"))
        after = newest.scalar_one()
        connection.execute(text(numbered + _JOBS), {"first": first, "last": last, "all": count})
        connection.execute(text(ATTEMPTS), {"after": after})

    with without_indexes(database):
        for first in range(lying + 1, count + 1, CHUNK):
            database.transact(add, first, min(first + CHUNK - 1, count))
    ground.raw.end_all()


@contextmanager
def without_indexes(database: Database) -> Iterator[None]:
    """Drop the indexes of both tables on PostgreSQL, and build them afterwards, which is several times faster."""
    if database.dialect != POSTGRESQL:
        yield
        return
    of_tables = text(
        "SELECT indexname, indexdef FROM pg_indexes JOIN pg_class ON relname = indexname"
        " JOIN pg_index ON indexrelid = pg_class.oid WHERE NOT indisprimary"
        " AND tablename IN ('horae_jobs', 'horae_job_attempts')"
    )
    found = database.autocommit(lambda connection: connection.execute(of_tables).all())
    database.transact(execute_each, [f"DROP INDEX {name}" for name, _ in found])
    yield
    database.transact(execute_each, [definition for _, definition in found])


def execute_each(connection: Connection, statements: Sequence[str]) -> None:
    for statement in statements:
        connection.exec_driver_sql(statement)


def measured(empty: Ground, full: Ground, count: int, rounds: int) -> list[Figure]:
    """Return the rates of both, in turns."""
    starts: tuple[list[float], list[float]] = [], []
    drains: tuple[list[float], list[float]] = [], []
    for _ in range(rounds):
        empty.clear()
        both = list(enumerate((empty, full)))
        spent = [0.0, 0.0]
        for _ in range(SLICES):
            for side, ground in both:
                spent[side] += _start_some(ground)
        for side, ground in both:
            starts[side].append(SLICES * STARTS / spent[side])
            ground.raw.end_all()
        for side, ground in both:
            ground.application.horae.jobs.start_many(ground.application.noop, [{}] * JOBS)
            drains[side].append(drain(ground, JOBS, CONCURRENCY))
    note = "the raw side is Horae on an empty table"
    return [
        Figure(
            f"{name}, {count:,} ended jobs",
            full.name,
            "jobs/s",
            Samples.of(with_ended),
            Samples.of(without),
            FLAT,
            note,
        )
        for name, (without, with_ended) in (("single", starts), ("drain", drains))
    ]


def _start_some(ground: Ground) -> float:
    """Start jobs one by one, and return the seconds."""
    start, noop = ground.application.horae.jobs.start, ground.application.noop
    began = time.perf_counter()
    for _ in range(STARTS):
        start(noop)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
