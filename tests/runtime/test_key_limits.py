"""Nodes run jobs under limits by key: never more than allowed, as many as allowed, and none is forgotten."""

import threading
import time
from collections import Counter

from horae import Limit
from horae.storage.engine.database import Database
from tests.harness.applications import application

WAIT = "30s"


def test_two_nodes_keep_a_concurrency_by_key(database: Database) -> None:
    running, most, lock = Counter[str](), Counter[str](), threading.Lock()
    with application(database) as horae:

        @horae.job(limits=[Limit(concurrency=2, key="{account}")])
        def work(account: str) -> None:
            with lock:
                running[account] += 1
                most[account] = max(most[account], running[account])
            time.sleep(0.005)
            with lock:
                running[account] -= 1

        with horae.node().running(), horae.node().running():
            ids = horae.jobs.start_many(
                work, [{"account": account} for _ in range(20) for account in "abc"]
            )
            for job_id in ids:
                horae.jobs.wait(job_id, timeout=WAIT)
    assert most == {"a": 2, "b": 2, "c": 2}


def test_a_rate_is_reached_and_not_exceeded(database: Database) -> None:
    starts: list[float] = []
    with application(database) as horae:

        @horae.job(limits=[Limit(rate="50/s", burst=5)])
        async def work() -> None:
            starts.append(time.monotonic())

        with horae.node().running():
            ids = horae.jobs.start_many(work, [{}] * 40)
            horae.jobs.wait(ids[-1], timeout=WAIT)
            for job_id in ids:
                horae.jobs.wait(job_id, timeout=WAIT)
        found = sorted(
            attempt.started_at for job_id in ids for attempt in horae.jobs.attempts(job_id)
        )
    assert len(starts) == 40
    for first, begin in enumerate(found):
        for number, end in enumerate(found[first:], 1):
            assert number <= 50 * (end - begin).total_seconds() + 5 + 1e-6
