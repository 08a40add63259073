"""Groups and dependencies: every end of a job is reported once, in the transaction that writes it."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import Connection, select, text

from horae.domain.jobs import TimeLimit
from horae.domain.jobs.groups import Group, GroupId, GroupState, OnDependencyFailure, OnFailure
from horae.domain.jobs.job import Claim, JobId, JobState, Settlement, WaitsFor
from horae.storage.engine.database import Database
from horae.storage.jobs import creation
from horae.storage.jobs.groups import dependencies, groups
from horae.storage.jobs.tables import jobs
from horae.storage.outcomes import cancelling, deletion, follow_ups, settling, time_limits
from tests.storage.arrange import (
    NODE,
    PLAIN,
    POSTGRESQL,
    again,
    at_once,
    claimed,
    failure,
    job,
    running,
    settled,
    success,
)


def added(connection: Connection, group: GroupId, size: int) -> list[JobId]:
    """New members of the group."""
    if not size:
        return []
    members = creation.add_many(connection, PLAIN, ["{}"] * size, group)
    groups.add_part(connection, group, members)
    return members


def a_group(
    database: Database, size: int, on_failure: OnFailure = OnFailure.CONTINUE
) -> tuple[GroupId, JobId, list[JobId]]:
    """A group of this many members, and the job that runs after it."""

    def create(connection: Connection) -> tuple[GroupId, JobId, list[JobId]]:
        then = creation.add(connection, PLAIN).id
        group = groups.create(connection, None, on_failure, then)
        assert groups.count_added(connection, group, size, by_starter=True)
        members = added(connection, group, size)
        follow_ups.end_inserting(connection, group)
        return group, then, members

    return database.transact(create)


def the_group(database: Database, group: GroupId) -> Group:
    found = database.autocommit(groups.get, group)
    assert found is not None
    return found


def waits(database: Database, job_id: JobId) -> bool:
    found = job(database, job_id)
    return found.state is JobState.PENDING and found.waits_for is WaitsFor.JOBS


def waiting_for(database: Database, *after: JobId, on_failure: OnDependencyFailure) -> JobId:
    """A new job that waits for these."""

    def create(connection: Connection) -> JobId:
        found = dependencies.await_jobs(connection, after)
        new = creation.add(connection, PLAIN).id
        dependencies.hold_back(connection, new, found, on_failure)
        follow_ups.resolve(connection, new, [each.state for each in found], on_failure)
        return new

    return database.transact(create)


CANCEL, FAIL, RUN = OnDependencyFailure.CANCEL, OnDependencyFailure.FAIL, OnDependencyFailure.RUN


def test_then_may_be_claimed_once_the_last_member_has_finished(database: Database) -> None:
    group, then, _ = a_group(database, 3)
    members = claimed(database, limit=10)
    assert len(members) == 3, "the job after the group waits"
    settled(database, *(success(claim) for claim in members[:2]))
    assert waits(database, then)
    assert the_group(database, group).state is GroupState.OPEN
    result = settled(database, success(members[2]))
    assert result.follow_ups.released == [then]
    assert [claim.id for claim in claimed(database, limit=10)] == [then]
    found = the_group(database, group)
    assert (found.state, found.total, found.finished) == (GroupState.ENDED, 3, 3)


def test_then_of_an_empty_group_runs_at_once(database: Database) -> None:
    group, then, _ = a_group(database, 0)
    assert not waits(database, then)
    assert the_group(database, group).state is GroupState.ENDED


def by_failing(database: Database, claim: Claim) -> None:
    settled(database, failure(claim))


def by_settling_with_a_duration(database: Database, claim: Claim) -> None:
    settled(database, success(claim, took=1.5))


def by_cancelling(database: Database, claim: Claim) -> None:
    assert database.transact(cancelling.cancel, claim.id, "alice") is not None


def by_passing_its_time_limit(database: Database, claim: Claim) -> None:
    assert database.transact(time_limits.expire, [(claim.id, claim.lease)], TimeLimit.HARD)


def by_a_retry_that_finishes(database: Database, claim: Claim) -> None:
    settled(database, again(claim))
    [second] = claimed(database)
    assert second.id == claim.id
    settled(database, success(second))


ENDS = [
    by_failing,
    by_settling_with_a_duration,
    by_cancelling,
    by_passing_its_time_limit,
    by_a_retry_that_finishes,
]


@pytest.mark.parametrize("end", ENDS)
def test_each_end_of_a_member_counts(
    database: Database, end: Callable[[Database, Claim], None]
) -> None:
    group, then, _ = a_group(database, 2)
    first, last = claimed(database, limit=2)
    settled(database, success(first))
    end(database, last)
    assert not waits(database, then)
    found = the_group(database, group)
    assert (found.unfinished, found.state) == (0, GroupState.ENDED)


@pytest.mark.parametrize("end", ENDS)
def test_each_end_of_a_job_is_reported_to_those_that_wait(
    database: Database, end: Callable[[Database, Claim], None]
) -> None:
    claim = running(database)
    after = waiting_for(database, claim.id, on_failure=RUN)
    assert waits(database, after)
    end(database, claim)
    assert not waits(database, after)


def test_a_retry_is_no_end(database: Database) -> None:
    group, then, _ = a_group(database, 1)
    [claim] = claimed(database)
    settled(database, again(claim))
    assert waits(database, then)
    assert the_group(database, group).unfinished == 1


def test_an_end_that_is_settled_twice_counts_once(database: Database) -> None:
    group, then, _ = a_group(database, 2)
    first, _ = claimed(database, limit=2)
    for _ in range(2):
        assert settled(database, success(first)).settled == {first.id}
    assert the_group(database, group).finished == 1
    assert waits(database, then)


def test_a_cancelled_member_whose_body_stops_later_counts_once(database: Database) -> None:
    group, then, _ = a_group(database, 2)
    first, _ = claimed(database, limit=2)
    by_cancelling(database, first)
    assert settled(database, success(first)).released == {first.id: JobState.CANCELLED}
    assert the_group(database, group).cancelled == 1
    assert waits(database, then)


def test_plain_jobs_and_members_may_be_settled_together(database: Database) -> None:
    group, then, _ = a_group(database, 2)
    plain = running(database)
    members = claimed(database, limit=2)
    result = settled(database, *(success(claim) for claim in [*members, plain]))
    assert result.settled == {plain.id, *(claim.id for claim in members)}
    assert not waits(database, then)
    assert the_group(database, group).finished == 2


def test_a_group_that_cancels_on_failure_cancels_then_and_the_members_that_are_left(
    database: Database,
) -> None:
    group, then, members = a_group(database, 4, OnFailure.CANCEL)
    first, second = claimed(database, limit=2)
    result = settled(database, failure(first))
    assert result.follow_ups.cancelled == [group]
    assert job(database, then).state is JobState.CANCELLED
    found, _, after = database.transact(
        follow_ups.cancel_members, group, "x", after=JobId(0), limit=10
    )
    assert {(each.id, each.running) for each in found} == {
        (second.id, True),
        (members[2], False),
        (members[3], False),
    }
    assert after is None
    cancelled = the_group(database, group)
    assert (cancelled.state, cancelled.failed, cancelled.cancelled) == (GroupState.CANCELLED, 1, 3)
    assert cancelled.ended_at is not None


def test_a_cancelled_group_never_runs_then(database: Database) -> None:
    group, then, _ = a_group(database, 2)
    members = claimed(database, limit=2)
    assert database.transact(follow_ups.cancel_group, group, "alice") is not None
    assert database.transact(follow_ups.cancel_group, group, "bob") is None
    settled(database, *(success(claim) for claim in members))
    found = job(database, then)
    assert (found.state, found.cancelled_by) == (JobState.CANCELLED, "alice")
    assert the_group(database, group).ended_at is not None


def test_members_are_added_exactly_as_long_as_the_group_is_open(database: Database) -> None:
    group, then, _ = a_group(database, 1)

    def add(connection: Connection) -> bool:
        is_open = groups.count_added(connection, group, 1)
        if is_open:
            added(connection, group, 1)
        return is_open

    [claim] = claimed(database)
    assert database.transact(add)
    settled(database, success(claim))
    assert waits(database, then)
    settled(database, success(claimed(database)[0]))
    assert not waits(database, then)
    assert not database.transact(add)


@pytest.mark.parametrize(
    ("on_failure", "state"),
    [(CANCEL, JobState.CANCELLED), (FAIL, JobState.FAILED), (RUN, JobState.PENDING)],
)
def test_a_failed_dependency(
    database: Database, on_failure: OnDependencyFailure, state: JobState
) -> None:
    claim = running(database)
    after = waiting_for(database, claim.id, on_failure=on_failure)
    after_that = waiting_for(database, after, on_failure=CANCEL)
    settled(database, failure(claim))
    assert job(database, after).state is state
    assert not waits(database, after)
    assert (job(database, after_that).state is JobState.CANCELLED) is (on_failure is not RUN)


def test_a_job_waits_for_the_last_of_several(database: Database) -> None:
    first, second = running(database), running(database)
    after = waiting_for(database, first.id, second.id, on_failure=CANCEL)
    settled(database, success(first))
    assert waits(database, after)
    settled(database, success(second))
    assert not waits(database, after)


@pytest.mark.parametrize(
    ("end", "state"), [(success, JobState.PENDING), (failure, JobState.CANCELLED)]
)
def test_members_that_ended_before_are_counted_at_once(
    database: Database, end: Callable[[Claim], Settlement], state: JobState
) -> None:
    claim = running(database)
    settled(database, end(claim))
    after = waiting_for(database, claim.id, on_failure=CANCEL)
    assert job(database, after).state is state
    assert not waits(database, after)


def test_a_long_chain_ends_in_several_transactions(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_ups, "MOST_LEVELS", 2)
    claim = running(database)
    chain = [claim.id]
    for _ in range(5):
        chain.append(waiting_for(database, chain[-1], on_failure=CANCEL))
    settled(database, failure(claim))
    states = [job(database, each).state for each in chain[1:]]
    assert states == [JobState.CANCELLED] * 2 + [JobState.PENDING] * 3
    for _ in range(2):
        database.transact(follow_ups.report_late, 10)
    assert {job(database, each).state for each in chain[1:]} == {JobState.CANCELLED}


def test_an_end_that_another_program_has_written_is_reported_later(database: Database) -> None:
    group, then, _ = a_group(database, 1)
    [claim] = claimed(database)
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "UPDATE horae_jobs SET state = 'finished', finished_at = updated_at, node_id = NULL WHERE id = :id"
            ),
            {"id": claim.id},
        )
    assert not database.transact(deletion.delete_jobs, [claim.id]), "its end is not reported yet"
    assert database.transact(follow_ups.report_late, 10).released == [then]
    assert not database.transact(follow_ups.report_late, 10).released
    assert the_group(database, group).finished == 1
    assert database.transact(deletion.delete_jobs, [claim.id]) == {claim.id}


def test_a_deleted_job_leaves_no_dependency(database: Database) -> None:
    claim = running(database)
    after = waiting_for(database, claim.id, on_failure=RUN)
    settled(database, success(claim))
    assert database.autocommit(dependencies.of_job, after) == [claim.id]
    database.transact(deletion.delete_jobs, [claim.id])
    assert database.autocommit(dependencies.of_job, after) == []


def settle_as(database: Database, claim: Claim, index: int) -> Callable[[], settling.Settled]:
    how = [success, failure][index % 2]
    return lambda: settled(database, how(claim), node=NODE)


@pytest.mark.parametrize("size", [2, 6])
def test_exactly_one_of_simultaneous_ends_is_the_last(database: Database, size: int) -> None:
    for _ in range(5):
        group, then, _ = a_group(database, size)
        members = claimed(database, limit=size)
        results = at_once(
            [settle_as(database, claim, index) for index, claim in enumerate(members)]
        )
        errors = [result for result in results if isinstance(result, Exception)]
        assert not errors
        released = [
            each
            for result in results
            if isinstance(result, settling.Settled)
            for each in result.follow_ups.released
        ]
        assert released == [then]
        assert the_group(database, group).unfinished == 0
        settled(database, success(claimed(database)[0]))


def test_exactly_one_of_simultaneous_dependencies_is_the_last(database: Database) -> None:
    for _ in range(5):
        both = [running(database), running(database)]
        after = waiting_for(database, *(claim.id for claim in both), on_failure=RUN)
        results = at_once([settle_as(database, claim, index) for index, claim in enumerate(both)])
        released = [
            each
            for result in results
            if isinstance(result, settling.Settled)
            for each in result.follow_ups.released
        ]
        assert released == [after]
        settled(database, success(claimed(database)[0]))


def test_a_job_that_ends_while_a_dependent_is_created(database: Database) -> None:
    for _ in range(10):
        claim = running(database)
        calls: list[Callable[[], object]] = [
            partial(settled, database, success(claim)),
            partial(waiting_for, database, claim.id, on_failure=CANCEL),
        ]
        results = at_once(calls)
        after = results[1]
        assert isinstance(after, int), results
        assert not waits(database, JobId(after))
        settled(database, success(claimed(database)[0]))


@POSTGRESQL
@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_an_end_in_a_snapshot_is_reported_later(database: Database, isolation: str) -> None:
    group, then, _ = a_group(database, 2)
    first, second = claimed(database, limit=2)
    with database.transaction(isolation) as connection:
        connection.execute(select(jobs.c.id)).all()  # takes the snapshot
        settled(database, success(first), node=NODE)
        result = settling.settle(connection, NODE, [success(second)])
        assert result.settled == {second.id}
    assert waits(database, then)
    assert database.transact(follow_ups.report_late, 10).released == [then]
    assert the_group(database, group).state is GroupState.ENDED


def test_a_batch_of_members_of_which_one_has_ended_and_others_wait_for_another(
    database: Database,
) -> None:
    group, then, _ = a_group(database, 4)
    plain, cancelled, awaited, lost = claimed(database, limit=4)
    by_cancelling(database, cancelled)
    after = waiting_for(database, awaited.id, on_failure=CANCEL)
    result = settled(database, *(success(claim) for claim in (plain, cancelled, awaited)))
    assert result.settled == {plain.id, awaited.id}
    assert result.released == {cancelled.id: JobState.CANCELLED}
    assert result.follow_ups.released == [after]
    found = the_group(database, group)
    assert (found.finished, found.cancelled) == (2, 1)
    repeated = settled(database, *(success(claim) for claim in (plain, awaited, lost)))
    assert repeated.settled == {plain.id, awaited.id, lost.id}
    assert repeated.follow_ups.released == [then]
    assert the_group(database, group).finished == 3
