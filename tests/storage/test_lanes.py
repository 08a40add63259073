"""Claims through lanes: limits by key and turns of owners hold, and no job that may start is forgotten."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, cast, func, select, update

from horae.domain.jobs.job import Claim, JobId, NodeId
from horae.domain.limits.numbers import LimitNumbers
from horae.storage.engine.database import Database
from horae.storage.jobs import claims, creation, premature
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.creation import JobRow
from horae.storage.jobs.limit_tables import buckets, lane_buckets, lanes
from horae.storage.jobs.limits import filing, lane_claims, lane_cleaning
from horae.storage.jobs.tables import jobs
from horae.storage.outcomes import cancelling
from horae.storage.queues import queues as queue_operations
from tests.storage.arrange import NODE, OTHER, POSTGRESQL, again, at_once, settled, started, success

ONE_AT_A_TIME = LimitNumbers(concurrency=1)
TEN_AN_HOUR = LimitNumbers(amount=10, period=3600 * 10**6, burst=2, window="bucket")


def limited(*entries: tuple[str, str, LimitNumbers], weight: int = 1) -> str:
    listed = [[name, key, numbers.to_json()] for name, key, numbers in entries]
    return json.dumps({"weight": weight, "limits": listed})


def job(
    database: Database, key: str = "a", numbers: LimitNumbers = ONE_AT_A_TIME, **given: Any
) -> JobId:
    weight = given.pop("weight", 1)
    return started(database, limits=limited(("api", key, numbers), weight=weight), **given)


def batch(database: Database, count: int, limits: str | None = None, **given: Any) -> list[JobId]:
    values: dict[str, Any] = {
        "type": "import",
        "queue": "default",
        "priority": 0,
        "params": None,
        **given,
    }
    new = JobRow(**values)
    texts = None if limits is None else [limits] * count
    return database.transact(creation.add_many, new, [None] * count, limits=texts)


def file_all(database: Database) -> None:
    while database.transact(filing.file):
        pass


def taken(
    database: Database, room: int = 100, node: NodeId = NODE, *, most: int | None = None
) -> list[JobId]:
    """What a node gets from lanes, after it has put new jobs into them."""
    return [claim.id for claim in claimed(database, room, node, most=most)]


def claimed(
    database: Database, room: int = 100, node: NodeId = NODE, *, most: int | None = None
) -> list[Claim]:
    file_all(database)
    scope = ClaimScope(node=node, types=["import"], queues=None)
    return database.transact(lane_claims.claim, scope, room, room if most is None else most).claims


def ahead(database: Database) -> lane_claims.LanesAhead:
    return database.autocommit(lane_claims.ahead)


def fair(database: Database, queue: str = "mail", by: str = "owner") -> None:
    database.transact(queue_operations.fair, queue, by)


def test_a_job_with_a_limit_is_claimed_through_its_lane_only(database: Database) -> None:
    waiting = job(database)
    plain = started(database)
    scope = ClaimScope(node=NODE, types=["import"], queues=None)
    assert [claim.id for claim in database.autocommit(claims.claim, scope, 10)] == [plain]
    assert ahead(database).unfiled
    assert taken(database) == [waiting]
    assert ahead(database)[:2] == (False, float("inf"))


def test_each_key_has_room_of_its_own(database: Database) -> None:
    first, second, other = job(database), job(database), job(database, "b")
    assert taken(database) == [first, other]
    assert taken(database) == []
    assert ahead(database).due_in == float("inf")
    del second


def test_the_next_job_starts_when_one_has_ended(database: Database) -> None:
    first, second = job(database), job(database)
    (claim,) = claimed(database)
    assert claim.id == first
    assert taken(database) == []
    settled(database, success(claim))
    assert ahead(database).due_in == 0.0
    assert taken(database) == [second]


def test_a_cancelled_job_counts_until_its_body_has_stopped(database: Database) -> None:
    first, second = job(database), job(database)
    (claim,) = claimed(database)
    assert taken(database) == []
    database.transact(cancelling.cancel, first, "alice")
    assert taken(database) == []
    settled(database, success(claim))
    assert taken(database) == [second]


def test_a_job_that_is_pending_again_is_limited_as_before(database: Database) -> None:
    first = job(database)
    (claim,) = claimed(database)
    second = job(database)
    settled(database, again(claim))
    assert len(taken(database)) == 1
    assert taken(database) == []
    del first, second


def test_a_job_that_is_handed_back_is_claimed_again(database: Database) -> None:
    first = job(database)
    taken_first = claimed(database)
    database.transact(claims.hand_back, NODE, taken_first)
    assert taken(database, node=OTHER) == [first]


def test_a_rate_allows_its_burst_and_then_one_after_the_other(database: Database) -> None:
    waiting = [job(database, numbers=TEN_AN_HOUR) for _ in range(4)]
    assert taken(database) == waiting[:2]
    assert taken(database) == []
    assert 350 < ahead(database).due_in <= 360
    later(database, 360)
    assert ahead(database).due_in == 0.0
    assert taken(database) == waiting[2:3]
    assert taken(database) == []


def later(database: Database, seconds: int) -> None:
    """Let so much time pass for the buckets: their moments were so much earlier."""
    micros = seconds * 10**6

    def shift(connection: Any) -> None:
        for row in connection.execute(select(buckets)).mappings().all():
            level, at, period = row["state"]
            values = {
                "state": json.dumps([level, at - micros, period]),
                "opens_at": row["opens_at"] - micros,
            }
            state = update(buckets).where(buckets.c.id == row["id"])
            connection.execute(
                state.values(
                    opens_at=values["opens_at"], state=cast(values["state"], buckets.c.state.type)
                )
            )

    database.transact(shift)


def test_a_job_under_several_limits_needs_room_under_all(database: Database) -> None:
    both = limited(("api", "", LimitNumbers(concurrency=2)), ("api.account", "a", ONE_AT_A_TIME))
    other = limited(("api", "", LimitNumbers(concurrency=2)), ("api.account", "b", ONE_AT_A_TIME))
    third = limited(("api", "", LimitNumbers(concurrency=2)), ("api.account", "c", ONE_AT_A_TIME))
    first, held = started(database, limits=both), started(database, limits=both)
    second, last = started(database, limits=other), started(database, limits=third)
    got = claimed(database)
    assert [claim.id for claim in got] == [first, second]
    settled(database, success(got[1]))
    assert taken(database) == [last]
    del held


def test_priorities_come_first_and_then_those_that_have_waited_longest(database: Database) -> None:
    low, high = job(database, "a"), job(database, "b", priority=5)
    plain, urgent = started(database), started(database, priority=9)
    file_all(database)
    scope = ClaimScope(node=NODE, types=["import"], queues=None)
    found = database.transact(lane_claims.claim, scope, 2, 2)
    assert ([claim.id for claim in found.claims], found.plain_room) == ([high], 1)
    found = database.transact(lane_claims.claim, scope, 2, 2)
    assert ([claim.id for claim in found.claims], found.plain_room) == ([low], 1)
    del plain, urgent


def test_weight_counts(database: Database) -> None:
    four = LimitNumbers(concurrency=4)
    heavy = [job(database, numbers=four, weight=3) for _ in range(2)]
    light = [job(database, numbers=four) for _ in range(2)]
    got = claimed(database)
    assert [claim.id for claim in got] == heavy[
        :1
    ]  # the second heavy one is not passed by light ones
    settled(database, success(got[0]))
    assert taken(database) == [heavy[1], light[0]]


@pytest.mark.parametrize("held_by", ["weight", "queue"])
def test_a_claim_tells_that_the_next_one_would_find_the_same(
    database: Database, held_by: str
) -> None:
    """A node would otherwise claim again and again: the limit has room, or the lane is not marked as held back."""
    two = LimitNumbers(concurrency=2)
    if held_by == "queue":
        database.transact(queue_operations.limit, "slow", 1)
    job(database, numbers=two, queue="slow")
    job(database, numbers=two, queue="slow", weight=2 if held_by == "weight" else 1)
    assert len(claimed(database)) == 1
    scope = ClaimScope(node=NODE, types=["import"], queues=None)
    assert ahead(database).due_in == 0
    found = database.transact(lane_claims.claim, scope, 10, 10)
    assert (found.claims, found.skipped) == ([], True)
    batch(database, 5, limited(("rate", "a", TEN_AN_HOUR)))
    assert len(taken(database)) == 2
    assert 0 < ahead(database).next_in <= 360


def test_other_nodes_claims_at_the_same_moment_exceed_nothing(database: Database) -> None:
    numbers = LimitNumbers(concurrency=3)
    for key in "abcd":
        batch(database, 20, limited(("api", key, numbers)))
    file_all(database)
    scopes = [
        ClaimScope(node=NodeId(f"n{number}"), types=["import"], queues=None) for number in range(6)
    ]

    def claim(scope: ClaimScope) -> object:
        return database.transact(lane_claims.claim, scope, 10, 10)

    for _ in range(3):
        at_once([partial(claim, scope) for scope in scopes])
    held = database.transact(
        lambda connection: connection.execute(
            select(jobs.c.lane_id, func.count())
            .where(jobs.c.node_id.is_not(None))
            .group_by(jobs.c.lane_id)
        ).all()
    )
    assert sorted(count for _, count in held) == [3, 3, 3, 3]


def test_paused_queues_and_unknown_types_are_left_alone(database: Database) -> None:
    paused, known = job(database, "a", queue="slow"), job(database, "b")
    unknown = job(database, "c", type="other")
    database.transact(queue_operations.pause, "slow", None)
    assert taken(database) == [known]
    database.transact(queue_operations.resume, "slow")
    assert taken(database) == [paused]
    del unknown


def test_the_limit_of_a_queue_counts_jobs_of_lanes(database: Database) -> None:
    database.transact(queue_operations.limit, "slow", 2)
    waiting = [job(database, key, queue="slow") for key in "abc"]
    got = claimed(database)
    assert [claim.id for claim in got] == waiting[:2]
    assert taken(database) == []
    settled(database, success(got[0]))
    assert taken(database) == waiting[2:]


def test_owners_take_turns_in_a_fair_queue(database: Database) -> None:
    fair(database)
    many = batch(database, 30, queue="mail", owner="alice")
    assert taken(database, 2) == many[:2]
    one = started(database, queue="mail", owner="bob")
    other = started(database, queue="mail", owner="carol")
    assert taken(database, 4) == [many[2], one, other, many[3]]


def test_an_owner_does_not_wait_until_all_jobs_of_another_are_in_their_lane(
    database: Database,
) -> None:
    """The jobs of one call are put into lanes in steps, and nodes claim between them."""
    fair(database)
    many = batch(database, 300, queue="mail", owner="alice")
    elsewhere = batch(database, 20, limited(("api", "a", ONE_AT_A_TIME)), queue="other")
    one = started(database, queue="mail", owner="bob")
    database.transact(filing.file, 10)
    scope = ClaimScope(node=NODE, types=["import"], queues=["mail"])
    first, *others = database.transact(lane_claims.claim, scope, 3, 3).claims
    assert [first.id, *(each.id for each in others)] == [many[0], one, many[1]]
    query = select(jobs.c.lane_id).where(jobs.c.id.in_(elsewhere), jobs.c.lane_id.is_not(None))
    assert not database.autocommit(
        lambda connection: connection.execute(query).all()
    )  # they keep their order


def set_clock_back(database: Database, seconds: int) -> None:
    """Set the clock back: all that was stored has moments which are so much later now."""
    micros, length = seconds * 10**6, timedelta(seconds=seconds)

    def shift(connection: Connection) -> None:
        for row in connection.execute(select(lanes.c.id, lanes.c.place, lanes.c.turn)).all():
            place = None if row.place is None else row.place + micros
            turn = row.turn + micros if row.turn else 0
            connection.execute(
                update(lanes).where(lanes.c.id == row.id).values(place=place, turn=turn)
            )
        for job_id, run_at, updated_at in connection.execute(
            select(jobs.c.id, jobs.c.run_at, jobs.c.updated_at)
        ).all():
            later = {"run_at": run_at + length, "updated_at": updated_at + length}
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(**later))

    database.transact(shift)
    database.autocommit(premature.make_due, 1000)


@pytest.mark.parametrize("seed", range(4))
def test_owners_take_turns_after_the_clock_was_set_back(database: Database, seed: int) -> None:
    draw = Random(seed)
    fair(database)
    sizes = {owner: draw.randint(4, 8) for owner in ("alice", "bob", "carol")}
    owner_of = {
        job_id: owner
        for owner, size in sizes.items()
        for job_id in batch(database, size, queue="mail", owner=owner)
    }
    before = sum(len(taken(database, draw.randint(1, 3))) for _ in range(draw.randint(1, 4)))
    set_clock_back(database, draw.choice([60, 3600]))
    owner_of |= dict.fromkeys(batch(database, 4, queue="mail", owner="zoe"), "zoe")
    order: list[str] = []
    while found := taken(database, 1):
        order += [owner_of[job_id] for job_id in found]
    for owner in set(order):
        turns = [-1, *(place for place, each in enumerate(order) if each == owner)]
        between = [Counter(order[turn + 1 : following]) for turn, following in pairwise(turns)]
        assert all(count <= 1 for each in between for count in each.values()), (owner, order)
    assert len(order) == len(owner_of) - before


def test_jobs_waiting_in_a_queue_that_becomes_fair_take_turns(database: Database) -> None:
    many = batch(database, 5, queue="mail", owner="alice")
    one = started(database, queue="mail", owner="bob")
    fair(database)
    assert taken(database, 3) == [many[0], one, many[1]]
    database.transact(queue_operations.fair, "mail", None)
    scope = ClaimScope(node=NODE, types=["import"], queues=None)
    assert [claim.id for claim in database.autocommit(claims.claim, scope, 10)] == many[2:]


def test_turns_by_a_parameter(database: Database) -> None:
    fair(database, by="customer")
    new = partial(started, database, queue="mail")
    first, second = new(params='{"customer": 1}'), new(params='{"customer": 1}')
    other = new(params='{"customer": 2}')
    without = new(params='{"product": 3}')
    assert taken(database) == [first, other, without, second]


def test_an_owner_with_many_lanes_gets_one_turn_a_round(database: Database) -> None:
    fair(database)
    mine = [
        started(
            database,
            queue="mail",
            owner="alice",
            limits=limited(("api", str(number), ONE_AT_A_TIME)),
        )
        for number in range(300)
    ]
    other = batch(database, 3, queue="mail", owner="bob")
    order: list[JobId] = []
    while len(order) < 6:
        order += taken(database, 6 - len(order))
    assert [job_id in other for job_id in order] == [False, True, False, True, False, True]
    del mine


def test_jobs_held_back_by_a_limit_are_not_read_again(database: Database) -> None:
    shared = LimitNumbers(concurrency=1)
    ids = [
        started(database, limits=limited(("all", "", shared), ("key", str(number), ONE_AT_A_TIME)))
        for number in range(250)
    ]
    (first,) = claimed(database)
    for _ in range(2):
        assert taken(database) == []
    free = (
        select(func.count())
        .select_from(lanes)
        .where(lanes.c.held_by.is_(None), lanes.c.place.is_not(None))
    )
    assert database.transact(lambda connection: connection.scalar(free)) == 0
    settled(database, success(first))
    assert taken(database, 50) == [ids[1]]


def test_delayed_jobs_wait_for_their_time(database: Database) -> None:
    job(database, delay=60.0)
    assert taken(database) == []
    assert 55 < ahead(database).due_in <= 60
    now = job(database)
    assert taken(database) == [now]


def test_a_lane_of_cancelled_jobs_does_not_stay_in_the_way(database: Database) -> None:
    first, second = job(database), job(database)
    file_all(database)
    for job_id in (first, second):
        database.transact(cancelling.cancel, job_id, None)
    assert taken(database) == []
    assert ahead(database)[:2] == (False, float("inf"))


def test_unreadable_limits_hold_nothing_up(database: Database) -> None:
    strange = started(database, limits='{"weight": "x", "limits": [["a", "b", {"rate": 3}], 4]}')
    fine = job(database)
    assert taken(database) == [strange, fine]


def test_lanes_and_buckets_that_are_not_needed_are_deleted(database: Database) -> None:
    first, second, rate = job(database), job(database, "b"), job(database, numbers=TEN_AN_HOUR)
    got = claimed(database)
    assert [claim.id for claim in got] == [first, second, rate]
    settled(database, success(got[0]), success(got[2]))
    waits = job(database, "b")
    file_all(database)
    while database.transact(lane_cleaning.clean):
        pass
    counts = [select(func.count()).select_from(table) for table in (lanes, lane_buckets, buckets)]
    # Left are the lane with a running job, and the rate that remembers a start.
    assert [database.transact(Connection.scalar, each) for each in counts] == [1, 1, 2]
    settled(database, success(got[1]))
    assert taken(database) == [waits]
    again_first = job(database)
    assert taken(database) == [again_first]


@POSTGRESQL
def test_two_claims_do_not_take_the_same_start_of_a_rate(database: Database) -> None:
    """Two queues under one bucket: a claim whose transaction is still open has taken what the other one would take."""
    first = [job(database, numbers=TEN_AN_HOUR, queue="one") for _ in range(2)]
    batch(database, 2, limited(("api", "a", TEN_AN_HOUR)), queue="two")
    file_all(database)
    mine, other = (
        ClaimScope(node=NODE, types=["import"], queues=[queue]) for queue in ("one", "two")
    )
    with database.engine.begin() as open_claim, database.engine.begin() as rival:
        assert [claim.id for claim in lane_claims.claim(open_claim, mine, 2, 2).claims] == first
        rival.exec_driver_sql("SET LOCAL lock_timeout = '1s'")  # it fails rather than waits
        found = lane_claims.claim(rival, other, 2, 2)
        assert (found.claims, found.skipped) == ([], True)
    assert database.transact(lane_claims.claim, other, 2, 2).claims == []


def when_locking(monkeypatch: pytest.MonkeyPatch, lock: str, act: Callable[[], object]) -> None:
    """Let something happen once, right before a claim takes a lock."""
    locking, waiting = vars(lane_claims)[lock], [act]

    def act_and_lock(*given: object) -> object:
        while waiting:
            waiting.pop()()
        return locking(*given)

    monkeypatch.setattr(lane_claims, lock, act_and_lock)


@POSTGRESQL
@pytest.mark.parametrize(("lock", "limit"), [("_lock_buckets", None), ("_lock_queues", 1)])
def test_starts_of_the_last_lock_holder_count(
    database: Database, monkeypatch: pytest.MonkeyPatch, lock: str, limit: int | None
) -> None:
    """A count from before the lock would show room that another claim has taken meanwhile."""
    database.transact(queue_operations.limit, "slow", limit)
    keys = ("a", "a") if limit is None else ("a", "b")
    first, second = (
        job(database, key, type=kind, queue="slow")
        for key, kind in zip(keys, ("one", "two"), strict=True)
    )
    file_all(database)
    mine, other = (ClaimScope(node=NODE, types=[kind], queues=None) for kind in ("one", "two"))
    taken_first: list[Claim] = []
    when_locking(
        monkeypatch,
        lock,
        lambda: taken_first.extend(database.transact(lane_claims.claim, other, 1, 1).claims),
    )
    assert database.transact(lane_claims.claim, mine, 1, 1).claims == []
    assert [claim.id for claim in taken_first] == [second]
    settled(database, success(taken_first[0]))
    assert [claim.id for claim in database.transact(lane_claims.claim, mine, 1, 1).claims] == [
        first
    ]


@POSTGRESQL
def test_the_moment_of_a_start_is_not_before_that_of_the_last_lock_holder(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rate would gain the time between the two moments a second time."""
    moments: list[int] = []

    def claim(kind: str) -> None:
        scope = ClaimScope(node=NODE, types=[kind], queues=None)
        assert len(database.transact(lane_claims.claim, scope, 1, 1).claims) == 1
        (state,) = database.autocommit(
            lambda connection: connection.execute(select(buckets.c.state)).one()
        )
        moments.append(state[1])

    for kind in ("one", "two"):
        job(database, numbers=TEN_AN_HOUR, type=kind)
    file_all(database)
    when_locking(monkeypatch, "_lock_buckets", lambda: claim("two"))
    claim("one")
    assert moments == sorted(moments)


