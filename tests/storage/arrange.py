"""Functions that bring jobs into a state, through the functions under test, and read the result."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest
from sqlalchemy import bindparam, func, select, update

from horae.domain.jobs import TimeLimit
from horae.domain.jobs.job import AttemptOutcome, Claim, Job, JobId, JobState, NodeId, Settlement
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import seconds_from_now
from horae.storage.jobs import claims, creation, reading
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.creation import JobRow
from horae.storage.jobs.reading import PastAttempt
from horae.storage.jobs.tables import job_attempts, jobs
from horae.storage.nodes import nodes
from horae.storage.nodes.nodes import NodeRecord
from horae.storage.outcomes import settling, time_limits
from horae.storage.outcomes.settling import Settled

T = TypeVar("T")

NODE = NodeId("n1")
OTHER = NodeId("n2")
POSTGRESQL = pytest.mark.parametrize(
    "database", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
PLAIN = JobRow(type="import", queue="default", priority=0, params=None)


def started(database: Database, **given: Any) -> JobId:
    """A new job; `given` differs from the plainest one."""
    return database.transact(creation.add, JobRow(**{**asdict(PLAIN), **given})).id


def claimed(database: Database, node: NodeId = NODE, limit: int = 1, **scope: Any) -> list[Claim]:
    """What the node gets; it knows the type `import` unless told otherwise."""
    return database.autocommit(
        claims.claim, ClaimScope(node=node, **{"types": ["import"], **scope}), limit
    )


def running(database: Database, node: NodeId = NODE, **given: Any) -> Claim:
    """A new job that the node has claimed."""
    job_id = started(database, **given)
    claim = database.autocommit(claims.claim_one, job_id, node)
    assert claim is not None
    return claim


def job(database: Database, job_id: JobId) -> Job:
    found = database.autocommit(reading.get, job_id)
    assert found is not None
    return found


def expired(database: Database, limits: Mapping[str, float]) -> list[Job]:
    """Fail what has run for longer than this, seconds by type."""
    return _expired(database, TimeLimit.HARD, limits)


def expired_runs(database: Database, graces: Mapping[str, float]) -> list[Job]:
    """Fail runs that have gone on for longer than their schedules allow, and the grace of their types."""
    return _expired(database, TimeLimit.OF_SCHEDULE, graces)


def expired_pending(database: Database, limits: Mapping[str, float]) -> list[Job]:
    """Fail owned jobs that have waited for longer than this, seconds by type."""
    return _expired(database, TimeLimit.PENDING, limits)


def _expired(database: Database, limit: TimeLimit, seconds: Mapping[str, float]) -> list[Job]:
    found = database.autocommit(time_limits.overdue, limit, seconds)
    return database.transact(time_limits.expire, [(item.id, item.lease) for item in found], limit)


def attempts(database: Database, job_id: JobId) -> list[PastAttempt]:
    return database.autocommit(reading.attempts, job_id)


def settled(database: Database, *settlements: Settlement, node: NodeId = NODE) -> Settled:
    return database.transact(settling.settle, node, settlements)


def success(claim: Claim, **given: Any) -> Settlement:
    return Settlement(claim.id, claim.lease, JobState.FINISHED, AttemptOutcome.FINISHED, **given)


def failure(claim: Claim, **given: Any) -> Settlement:
    texts: dict[str, Any] = {
        "error": "ValueError: no",
        "human_readable_error": "It did not work.",
        **given,
    }
    return Settlement(claim.id, claim.lease, JobState.FAILED, AttemptOutcome.FAILED, **texts)


def again(claim: Claim, delay: float = 0.0, **given: Any) -> Settlement:
    """A retry."""
    return Settlement(
        claim.id, claim.lease, JobState.PENDING, AttemptOutcome.FAILED, delay, **given
    )


def age(database: Database, job_id: JobId, column: str, seconds: float) -> None:
    """Say that something happened so many seconds ago, by the database's clock."""
    moved = (
        update(jobs)
        .where(jobs.c.id == bindparam("job_id"))
        .values({column: seconds_from_now(-seconds)})
    )
    with database.engine.begin() as connection:
        connection.execute(moved, {"job_id": job_id})


def record(node: NodeId = NODE, **given: Any) -> NodeRecord:
    """The row of a node; `given` differs from the plainest one."""
    plain: dict[str, Any] = {
        "id": node,
        "name": "one",
        "host": "here",
        "pid": 1,
        "version": "1",
        "roles": '["worker"]',
        "queues": None,
        "types": '["import"]',
        "concurrency": 10,
        "lock_key": None,
    }
    return NodeRecord(**{**plain, **given})


def registered(database: Database, node: NodeId = NODE, **given: Any) -> NodeId:
    """A node with a row."""
    database.transact(nodes.register, record(node, **given))
    return node


def count(database: Database) -> tuple[int, int]:
    """How many jobs and attempts there are."""
    with database.engine.begin() as connection:
        tables = (jobs, job_attempts)
        both: list[int] = [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in tables
        ]
    return both[0], both[1]


def wall_clock() -> datetime:
    """The time by this process."""
    return datetime.fromtimestamp(time.time(), UTC)


def at_once(calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
    """Make all calls at the same moment, a thread each; what each returned or raised."""
    gate = threading.Barrier(len(calls))

    def go(call: Callable[[], T]) -> T | Exception:
        gate.wait()
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - the losers' errors are what is looked at
            return error

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(go, calls))
