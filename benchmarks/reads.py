"""How soon the API answers each request of the dashboard over many jobs: `python -m benchmarks.reads`.

A million ended and waiting jobs on PostgreSQL, 20,000 on SQLite, in 60 queues, with 25 schedules and 30 days of
history. The figure is the time within the process, without a network; 200 ms is the budget at the 99th percentile.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import psycopg
from sqlalchemy import Connection, text

from benchmarks.growth import ATTEMPTS, NUMBERED
from horae import Horae
from horae.cli.serving.process import tune_garbage_collector
from horae.domain.history import LENGTHS, Figures, Gauges, Named, floor
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.history.writing import BEGIN, PUT
from horae.storage.migrations.runner import upgrade
from tests.api.clients import application_of, client_of
from tests.harness.postgres import PostgresServer

BUDGET: Final = 200.0
"""Milliseconds."""
QUEUES: Final = 60
TYPES: Final = 20
PATHS: Final = (
    "/api/overview/",
    "/api/queues/",
    "/api/nodes/",
    "/api/everything/",
    "/api/limits/",
    "/api/deployments/",
    "/api/audit/",
    "/api/audit/?kind=schedule",
    "/api/jobs/?limit=50",
    "/api/jobs/?limit=50&states=failed",
    "/api/jobs/?limit=50&query=queue:queue-7 state:pending",
    "/api/jobs/?limit=50&query=since:yesterday",
    "/api/jobs/?limit=50&query=owner:user-3",
    "/api/jobs/?limit=50&order=oldest",
    "/api/jobs/?limit=50&order=last_ended",
    "/api/jobs/?limit=50&order=first_ended",
    "/api/jobs/?limit=50&order=last_ended&states=failed",
    "/api/jobs/?limit=50&order=last_ended&query=owner:user-3",
    "/api/jobs/?limit=50&order=last_ended&query=type:type-7 queue:queue-7",
    "/api/jobs/counts/",
    "/api/jobs/counts/?query=queue:queue-7",
    "/api/jobs/{job}/",
    "/api/jobs/{job}/why/",
    "/api/jobs/{waiting}/why/",
    "/api/jobs/{job}/attempts/",
    "/api/jobs/{job}/logs/",
    "/api/errors/?since=1h",
    "/api/errors/?since=24h",
    "/api/errors/?since=7d",
    "/api/errors/?since=30d",
    "/api/schedules/?limit=100",
    "/api/schedules/{schedule}/",
    "/api/schedules/{schedule}/ticks/",
    "/api/schedules/{schedule}/why/",
    "/api/schedules/lanes/?ids={schedules}&hours=24",
    "/api/schedules/lanes/?ids={schedules}&hours=168",
    "/api/history/?span=1h",
    "/api/history/?span=24h",
    "/api/history/?span=30d",
    "/api/history/?scope=queue&name=queue-7&span=7d",
    "/api/history/?scope=queue&name=queue-7&span=30d",
    "/api/history/?scope=type&name=type-7&span=30d",
    "/api/history/queues/?span=1h",
    "/api/history/queues/?span=24h",
    "/api/history/queues/?span=7d",
    "/api/history/queues/?span=30d",
    "/api/history/types/?span=1h",
    "/api/history/types/?span=24h",
    "/api/history/types/?span=7d",
    "/api/history/types/?span=30d",
)
_JOBS: Final = """
    INSERT INTO horae_jobs (type, queue, priority, state, owner, params, error, human_readable_error, lease, attempt,
                            run_at, created_at, updated_at, started_at, finished_at)
    SELECT 'type-' || (n % 20), 'queue-' || (n % 60), 0,
           CASE WHEN n % 50 = 1 THEN 'pending' WHEN n % 40 = 0 THEN 'failed' ELSE 'finished' END,
           CASE WHEN n % 3 = 0 THEN 'user-' || (n % 1000) END, {params},
           CASE WHEN n % 40 = 0 AND n % 50 <> 1 THEN 'TimeoutError: host-' || (n % 97) END,
           CASE WHEN n % 40 = 0 AND n % 50 <> 1 THEN 'Too slow.' END,
           CASE WHEN n % 50 = 1 THEN 0 ELSE 1 END, CASE WHEN n % 50 = 1 THEN 0 ELSE 1 END,
           at, at, at, CASE WHEN n % 50 <> 1 THEN at END, CASE WHEN n % 50 <> 1 THEN at END FROM numbered