@POSTGRESQL
def test_lanes_of_a_queue_whose_limit_another_claim_counts_are_left_alone(
    database: Database,
) -> None:
    """What that claim starts counts, and is not committed yet."""
    database.transact(queue_operations.limit, "slow", 1)
    for kind in ("one", "two"):
        job(database, kind, type=kind, queue="slow")
    file_all(database)
    mine, other = (ClaimScope(node=NODE, types=[kind], queues=None) for kind in ("one", "two"))
    with database.engine.begin() as open_claim:
        assert len(lane_claims.claim(open_claim, other, 1, 1).claims) == 1
        found = database.transact(lane_claims.claim, mine, 1, 1)
        assert (found.claims, found.skipped) == ([], True)


def test_a_delayed_job_waits_for_its_time_behind_one_that_is_due(database: Database) -> None:
    many = LimitNumbers(concurrency=9)
    due = job(database, numbers=many)
    job(database, numbers=many, delay=3600)
    assert taken(database) == [due]


def test_a_job_that_is_pending_again_is_claimed_though_no_other_one_waits(
    database: Database,
) -> None:
    first = job(database)
    (claim,) = claimed(database)
    settled(database, again(claim))
    assert taken(database) == [first]


def test_a_claim_by_id_takes_no_job_with_a_limit(database: Database) -> None:
    assert database.autocommit(claims.claim_one, job(database), NODE) is None


