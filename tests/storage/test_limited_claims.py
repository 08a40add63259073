"""Claims from queues with limits: never more running jobs than allowed, however many nodes claim at once."""

import threading
import time
from collections import Counter
from functools import partial

import pytest
from sqlalchemy import func, select

from horae.domain.jobs.job import Claim, JobId, NodeId
from horae.storage.engine.database import Database
from horae.storage.jobs import claims, creation
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.creation import JobRow
from horae.storage.jobs.limits import limited_claims
from horae.storage.jobs.limits.limited_claims import LimitedClaims
from horae.storage.jobs.tables import jobs
from horae.storage.outcomes import cancelling, settling
from horae.storage.queues import queues
from tests.storage import arrange
from tests.storage.arrange import (
    NODE,
    OTHER,
    POSTGRESQL,
    again,
    age,
    at_once,
    claimed,
    failure,
    job,
    settled,
    started,
)


def limit(database: Database, name: str, concurrency_limit: int | None) -> None:
    database.autocommit(queues.limit, name, concurrency_limit)


def tried(database: Database, node: NodeId = NODE, room: int = 100, *scope: str) -> LimitedClaims:
    """What a node does that knows of limits."""
    mine = ClaimScope(node=node, types=["import"], queues=scope or None)
    names = database.autocommit(limited_claims.limited_queues_with_room, mine, room)
    if not names:
        return LimitedClaims(database.autocommit(claims.claim, mine, room), contended=False)
    return database.transact(limited_claims.claim, mine, room, names)


def taken(database: Database, node: NodeId = NODE, room: int = 100, *scope: str) -> list[Claim]:
    return tried(database, node, room, *scope).claims


def ids(found: list[Claim]) -> list[JobId]:
    return [claim.id for claim in found]


def many(database: Database, count: int, queue: str = "slow") -> list[JobId]:
    new = JobRow(type="import", queue=queue, priority=0, params=None)
    return database.transact(creation.add_many, new, [None] * count)


def held(database: Database, queue: str = "slow") -> int:
    statement = select(func.count()).where(jobs.c.queue == queue, jobs.c.node_id.is_not(None))
    count: int = database.autocommit(lambda connection: connection.execute(statement).scalar_one())
    return count


def test_no_more_than_the_limit_and_the_first_ones_of_the_order(database: Database) -> None:
    limit(database, "slow", 2)
    waiting = many(database, 4)
    high = started(database, queue="slow", priority=3)
    assert ids(taken(database)) == [high, waiting[0]]
    assert taken(database, OTHER) == []


def test_a_claim_that_does_not_know_of_the_limit_takes_nothing(database: Database) -> None:
    limit(database, "slow", 2)
    many(database, 4)
    other = started(database)
    assert ids(claimed(database, limit=10)) == [other]
    assert claimed(database, limit=10, queues=["slow"]) == []


def test_other_queues_are_taken_in_one_order_with_it(database: Database) -> None:
    limit(database, "slow", 1)
    low, high = started(database, priority=-1), started(database, priority=9)
    middle = started(database, queue="slow")
    started(database, queue="slow", priority=-5)
    assert ids(taken(database)) == [high, middle, low]


def test_room_goes_to_the_highest_priority_whichever_queue_it_is_of(database: Database) -> None:
    limit(database, "slow", 5)
    slow, urgent = started(database, queue="slow"), started(database, priority=1)
    assert ids(taken(database, room=1)) == [urgent]
    assert ids(taken(database, room=1)) == [slow]


def test_jobs_of_a_full_queue_hide_no_others_for_long(database: Database) -> None:
    limit(database, "slow", 1)
    first = many(database, 50)[0]
    behind = started(database)
    assert ids(taken(database, room=10)) == [first]
    assert ids(taken(database, room=10)) == [behind]


def test_each_queue_has_its_own_limit(database: Database) -> None:
    limit(database, "slow", 2)
    limit(database, "mail", 3)
    many(database, 5)
    many(database, 5, "mail")
    many(database, 5, "free")
    assert Counter(claim.queue for claim in taken(database)) == {"slow": 2, "mail": 3, "free": 5}


def test_running_jobs_count_only_in_their_own_queue(database: Database) -> None:
    limit(database, "slow", 2)
    limit(database, "mail", 2)
    many(database, 2)
    started(database, queue="free")
    assert len(taken(database)) == 3
    many(database, 3, "mail")
    assert len(taken(database)) == 2


def test_the_next_one_fits_when_one_has_ended(database: Database) -> None:
    limit(database, "slow", 1)
    waiting = many(database, 3)
    for expected in waiting:
        [claim] = taken(database)
        assert claim.id == expected
        assert taken(database, OTHER) == []
        settled(database, failure(claim))


def test_a_retry_and_a_hand_back_make_room(database: Database) -> None:
    limit(database, "slow", 1)
    started(database, queue="slow", max_attempts=3)
    [claim] = taken(database)
    settled(database, again(claim))
    [second] = taken(database, OTHER)
    database.transact(claims.hand_back, OTHER, [second])
    assert len(taken(database)) == 1


@pytest.mark.parametrize("ended", ["cancelled", "failed"])
def test_a_body_that_has_not_stopped_counts(database: Database, ended: str) -> None:
    limit(database, "slow", 1)
    many(database, 2)
    [claim] = taken(database)
    if ended == "cancelled":
        database.transact(cancelling.cancel, claim.id, "alice")
    else:
        age(database, claim.id, "started_at", 60)
        arrange.expired(database, {"import": 30.0})
    assert job(database, claim.id).state == ended
    assert taken(database) == []
    database.transact(settling.release, NODE, [(claim.id, claim.lease)])
    assert len(taken(database)) == 1


