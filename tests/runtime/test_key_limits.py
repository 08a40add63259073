"""Nodes run jobs under limits by key: never more than allowed, as many as allowed, and none is forgotten."""

import threading
import time
from collections import Counter

import pytest

from horae import JobWasCancelled, Limit
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


def test_a_limit_that_discards(database: Database) -> None:
    """While one job of an account runs, others of it are cancelled, and those of another account run."""
    begun, go_on = threading.Event(), threading.Event()
    with application(database) as horae:

        @horae.job(limits=[Limit(concurrency=1, key="{account}", name="one", on_reached="discard")])
        def refresh(account: str) -> str:
            begun.set()
            assert go_on.wait(20)
            return account

        with horae.node().running():
            first = horae.jobs.start(refresh, account="a")
            assert begun.wait(20)
            others = horae.jobs.start_many(refresh, [{"account": "a"}] * 5)
            for job_id in others:
                with pytest.raises(JobWasCancelled):
                    horae.jobs.wait(job_id, timeout=WAIT)
            other = horae.jobs.start(refresh, account="b")
            go_on.set()
            assert horae.jobs.wait(first, timeout=WAIT) == "a"
            assert horae.jobs.wait(other, timeout=WAIT) == "b"
            again = horae.jobs.start(refresh, account="a")
            assert horae.jobs.wait(again, timeout=WAIT) == "a"
        assert {horae.jobs.get(job_id).cancelled_by for job_id in others} == {"limit one"}