@POSTGRESQL
def test_a_bucket_is_not_deleted_while_a_new_lane_is_put_under_it(database: Database) -> None:
    """The jobs of a lane without its bucket would never be claimed."""
    job(database, numbers=TEN_AN_HOUR)
    (claim,) = claimed(database)
    settled(database, success(claim))
    database.transact(lane_cleaning.clean)
    database.transact(Connection.execute, update(buckets).values(fresh_at=0))
    waiting = job(database, numbers=TEN_AN_HOUR)
    with database.engine.begin() as filed:
        filing.file(filed)
        database.transact(lane_cleaning.clean)
    assert taken(database) == [waiting]


def test_what_a_limit_discards(database: Database) -> None:
    """Jobs beyond it that no node has claimed yet, while those that are to be repeated wait."""
    numbers = LimitNumbers(concurrency=1, on_reached="discard")
    running = job(database, numbers=numbers)
    assert taken(database) == [running]
    before, fresh, other = (job(database, key, numbers) for key in "aab")
    with database.engine.begin() as connection:
        connection.execute(update(jobs).where(jobs.c.id == before).values(lease=1))
    database.transact(filing.file)
    scope = ClaimScope(node=NODE, types=["import"])
    found = database.transact(lane_claims.claim, scope, 10, 10)
    assert [claim.id for claim in found.claims] == [other]
    assert found.discarded == {}  # the first of the lane waits, and the others wait behind it
    late = job(database, "b", numbers)
    database.transact(filing.file)
    found = database.transact(lane_claims.claim, scope, 10, 10)
    assert (found.claims, found.discarded) == ([], {"api": [late]})
    database.transact(cancelling.discard, {"api": [late, fresh, before]})
    with database.engine.connect() as connection:
        states = {row.id: row.state for row in connection.execute(select(jobs.c.id, jobs.c.state))}
        why = connection.scalar(select(jobs.c.cancelled_by).where(jobs.c.id == late))
    assert (states[late], states[before], why) == ("cancelled", "pending", "limit api")
    assert taken(database) == []
