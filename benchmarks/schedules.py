"""Schedules: ten thousand due in one second; a hundred thousand and a million registered. `python -m benchmarks.schedules`.

The first prints how late the bodies began; the second what an idle node costs: memory, CPU, the time of a reload.
"""

import argparse
import asyncio
import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, text

from horae import Horae
from horae.domain.ring import PARTITIONS, Ring
from horae.domain.schedule import Rules
from horae.storage import schedules
from horae.storage.database import Database
from horae.storage.migrations import runner
from horae.storage.standing import rules_as_json
from horae.types.schedule import trigger_of
from tests.harness.postgres import PostgresServer

CONCURRENCY: Final = 500
IDLE_SECONDS: Final = 10.0

REGISTER: Final = """
INSERT INTO horae_schedules (name, module, job_type, trigger_kind, trigger, timezone, queue, priority, rules, enabled,
    partition, state, next_start, last_tick, created_at)
SELECT 's' || n, '', 'noop', 'cron', :cron, 'UTC', 'default', 0, CAST(replace(:rules, '#', 's' || n) AS {json}),
    TRUE, n % {partitions}, 'idle', {due}, {now}, {now}
FROM (WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
      SELECT n FROM numbers) AS generated
"""


def register(connection: Connection, count: int, due: datetime) -> None:
    """Write many schedules by plain SQL: how they got there is not what is measured."""
    postgres = connection.dialect.name == "postgresql"
    statement = REGISTER.format(
        json="jsonb" if postgres else "text",
        partitions=PARTITIONS,
        due=f"CAST('{due.isoformat()}' AS timestamptz)" if postgres else int(due.timestamp() * 1e6),
        now="statement_timestamp()" if postgres else "horae_now()",
    )
    cron = f"{due.second} {due.minute} {due.hour} {due.day} {due.month} *"
    rules = rules_as_json(Rules(key="#", trigger=trigger_of({"cron": cron})))
    connection.execute(text(statement), {"count": count, "rules": rules, "cron": cron})
    connection.execute(text("INSERT INTO horae_schedule_statistics (schedule_id) SELECT id FROM horae_schedules"))


def clear(connection: Connection) -> None:
    """Forget all schedules and their jobs."""
    for table in ("horae_ticks", "horae_schedule_statistics", "horae_schedules", "horae_job_attempts", "horae_jobs"):
        connection.execute(text(f"DELETE FROM {table}"))


async def burst(horae: Horae, count: int) -> dict[str, float]:
    """`count` schedules due in the same second: when did their bodies begin?"""
    began: list[float] = []
    everybody = asyncio.Event()

    @horae.job(name="noop", max_count=None)
    async def noop() -> None:
        began.append(time.time())
        if len(began) == count:
            everybody.set()

    due = datetime.fromtimestamp(int(time.time()) + 8, UTC)
    await horae.parts.database.transact_async(register, count, due)
    node = horae.node(concurrency=CONCURRENCY)
    async with asyncio.TaskGroup() as group:
        group.create_task(node.run())
        async with asyncio.timeout(120):
            await everybody.wait()
        node.stop()
    late = sorted(moment - due.timestamp() for moment in began)
    return {"last start": late[-1], "p50": statistics.median(late), "p99": late[int(len(late) * 0.99)]}


async def idle(horae: Horae, count: int) -> dict[str, float]:
    """`count` schedules registered, none due: what does a node cost?"""
    database = horae.parts.database
    await database.transact_async(register, count, datetime.now(UTC) + timedelta(days=30))
    node = horae.node()
    async with asyncio.TaskGroup() as group:
        memory = resident()
        group.create_task(node.run())
        await node.ready.wait()
        await asyncio.sleep(2)
        cpu = time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        used = time.process_time() - cpu
        grown = resident() - memory
        reloads = {nodes: await reload_time(database, nodes) for nodes in (1, 3, 10)}
        node.stop()
    return {
        "memory MiB": grown,
        "CPU ms/s": used / IDLE_SECONDS * 1000,
        **{f"reload ms, {nodes} nodes": took * 1000 for nodes, took in reloads.items()},
    }


async def reload_time(database: Database, nodes: int) -> float:
    """Seconds to load what is due soon of one node's partitions, of so many nodes."""
    names = [f"n{number}" for number in range(nodes)]
    mine = Ring(names).partitions_of(names[0])  # type: ignore[arg-type]  # any text is a node's id
    times = []
    for _ in range(5):
        started = time.perf_counter()
        await database.autocommit_async(schedules.due, mine, 80.0)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def resident() -> float:
    """Resident memory of this process, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def measure(url: str, counts: Sequence[int], crowd: int) -> dict[str, dict[str, float]]:
    """All figures of one database."""
    with closing(Database(url)) as database:
        runner.upgrade(database)
    results: dict[str, dict[str, float]] = {}
    with closing(Horae(url)) as horae:
        results[f"{crowd:,} due at once"] = asyncio.run(burst(horae, crowd))
        for count in counts:
            horae.parts.database.transact(clear)
            results[f"{count:,} registered"] = asyncio.run(idle(horae, count))
    return results


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--counts", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--crowd", type=int, default=10_000)
    given = parser.parse_args()
    results: dict[str, Any] = {}
    with PostgresServer() as server:
        results["postgresql"] = measure(server.create_database(), given.counts, given.crowd)
    with tempfile.TemporaryDirectory() as folder:
        results["sqlite"] = measure(f"sqlite:///{Path(folder) / 'horae.db'}", given.counts, given.crowd)
    if given.json:
        print(json.dumps(results))
        return 0
    table = Table("database", "what", "figures", title="Schedules")
    for database, rows in results.items():
        for what, figures in rows.items():
            table.add_row(database, what, ", ".join(f"{name} {value:,.3g}" for name, value in figures.items()))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
