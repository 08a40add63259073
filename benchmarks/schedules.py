"""Schedules: many that are due in the same second, and very many that are registered and not due."""

import asyncio
import json
import resource
import statistics
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, event, text

from benchmarks.figures import Budget, Figure, Samples, percentile
from benchmarks.ground import Ground, Grounds, Scale
from benchmarks.running import run_until
from horae.domain.cluster.ring import PARTITIONS, Ring
from horae.domain.jobs.job import NodeId
from horae.domain.schedules.schedule import Rules
from horae.runtime.timing import ControllerTiming
from horae.storage.schedules import firing
from horae.storage.schedules.rows import rules_as_values
from horae.types.schedule import trigger_of

CONCURRENCY: Final = 500
"""Slots of the node, so many that bodies do not wait for each other."""
NOTICE: Final = 8.0
"""Seconds from the registration to the moment at which all are due."""
NODES: Final = (1, 3, 10)
"""Numbers of nodes among which the schedules are divided."""
LATE: Final = Budget("at most", 1.0)
QUERIES: Final = Budget("at most", 2.0)
SETTLING: Final = 2.0
"""Seconds after the start of a node that do not count."""

REGISTER: Final = """
INSERT INTO horae_schedules (name, module, job_type, trigger_kind, trigger, timezone, queue, priority, rules, enabled,
    partition, state, next_start, last_tick, created_at, updated_at)
SELECT 's' || n, '', 'begin', 'cron', :cron, 'UTC', 'default', 0,
    CAST(replace(:rules, '#', 's' || n) AS {json}), TRUE, n % {partitions}, 'idle', {due}, {now}, {now}, {now}
FROM (WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
      SELECT n FROM numbers) AS generated
"""


def burst(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure when the bodies of all schedules due in one second began: the last one, the median and the 99th percentile."""
    count = scale.share(2)
    figures: list[Figure] = []
    for ground in grounds:
        rounds = [_burst(ground, count) for _ in range(scale.rounds)]
        note = ", ".join(
            f"p{share} {statistics.median(percentile(late, share / 100) for late in rounds):.2f} s"
            for share in (50, 99)
        )
        lasts = Samples.of([late[-1] for late in rounds])
        figures.append(
            Figure(f"last of {count:,} due at once", ground.name, "s late", lasts, None, LATE, note)
        )
    _clear(grounds)
    return figures


def _burst(ground: Ground, count: int) -> list[float]:
    """Return the seconds from the due time to the begin of each body, sorted."""
    _clear([ground])
    database = ground.application.horae.components.database
    began: list[float] = []
    due = datetime.fromtimestamp(int(time.time() + NOTICE), UTC)
    database.transact(_register, count, due)

    async def all_begun() -> float:
        complete = asyncio.Event()

        def note(moment: float) -> None:
            began.append(moment)
            if len(began) == count:
                complete.set()

        ground.application.begins = note
        async with asyncio.timeout(60):
            await complete.wait()
        return 0.0

    run_until(ground, all_begun, CONCURRENCY)
    return sorted(moment - due.timestamp() for moment in began)


def registered(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure the cost of an idle node with many schedules, none of them due within days."""
    figures: list[Figure] = []
    for ground in grounds:
        for count in (0, scale.share(1) * 5, scale.share(1) * 50):
            figures += _idle(ground, count, seconds=scale.share(2000, least=1))
    _clear(grounds)
    return figures


def _idle(ground: Ground, count: int, seconds: int) -> list[Figure]:
    _clear([ground])
    database = ground.application.horae.components.database
    database.transact(_register, count, datetime.now(UTC) + timedelta(days=30))
    before = _resident()
    measured: dict[str, float] = {}
    run_until(ground, partial(_watch, measured, seconds), CONCURRENCY)
    reloads = {nodes: _reload_time(ground, nodes) for nodes in NODES}
    memory = f"{max(_resident() - before, 0.0):.1f} MiB more memory"
    reload_note = "reload " + ", ".join(
        f"{took * 1000:.2g} ms of {nodes} nodes" for nodes, took in reloads.items()
    )
    name = f"{count:,} registered"
    busy, asked = Samples.of([measured["busy"]]), Samples.of([measured["queries"]])
    return [
        Figure(name, ground.name, "ms CPU/s", busy, None, None, memory),
        Figure(name, ground.name, "queries/s", asked, None, QUERIES, reload_note),
    ]


async def _watch(measured: dict[str, float], seconds: int) -> float:
    """Measure the CPU time and the statements of this process, in which one idle node runs."""
    count = 0

    def one_more(*_: object) -> None:
        nonlocal count
        count += 1

    await asyncio.sleep(SETTLING)
    event.listen(Engine, "before_cursor_execute", one_more)
    began, busy = time.perf_counter(), time.process_time()
    await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    measured.update(busy=(time.process_time() - busy) / took * 1000, queries=count / took)
    event.remove(Engine, "before_cursor_execute", one_more)
    return 0.0


def _reload_time(ground: Ground, nodes: int) -> float:
    """Measure the seconds to load the schedules that are due soon, for one of so many nodes."""
    names = [NodeId(f"n{number}") for number in range(nodes)]
    mine = Ring(names).partitions_of(names[0])
    times: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        ground.application.horae.components.database.autocommit(
            firing.due, mine, ControllerTiming().horizon
        )
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _register(connection: Connection, count: int, due: datetime) -> None:
    """Insert many schedules by plain SQL: their creation is not measured."""
    postgres = connection.dialect.name == "postgresql"
    statement = REGISTER.format(
        json="jsonb" if postgres else "text",
        partitions=PARTITIONS,
        due=f"CAST('{due.isoformat()}' AS timestamptz)" if postgres else int(due.timestamp() * 1e6),
        now="statement_timestamp()" if postgres else "horae_now()",
    )
    cron = f"{due.second} {due.minute} {due.hour} {due.day} {due.month} *"
    rules = json.dumps(rules_as_values(Rules(key="#", trigger=trigger_of({"cron": cron}))))
    connection.execute(text(statement), {"count": count, "rules": rules, "cron": cron})
    connection.execute(
        text("INSERT INTO horae_schedule_statistics (schedule_id) SELECT id FROM horae_schedules")
    )
    if postgres:  # as autovacuum does within a minute
        connection.execute(text("ANALYZE horae_schedules, horae_schedule_statistics"))


def _clear(grounds: Grounds) -> None:
    """Delete all schedules and jobs."""
    for ground in grounds:
        ground.clear()
        ground.application.horae.components.database.transact(_forget)


def _forget(connection: Connection) -> None:
    tables = ("horae_backfill_times", "horae_ticks", "horae_schedule_statistics", "horae_schedules")
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"TRUNCATE {', '.join(tables)}"))
        return
    for table in tables:
        connection.execute(text(f"DELETE FROM {table}"))


def _resident() -> float:
    """Return the resident memory of this process, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20
