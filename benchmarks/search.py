"""How long a search takes among many ended jobs, for terms that match many of them, few or none."""

import time
from typing import Final

import psycopg
from sqlalchemy import text

from benchmarks.figures import Budget, Figure, Samples
from benchmarks.ground import Ground, Grounds, Scale
from horae.storage.engine.dialect import POSTGRESQL

TIMES: Final = 50
"""How many times as many jobs are searched as are run by a drain: a million by default."""
ANSWERED: Final = Budget("at most", 200)
"""Milliseconds on PostgreSQL; SQLite has no index of parameters and reads all jobs for a rare value."""
QUERIES: Final = {
    "rare parameter": "params.asked_at:4711",
    "common parameter": "params.asked_at:7",
    "no such parameter": "params.asked_at:-1",
    "rare type": "type:nightly*",
    "rare queue": "queue:nights",
    "all but finished": "-state:finished -state:failed",
    "common type": "type:st*",
    "rare error": 'error:"host-13 timed"',
    "owner": "owner:user-3 -state:failed",
    "tag": "tag:eu",
    "unique key": "key:key-500",
    "oldest hour": "created:>27d",
    "long runs": "duration:>30s",
    "two terms": "params.asked_at:4711 -owner:user-3",
}
FILL: Final = {
    POSTGRESQL: """
        INSERT INTO horae_jobs (type, queue, priority, state, owner, params, error, unique_key, lease, attempt,
                                run_at, created_at, updated_at, started_at, finished_at, tags)
        SELECT CASE WHEN n % 100000 = 0 THEN 'nightly_report' ELSE 'stamp' END,
               CASE WHEN n % 100000 = 7 THEN 'nights' ELSE 'default' END, 0,
               CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'finished' END, CASE WHEN n % 3 = 0 THEN 'user-' || n % 1000 END,
               jsonb_build_object('asked_at', CASE WHEN n % 5 = 0 THEN 7 ELSE n % 100000 END, 'path', '/data/' || n || '.csv',
                                  'text', repeat(md5(n::text), 15), 'options', jsonb_build_object('region', 'eu', 'dry', true)),
               CASE WHEN n % 50 = 0 THEN 'TimeoutError: host-' || n % 97 || ' timed out after 30 s' END,
               CASE WHEN n % 10 = 0 THEN 'key-' || n END, 1, 1, at, at, at, at,
               at + CASE WHEN n % 20000 = 0 THEN interval '45 seconds' ELSE interval '50 milliseconds' END,
               CASE WHEN n % 1000 = 0 THEN '["eu"]'::jsonb END
        FROM (SELECT n, now() - interval '30 days' + n * interval '2.5 seconds' AS at
              FROM generate_series(1, :count) n) numbered
    """,
    "sqlite": """
        WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count),
             numbered AS (SELECT n, horae_now() - 2592000000000 + n * 2500000 AS at FROM numbers)
        INSERT INTO horae_jobs (type, queue, priority, state, owner, params, error, unique_key, lease, attempt,
                                run_at, created_at, updated_at, started_at, finished_at, tags)
        SELECT CASE WHEN n % 100000 = 0 THEN 'nightly_report' ELSE 'stamp' END,
               CASE WHEN n % 100000 = 7 THEN 'nights' ELSE 'default' END, 0,
               CASE WHEN n % 50 = 0 THEN 'failed' ELSE 'finished' END, CASE WHEN n % 3 = 0 THEN 'user-' || n % 1000 END,
               json_object('asked_at', CASE WHEN n % 5 = 0 THEN 7 ELSE n % 100000 END, 'path', '/data/' || n || '.csv',
                           'options', json_object('region', 'eu', 'dry', json('true'))),
               CASE WHEN n % 50 = 0 THEN 'TimeoutError: host-' || n % 97 || ' timed out after 30 s' END,
               CASE WHEN n % 10 = 0 THEN 'key-' || n END, 1, 1, at, at, at, at,
               at + CASE WHEN n % 20000 = 0 THEN 45000000 ELSE 50000 END, CASE WHEN n % 1000 = 0 THEN '["eu"]' END
        FROM numbered
    """,
}
TAGS: Final = "INSERT INTO horae_job_tags (tag, job_id) SELECT 'eu', id FROM horae_jobs WHERE tags IS NOT NULL"


def search(grounds: Grounds, scale: Scale) -> list[Figure]:
    """Measure the first page of each search."""
    figures: list[Figure] = []
    for ground in grounds:
        ground.clear()
        _fill(ground, scale.jobs * TIMES)
        for name, query in QUERIES.items():
            taken = Samples.of([_milliseconds(ground, query) for _ in range(scale.rounds)])
            budget = ANSWERED if ground.name == "PostgreSQL" else None
            note = f"{scale.jobs * TIMES:,} ended jobs"
            figures.append(Figure(f"search, {name}", ground.name, "ms", taken, None, budget, note))
        _empty(ground)
    return figures


def _milliseconds(ground: Ground, query: str) -> float:
    began = time.perf_counter()
    page = ground.application.horae.jobs.list(query=query, limit=50)
    taken = 1000 * (time.perf_counter() - began)
    if page.next is not None and len(page.jobs) < 50:
        raise TimeoutError(f"{query} was not answered in the time of one page")
    return taken


def _fill(ground: Ground, count: int) -> None:
    database = ground.application.horae.components.database
    database.transact(
        lambda connection: connection.execute(text(FILL[database.dialect]), {"count": count})
    )
    database.transact(lambda connection: connection.execute(text(TAGS)))
    if database.dialect == POSTGRESQL:  # as autovacuum does within minutes, while jobs end
        with psycopg.connect(ground.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE horae_jobs, horae_job_tags")


def _empty(ground: Ground) -> None:
    ground.clear()
    database = ground.application.horae.components.database
    database.transact(lambda connection: connection.execute(text("DELETE FROM horae_job_tags")))
