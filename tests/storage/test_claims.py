"""Claims: which jobs a node gets, in which order, never one job twice; and what it hands back."""

from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import bindparam, event, func, select, text, update

from horae.domain.jobs.job import Claim, JobId, JobState, NodeId
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import seconds_from_now
from horae.storage.jobs import claims, creation
from horae.storage.jobs.claims import ClaimScope, Part
from horae.storage.jobs.creation import JobRow
from horae.storage.jobs.tables import jobs
from horae.storage.outcomes import cancelling
from horae.storage.queues import queues
from tests.storage import arrange
from tests.storage.arrange import (
    NODE,
    OTHER,
    PLAIN,
    POSTGRESQL,
    again,
    age,
    at_once,
    claimed,
    failure,
    job,
    running,
    settled,
    started,
    wall_clock,
)


def ids(taken: list[Claim]) -> list[JobId]:
    return [claim.id for claim in taken]


def test_a_claim_starts_the_job(database: Database) -> None:
    job_id = started(database)
    before = wall_clock() - timedelta(seconds=60)
    [claim] = claimed(database)
    found = job(database, job_id)
    assert (found.state, found.node_id, found.attempt, found.lease) == (
        JobState.STARTED,
        NODE,
        1,
        1,
    )
    assert found.started_at is not None
    assert before < found.started_at <= wall_clock() + timedelta(seconds=60)
    assert found.updated_at - found.started_at < timedelta(seconds=1)
    assert (claim.id, claim.attempt, claim.lease) == (job_id, 1, 1)


def test_a_claim_carries_what_a_node_needs(database: Database) -> None:
    job_id = started(
        database,
        queue="q",
        priority=3,
        owner="alice",
        params='{"a": [1]}',
        max_attempts=4,
        backoff='{"base": 1.0}',
        meta='{"trace": "t"}',
    )
    [claim] = claimed(database)
    assert claim == Claim(
        id=job_id,
        type="import",
        queue="q",
        priority=3,
        owner="alice",
        params='{"a": [1]}',
        attempt=1,
        max_attempts=4,
        lease=1,
        backoff='{"base": 1.0}',
        meta='{"trace": "t"}',
    )


def test_priority_goes_first_then_the_longest_due_then_the_oldest(database: Database) -> None:
    low = started(database, priority=-1)
    third, fourth = started(database), started(database)
    late = started(database, delay=-50.0)
    for same in (third, fourth):
        age(database, same, "run_at", 10)
    high = started(database, priority=7)
    with database.engine.begin() as connection:  # equal to the microsecond
        run_at = connection.exec_driver_sql(
            f"SELECT run_at FROM horae_jobs WHERE id = {third}"
        ).scalar_one()
        parameter = "?" if database.dialect == "sqlite" else "%s"
        connection.exec_driver_sql(
            f"UPDATE horae_jobs SET run_at = {parameter} WHERE id = {fourth}", (run_at,)
        )
    assert [ids(claimed(database)) for _ in range(3)] == [[high], [late], [third]]
    assert ids(claimed(database, limit=10)) == [fourth, low]


def test_one_claim_is_in_order_too(database: Database) -> None:
    wanted = [started(database, priority=priority) for priority in range(20)]
    assert ids(claimed(database, limit=20)) == wanted[::-1]


def test_no_more_than_the_limit(database: Database) -> None:
    for _ in range(5):
        started(database)
    assert len(claimed(database, limit=3)) == 3
    assert len(claimed(database, limit=3)) == 2
    assert claimed(database, limit=3) == []
    assert claimed(database, limit=0) == []


def test_only_what_is_due(database: Database) -> None:
    started(database, delay=3600.0)
    started(database, run_at=wall_clock() + timedelta(hours=1))
    due = started(database, run_at=wall_clock() - timedelta(hours=1))
    assert ids(claimed(database, limit=10)) == [due]


def test_only_known_types(database: Database) -> None:
    started(database, type="export", priority=9)
    mine = started(database)
    assert claimed(database, types=[]) == []
    assert ids(claimed(database, limit=10, types=["import", "never heard of"])) == [mine]