def test_a_lower_limit_lets_running_jobs_finish(database: Database) -> None:
    limit(database, "slow", 3)
    many(database, 6)
    running = taken(database)
    limit(database, "slow", 1)
    for claim in running:
        assert taken(database) == []
        assert held(database) > 0
        settled(database, failure(claim))
    assert len(taken(database)) == 1


def test_a_higher_limit_and_none_open_the_queue(database: Database) -> None:
    limit(database, "slow", 1)
    many(database, 9)
    assert len(taken(database)) == 1
    limit(database, "slow", 3)
    assert len(taken(database)) == 2
    limit(database, "slow", None)
    assert len(claimed(database, limit=100)) == 6


def test_a_queue_that_is_paused_too_stays_shut_and_keeps_its_limit(database: Database) -> None:
    limit(database, "slow", 1)
    many(database, 3)
    database.autocommit(queues.pause, "slow", None)
    assert taken(database) == []
    limit(database, "slow", None)
    assert taken(database) == []
    limit(database, "slow", 2)
    database.autocommit(queues.resume, "slow")
    assert len(taken(database)) == 2


def test_a_pause_between_the_look_and_the_claim_holds(database: Database) -> None:
    limit(database, "slow", 1)
    many(database, 3)
    other = started(database)
    database.autocommit(queues.pause, "slow", None)
    mine = ClaimScope(node=NODE, types=["import"])
    result = database.transact(limited_claims.claim, mine, 10, ["slow"])
    assert (ids(result.claims), result.contended) == ([other], True)


def test_only_served_queues_and_known_types(database: Database) -> None:
    limit(database, "slow", 1)
    started(database, queue="slow", type="export", priority=9)
    mine = many(database, 1)
    assert taken(database, NODE, 100, "other") == []
    assert ids(taken(database, NODE, 100, "slow")) == mine


def test_an_inline_job_counts_and_never_waits(database: Database) -> None:
    limit(database, "slow", 1)
    first, second, _ = many(database, 3)
    for job_id in (first, second):
        assert database.autocommit(claims.claim_one, job_id, OTHER) is not None
    assert taken(database) == []


def test_a_look_ahead_returns_the_limited_queues(database: Database) -> None:
    assert database.autocommit(claims.next_work).limited == frozenset()
    limit(database, "slow", 1)
    limit(database, "mail", 2)
    database.autocommit(queues.pause, "other", None)
    assert database.autocommit(claims.next_work).limited == {"slow", "mail"}
    limit(database, "slow", None)
    assert database.autocommit(claims.next_work).limited == {"mail"}


def test_a_full_queue_is_not_within_reach(database: Database) -> None:
    mine = ClaimScope(node=NODE, types=["import"])
    limit(database, "slow", 1)
    limit(database, "empty", 1)
    many(database, 2)
    assert database.autocommit(limited_claims.limited_queues_with_room, mine, 10) == ["slow"]
    taken(database)
    assert database.autocommit(limited_claims.limited_queues_with_room, mine, 10) == []


def test_the_limit_holds_under_concurrent_claims(database: Database) -> None:
    """Each takes, looks how many run, and ends some, while the others do the same."""
    limit(database, "slow", 3)
    wanted = {*many(database, 60), *many(database, 60, "free")}
    ended, most, gate = list[JobId](), list[int](), threading.Lock()

    def work(number: int) -> None:
        node = NodeId(f"n{number}")
        end = time.monotonic() + 20
        while len(ended) < len(wanted) and time.monotonic() < end:
            mine = taken(database, node, 4)
            most.append(held(database))
            for claim in mine:
                settling_of(database, node, claim)
                with gate:
                    ended.append(claim.id)

    results = at_once([partial(work, number) for number in range(6)])
    assert results == [None] * 6
    assert (len(ended), set(ended)) == (len(wanted), wanted)
    assert 0 < max(most) <= 3


def settling_of(database: Database, node: NodeId, claim: Claim) -> None:
    database.transact(settling.settle, node, [failure(claim)])


@POSTGRESQL
def test_a_queue_locked_by_another_claim_is_skipped(database: Database) -> None:
    limit(database, "slow", 9)
    limit(database, "mail", 9)
    many(database, 2)
    mail, free = many(database, 1, "mail"), many(database, 1, "free")
    with database.engine.begin() as rival:
        limited_claims.claim(rival, ClaimScope(node=OTHER, types=["import"]), 1, ["slow"])
        result = tried(database)  # would wait for ever if it queued
        assert (sorted(ids(result.claims)), result.contended) == (sorted([*mail, *free]), True)
    assert not tried(database).contended
    assert held(database) == 2


@POSTGRESQL
def test_starts_of_the_last_lock_holder_are_seen(database: Database) -> None:
    """The count is taken after the lock: a snapshot from before it would show an empty queue."""
    limit(database, "slow", 1)
    many(database, 2)
    mine = ClaimScope(node=NODE, types=["import"])
    assert database.autocommit(limited_claims.limited_queues_with_room, mine, 10) == ["slow"]
    assert len(taken(database, OTHER)) == 1
    result = database.transact(limited_claims.claim, mine, 10, ["slow"])
    assert result == LimitedClaims([], contended=True)
    assert held(database) == 1