"""
_PARAMS: Final = {
    POSTGRESQL: "jsonb_build_object('path', '/data/' || n || '.csv')",
    "sqlite": "json_object('path', '/data/' || n || '.csv')",
}


def main() -> int:
    """Print the figures. Return 1 if one exceeds the budget on PostgreSQL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="a part of the paths to measure")
    given = parser.parse_args()
    slow = False
    tune_garbage_collector()  # as `horae run` does
    with databases() as urls:
        for kind, url in urls:
            count = given.jobs if kind == "PostgreSQL" else 20_000
            with closing(Horae(url)) as horae, closing(Database(url)) as database:
                upgrade(database)
                ids = fill(horae, database, url, count)
                for path in PATHS:
                    if given.only in path:
                        took = asyncio.run(measure(horae, path.format(**ids), given.rounds))
                        late = took[-1] > BUDGET
                        slow = slow or (late and kind == "PostgreSQL")
                        print(
                            f"{kind:<11} {path:<60} {took[len(took) // 2]:6.0f} ms, at most {took[-1]:6.0f}"
                            f"{'  !' if late else ''}",
                            flush=True,
                        )
    return int(slow)


async def measure(horae: Horae, path: str, rounds: int) -> list[float]:
    """Return the milliseconds of some requests in order, without the first one."""
    app = application_of(horae)
    took: list[float] = []
    async with client_of(app, "root") as client:
        for number in range(rounds + 1):
            began = time.perf_counter()
            answer = await client.get(path)
            if number:
                took.append(1000 * (time.perf_counter() - began))
            if answer.status_code != 200:
                raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:300]}")
    return sorted(took)


@contextmanager
def databases() -> Generator[list[tuple[str, str]]]:
    """Yield a new database of each kind: its name and its URL."""
    with TemporaryDirectory(prefix="horae-reads-") as place, PostgresServer() as server:
        yield [
            ("SQLite", f"sqlite:///{Path(place) / 'horae.db'}"),
            ("PostgreSQL", server.create_database()),
        ]


def fill(horae: Horae, database: Database, url: str, count: int) -> dict[str, Any]:
    """Fill all tables, and return the ids that paths name."""

    @horae.job
    def work() -> None:
        """Do nothing."""

    schedules = [
        horae.schedules.add("work", name=f"schedule {number}", cron=f"{number} * * * *").id
        for number in range(25)
    ]
    jobs = NUMBERED[database.dialect] + _JOBS.format(params=_PARAMS[database.dialect])
    database.transact(
        lambda connection: connection.execute(text(jobs), {"first": 1, "last": count, "all": count})
    )
    database.transact(lambda connection: connection.execute(text(ATTEMPTS), {"after": 0}))
    database.transact(fill_history, datetime.now(UTC))
    if database.dialect == POSTGRESQL:  # as autovacuum does within minutes
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
    find = "SELECT max(id) FROM horae_jobs WHERE state = '{}'"

    def newest(connection: Connection, state: str) -> Any:
        return connection.execute(text(find.format(state))).scalar_one()

    return {
        "job": database.autocommit(newest, "failed"),
        "waiting": database.autocommit(newest, "pending"),
        "schedule": schedules[0],
        "schedules": ",".join(map(str, schedules)),
    }


def fill_history(connection: Connection, now: datetime) -> None:
    """Write the buckets of 30 days, as nodes would have."""
    gauges = Gauges(waiting=40, lateness=1.5, slots=100, slots_used=9)
    durations = dict.fromkeys(range(8, 18), 50)
    of_queue = Figures(finished=700, failed=20, gauges=gauges)
    of_type = Figures(finished=2000, failed=60, waits=durations, runs=durations, gauges=gauges)
    parts = {
        "everything": json.dumps(of_type.as_json()),
        "queues": json.dumps(Named({f"queue-{n}": of_queue for n in range(QUEUES)}).as_json()),
        "types": json.dumps(Named({f"type-{n}": of_type for n in range(TYPES)}).as_json()),
    }
    reached = floor(now, LENGTHS[0].seconds)
    for length in LENGTHS:
        end = floor(now, length.seconds)
        number = min(length.kept, 30 * 86_400) // length.seconds
        rows = [
            {
                "seconds": length.seconds,
                "start": end - back * timedelta(seconds=length.seconds),
                **parts,
            }
            for back in range(1, number + 1)
        ]
        connection.execute(PUT, rows)
    connection.execute(BEGIN, {"until": reached, "behind": "{}"})


if __name__ == "__main__":
    sys.exit(main())