def test_only_served_queues(database: Database) -> None:
    first, second = started(database, queue="a", priority=1), started(database, queue="b")
    started(database, queue="c")
    assert claimed(database, limit=10, queues=[]) == []
    assert ids(claimed(database, limit=10, queues=["a", "b", "z"])) == [first, second]
    assert len(claimed(database, limit=10, queues=None)) == 1


def test_a_paused_queue_is_left_alone_until_it_is_resumed(database: Database) -> None:
    waits = started(database, queue="a", priority=1)
    other = started(database, queue="b")
    database.transact(queues.pause, "a", "while the disk is full")
    assert ids(claimed(database, limit=10)) == [other]
    assert claimed(database, limit=10, queues=["a"]) == []
    database.transact(queues.resume, "a")
    assert ids(claimed(database, limit=10)) == [waits]


@pytest.mark.parametrize("state", [JobState.STARTED, *sorted({"finished", "failed", "cancelled"})])
def test_only_pending_jobs(database: Database, state: str) -> None:
    claim = running(database)
    match state:
        case "finished":
            settled(database, failure(claim)._replace(state=JobState.FINISHED))
        case "failed":
            settled(database, failure(claim))
        case "cancelled":
            database.transact(cancelling.cancel, claim.id, None)
        case _:
            pass
    before = job(database, claim.id)
    assert before.state == state
    assert claimed(database, OTHER) == []
    assert database.autocommit(claims.claim_one, claim.id, OTHER) is None
    assert job(database, claim.id) == before


def test_one_job_by_its_id(database: Database) -> None:
    started(database, priority=5)
    wanted, later = started(database), started(database, delay=3600.0)
    claim = database.autocommit(claims.claim_one, wanted, NODE)
    assert claim is not None
    assert (claim.id, claim.lease, claim.attempt) == (wanted, 1, 1)
    assert database.autocommit(claims.claim_one, wanted, OTHER) is None
    assert database.autocommit(claims.claim_one, later, NODE) is None
    assert database.autocommit(claims.claim_one, JobId(10**9), NODE) is None


def test_every_claim_has_a_lease_of_its_own(database: Database) -> None:
    first = running(database, max_attempts=3)
    settled(database, again(first))
    [second] = claimed(database, OTHER)
    assert (second.lease, second.attempt) == (2, 2)
    database.transact(claims.hand_back, OTHER, [second])
    [third] = claimed(database)
    assert (third.lease, third.attempt) == (3, 2)


def test_no_job_is_handed_to_two_claimants(database: Database) -> None:
    wanted = set(database.transact(creation.add_many, PLAIN, [None] * 200))

    def take_all(number: int) -> list[Claim]:
        taken: list[Claim] = []
        while batch := claimed(database, NodeId(f"n{number}"), limit=7):
            taken.extend(batch)
        return taken

    results = at_once([partial(take_all, number) for number in range(8)])
    taken = [claim for result in results if not isinstance(result, Exception) for claim in result]
    assert len(taken) == 200, results
    assert {claim.id for claim in taken} == wanted
    assert {claim.lease for claim in taken} == {1}


def test_one_job_by_its_id_goes_to_one_of_many(database: Database) -> None:
    job_id = started(database)
    rivals = [NodeId(f"n{number}") for number in range(10)]

    def take(node: NodeId) -> Claim | None:
        return database.autocommit(claims.claim_one, job_id, node)

    results = at_once([partial(take, node) for node in rivals])
    winners = [
        node for node, result in zip(rivals, results, strict=True) if isinstance(result, Claim)
    ]
    assert len(winners) == 1, results
    assert results.count(None) == 9
    assert job(database, job_id).node_id == winners[0]


@POSTGRESQL
def test_concurrent_claims_skip_locked_rows(database: Database) -> None:
    first, second = started(database, priority=1), started(database)
    with database.engine.begin() as connection:
        taken = claims.claim(connection, ClaimScope(node=NODE, types=["import"]), 1)
        assert ids(taken) == [first]
        assert ids(claimed(database, OTHER, limit=10)) == [
            second
        ]  # would wait for ever if it queued


@POSTGRESQL
def test_a_claim_that_is_rolled_back_leaves_nothing(database: Database) -> None:
    job_id = started(database)
    connection = database.engine.connect()
    claims.claim(connection, ClaimScope(node=NODE, types=["import"]), 1)
    connection.rollback()
    connection.close()
    [claim] = claimed(database, OTHER)
    assert (claim.id, claim.lease) == (job_id, 1)


