"""Claims while reading all ready jobs is slow: no priority has to wait for the next claim from the front."""

import time
from random import Random

import pytest
from sqlalchemy import delete

from horae.domain.jobs.job import JobId, NodeId
from horae.runtime.claims.claim_cursor import ClaimCursor
from horae.runtime.claims.claimer import Claimer
from horae.runtime.claims.next_look import AT_ONCE, NEVER, NextLook
from horae.runtime.timing import ClaimerTiming
from horae.storage.engine.database import Database
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.tables import jobs
from horae.storage.queues import queues
from tests.storage.arrange import started

SLOW = 1.0
"""Seconds that a claim from the front has taken, as far as the cursor knows."""
pytestmark = [
    pytest.mark.postgres,
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]


async def claimer_with_a_slow_scan(database: Database) -> Claimer:
    """Return a claimer that has claimed one of the jobs from the front, and starts there again in half a minute."""
    timing = ClaimerTiming(slow_scan=SLOW / 2)
    claimer = Claimer(
        database, ClaimScope(node=NodeId("here"), types=["import"]), timing, Random(1)
    )
    first, _ = await claimer.claim(1, 1)
    cursor, now = vars(claimer)["_cursor"], time.monotonic()
    assert isinstance(cursor, ClaimCursor)
    cursor.move(first, beyond=None, began=now - SLOW, ended=now)
    assert cursor.beyond(now) == first[0].id
    return claimer


async def claimed(claimer: Claimer, room: int) -> tuple[list[JobId], NextLook]:
    taken, look = await claimer.claim(room, room)
    return [claim.id for claim in taken], look


async def test_a_job_of_a_higher_priority_passes_a_burst(database: Database) -> None:
    burst = [started(database) for _ in range(5)]
    claimer = await claimer_with_a_slow_scan(database)
    urgent = started(database, priority=5)
    assert await claimed(claimer, 2) == ([urgent, burst[1]], AT_ONCE)
    more = [started(database, priority=5), started(database, priority=4)]
    assert await claimed(claimer, 2) == (more, AT_ONCE)
    assert await claimed(claimer, 9) == (burst[2:], NEVER)


async def test_jobs_of_lower_priorities_follow_at_once(database: Database) -> None:
    _first, second, low = (
        started(database, priority=1),
        started(database, priority=1),
        started(database),
    )
    claimer = await claimer_with_a_slow_scan(database)
    assert await claimed(claimer, 9) == ([second, low], NEVER)
    lowest = started(database, priority=-1)
    assert await claimed(claimer, 9) == ([lowest], NEVER)
    assert await claimed(claimer, 9) == ([], NEVER)


async def test_the_place_of_a_deleted_job_is_not_waited_for(database: Database) -> None:
    first, second = started(database), started(database)
    claimer = await claimer_with_a_slow_scan(database)
    database.transact(lambda connection: connection.execute(delete(jobs).where(jobs.c.id == first)))
    assert await claimed(claimer, 9) == ([], AT_ONCE)
    assert await claimed(claimer, 9) == ([second], NEVER)


async def test_limits_are_read_meanwhile_without_the_ready_jobs(database: Database) -> None:
    started(database)
    claimer = await claimer_with_a_slow_scan(database)
    database.transact(queues.limit, "mail", 3)
    known = await claimer.look_ahead()
    assert known is not None
    assert (known.limited, known.due_in) == (frozenset({"mail"}), None)
    assert await claimer.look_ahead() is None, "they are known for some seconds"