def test_a_claim_is_one_statement_whose_text_does_not_grow(database: Database) -> None:
    texts: list[str] = []
    event.listen(
        database.autocommit_engine,
        "before_cursor_execute",
        lambda *arguments: texts.append(arguments[2]),
    )
    claimed(database, types=["import"], queues=["a"])
    claimed(database, types=[f"t{n}" for n in range(50)], queues=[f"q{n}" for n in range(50)])
    first, second = (text for text in texts if "horae_jobs" in text)
    assert first == second


def test_a_job_that_is_handed_back_is_due_although_the_clock_was_set_back(
    database: Database,
) -> None:
    job_id = started(database)
    [claim] = claimed(database)
    later = update(jobs).where(jobs.c.id == job_id).values(run_at=seconds_from_now("seconds"))
    database.transact(lambda connection: connection.execute(later, {"seconds": 10_800.0}))
    database.transact(claims.hand_back, NODE, [claim])
    assert [again.id for again in claimed(database)] == [job_id]


def test_handing_back_restores_the_attempt(database: Database) -> None:
    job_id = started(database, max_attempts=2, delay=-5.0)
    before = job(database, job_id)
    [claim] = claimed(database)
    assert database.transact(claims.hand_back, NODE, [claim]) == {job_id}
    after = job(database, job_id)
    assert (after.state, after.node_id, after.attempt, after.started_at) == (
        JobState.PENDING,
        None,
        0,
        None,
    )
    assert after.lease == 1  # a lease never goes back
    assert after.run_at == before.run_at  # its place in the queue is kept
    assert ids(claimed(database, OTHER)) == [job_id]


def test_handing_back_with_a_stale_lease_changes_nothing(database: Database) -> None:
    stale = running(database, max_attempts=3)
    settled(database, again(stale))
    [current] = claimed(database, OTHER)
    before = job(database, current.id)
    assert database.transact(claims.hand_back, NODE, [stale]) == set()
    assert job(database, current.id) == before


def test_handing_back_the_same_lease_of_another_node_changes_nothing(database: Database) -> None:
    """After a fail-over that lost jobs, another node may have the same lease of a new job with the same id."""
    current = running(database, OTHER)
    before = job(database, current.id)
    assert database.transact(claims.hand_back, NODE, [current]) == set()
    assert job(database, current.id) == before


def test_handing_back_many_at_once(database: Database) -> None:
    taken = [running(database) for _ in range(50)]
    kept = running(database)
    assert database.transact(claims.hand_back, NODE, taken) == {claim.id for claim in taken}
    assert {job(database, claim.id).state for claim in taken} == {JobState.PENDING}
    assert job(database, kept.id).state is JobState.STARTED
    assert database.transact(claims.hand_back, NODE, []) == set()


@pytest.mark.parametrize("ended", ["cancelled", "failed"])
def test_handing_back_what_was_ended_meanwhile_does_not_revive_it(
    database: Database, ended: str
) -> None:
    claim = running(database)
    if ended == "cancelled":
        database.transact(cancelling.cancel, claim.id, "alice")
    else:
        age(database, claim.id, "started_at", 60)
        arrange.expired(database, {"import": 30.0})
    before = job(database, claim.id)
    assert (
        database.transact(claims.hand_back, NODE, [claim]) == set()
    )  # so its node must still say that nothing runs
    assert before.state == ended
    assert job(database, claim.id) == before


def test_jobs_claimed_by_a_lost_answer_are_found(database: Database) -> None:
    known, lost, ended, foreign = (
        running(database),
        running(database),
        running(database),
        running(database, OTHER),
    )
    database.transact(cancelling.cancel, ended.id, None)
    started(database)
    assert sorted(database.transact(claims.find_orphaned, NODE, [known.id, foreign.id])) == sorted(
        [lost, ended]
    )
    assert sorted(database.transact(claims.find_orphaned, NODE, [])) == sorted([known, lost, ended])
    assert database.transact(claims.find_orphaned, NodeId("nobody"), []) == []


def test_ten_thousand_waiting_jobs_of_others_do_not_hide_one(database: Database) -> None:
    busy = JobRow(type="export", queue="default", priority=5, params=None)
    database.transact(creation.add_many, busy, [None] * 10_000)
    mine = started(database)
    assert ids(claimed(database, limit=3)) == [mine]


def claimed_beyond(database: Database, last: JobId, limit: int = 10) -> list[JobId]:
    scope = ClaimScope(node=NODE, types=["import"])
    return ids(database.autocommit(claims.claim, scope, limit, Part.AFTER, last))


@POSTGRESQL
class TestBeyond:
    def test_a_cursor_claim_takes_later_jobs_in_order(self, database: Database) -> None:
        before, last, same, after = [started(database) for _ in range(4)]
        high, low = started(database, priority=1), started(database, priority=-1)
        for job_id, seconds in (
            (before, 30),
            (last, 20),
            (same, 20),
            (after, 10),
            (high, 10),
            (low, 10),
        ):
            age(database, job_id, "run_at", seconds)
        with database.engine.begin() as connection:  # equal to the microsecond
            connection.execute(EQUAL, {"last": last, "same": same})
        assert ids([running_now(database, last)]) == [last]
        assert claimed_beyond(database, last) == [same, after]
        assert ids(claimed(database, limit=10)) == [high, before, low]

    def test_a_job_due_for_a_second_may_have_been_committed_later(self, database: Database) -> None:
        late, lately, last = started(database), started(database), started(database)
        age(database, late, "run_at", 60)
        assert ids([running_now(database, last)]) == [last]
        with database.engine.begin() as connection:  # at once: this is about less than a second
            for job_id, seconds in ((last, 0.0), (lately, 0.01)):
                connection.execute(
                    update(jobs)
                    .where(jobs.c.id == job_id)
                    .values(run_at=seconds_from_now(-seconds))
                )
            scope = ClaimScope(node=NODE, types=["import"])
            assert ids(claims.claim(connection, scope, 10, Part.AFTER, last)) == [lately]

    def test_a_cursor_claim_takes_only_due_jobs_up_to_the_limit(self, database: Database) -> None:
        last, first, _second = started(database), started(database), started(database)
        started(database, delay=60.0)
        assert ids([running_now(database, last)]) == [last]
        assert claimed_beyond(database, last, limit=1) == [first]
        assert len(claimed_beyond(database, first)) == 1

    def test_a_cursor_of_a_deleted_job_finds_nothing(self, database: Database) -> None:
        started(database)
        assert claimed_beyond(database, JobId(10**9)) == []

    def test_dead_rows_kept_by_an_open_transaction_are_not_read_again(
        self, database: Database
    ) -> None:
        with database.engine.connect().execution_options(
            isolation_level="REPEATABLE READ"
        ) as analyst:
            if (analyst.dialect.server_version_info or ()) < (15,):
                pytest.skip("PostgreSQL 14 counts what is read half a second later")
            analyst.execute(select(func.count()).select_from(jobs))
            many = [started(database) for _ in range(200)]
            for job_id in many:
                age(database, job_id, "run_at", 1000)
            *_, last = claimed(database, limit=199)
            age(database, many[-1], "run_at", 500)
            whole = entries_read(database, None)
            age(
                database, started(database), "run_at", 100
            )  # before the entries that the others had at first
            assert whole >= 200
            assert entries_read(database, last.id) < 20


EQUAL = (
    update(jobs)
    .where(jobs.c.id == bindparam("same"))
    .values(run_at=select(jobs.c.run_at).where(jobs.c.id == bindparam("last")).scalar_subquery())
)
READ = text("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'horae_jobs_ready'")


def running_now(database: Database, job_id: JobId) -> Claim:
    claim = database.autocommit(claims.claim_one, job_id, NODE)
    assert claim is not None
    return claim


def entries_read(database: Database, beyond: JobId | None) -> int:
    """Entries of the index of ready jobs that a claim of one job reads."""

    def counter() -> int:
        with database.engine.begin() as connection:
            return int(connection.execute(READ).scalar_one())

    before = counter()
    with database.engine.begin() as connection:
        scope, part = ClaimScope(node=NODE, types=["import"]), Part.AFTER if beyond else Part.ALL
        assert len(claims.claim(connection, scope, 1, part, beyond)) == 1
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
    return counter() - before
