"""Settling: the lease is the fence, each attempt leaves one row, a lost answer does no harm."""

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from random import Random

import pytest
from sqlalchemy import Connection, text

from horae.domain.backoff import Backoff
from horae.domain.jobs import TimeLimit
from horae.domain.jobs.job import (
    AttemptOutcome,
    Claim,
    Crashed,
    Failed,
    JobId,
    JobState,
    NodeId,
    Settlement,
    Succeeded,
    decide,
)
from horae.runtime.liveness.rescue import Rescuer
from horae.storage.engine.database import Database
from horae.storage.nodes import nodes
from horae.storage.outcomes import cancelling, crashed_nodes, settling, time_limits
from horae.storage.outcomes.settling import Settled
from horae.types.registry import Registry
from tests.storage import arrange
from tests.storage.arrange import (
    NODE,
    OTHER,
    POSTGRESQL,
    again,
    age,
    at_once,
    attempts,
    claimed,
    count,
    failure,
    job,
    registered,
    running,
    settled,
    success,
    wall_clock,
)

How = Callable[[Claim], Settlement]
INSTANT = timedelta(seconds=1)
"""SQLite may read its clock several times in a statement."""


def test_a_finished_job(database: Database) -> None:
    claim = running(database, max_attempts=3)
    started = job(database, claim.id)
    assert settled(
        database, success(claim, result='{"rows": 7}', progress=40, label="nearly")
    ) == Settled({claim.id}, {})
    found = job(database, claim.id)
    assert (found.state, found.result, found.progress_percentage) == (
        JobState.FINISHED,
        {"rows": 7},
        100,
    )
    assert (found.node_id, found.error, found.human_readable_error) == (None, None, None)
    assert (found.lease, found.attempt, found.started_at) == (1, 1, started.started_at)
    assert found.started_at is not None
    assert found.finished_at is not None
    assert found.started_at <= found.finished_at <= found.updated_at + INSTANT


@pytest.mark.parametrize("how", [success, failure, again])
def test_the_same_lease_of_another_node_is_not_settled(database: Database, how: How) -> None:
    """After a fail-over that lost jobs, another node may have the same lease of a new job with the same id."""
    claim = running(database, OTHER, max_attempts=3)
    before = job(database, claim.id)
    assert settled(database, how(claim), node=NODE) == Settled()
    assert (job(database, claim.id), attempts(database, claim.id)) == (before, [])
    assert settled(database, how(claim), node=OTHER).settled == {claim.id}


def test_a_failed_job_keeps_its_progress_and_texts(database: Database) -> None:
    claim = running(database)
    settled(database, failure(claim, traceback="Traceback …", progress=40, label="importing"))
    found = job(database, claim.id)
    assert (found.state, found.progress_percentage, found.label) == (
        JobState.FAILED,
        40,
        "importing",
    )
    assert (found.error, found.human_readable_error) == ("ValueError: no", "It did not work.")
    assert (found.result, found.node_id) == (None, None)
    assert found.finished_at is not None


def test_without_a_report_the_stored_progress_stays(database: Database) -> None:
    claim = running(database)
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE horae_jobs SET progress_percentage = 30"))
    settled(database, failure(claim))
    assert job(database, claim.id).progress_percentage == 30


def test_a_retry_waits_and_forgets_the_failure(database: Database) -> None:
    claim = running(database, max_attempts=3)
    settled(
        database,
        again(claim, 600.0, error="no", human_readable_error="No.", progress=50, label="half"),
    )
    found = job(database, claim.id)
    assert (found.state, found.node_id, found.finished_at, found.result) == (
        JobState.PENDING,
        None,
        None,
        None,
    )
    assert (found.error, found.human_readable_error, found.label) == (None, None, None)
    assert (found.progress_percentage, found.attempt, found.lease) == (0, 1, 1)
    assert abs(found.run_at - found.updated_at - timedelta(seconds=600)) < INSTANT
    assert claimed(database) == []


def test_a_retry_may_leave_something_for_the_next_attempt(database: Database) -> None:
    claim = running(database, max_attempts=3, meta='{"tenant": "acme"}')
    settled(database, again(claim))
    [claim] = claimed(database)
    assert claim.meta == '{"tenant": "acme"}'
    left = {"tenant": "acme", "previous": {"text": 'a "quoted" one'}}
    settled(database, again(claim, meta=json.dumps(left)))
    [claim] = claimed(database)
    assert json.loads(claim.meta) == left


def test_a_retry_may_be_at_once_and_clears_the_text_of_the_failure(database: Database) -> None:
    first = running(database, max_attempts=2)
    settled(database, again(first, error="no", human_readable_error="No."))
    [second] = claimed(database)
    assert (second.attempt, second.lease) == (2, 2)
    settled(database, success(second))
    found = job(database, first.id)
    assert (found.state, found.error, found.human_readable_error) == (JobState.FINISHED, None, None)


def test_each_attempt_leaves_one_row(database: Database) -> None:
    first = running(database, max_attempts=3)
    started = job(database, first.id).started_at
    settled(database, again(first, error="ValueError: once", traceback="Traceback one"))
    [second] = claimed(database, OTHER)
    settled(database, success(second), node=OTHER)
    one, two = attempts(database, first.id)
    assert (one.lease, one.attempt, one.node_id, one.outcome) == (1, 1, NODE, AttemptOutcome.FAILED)
    assert (one.error, one.traceback, one.started_at) == (
        "ValueError: once",
        "Traceback one",
        started,
    )
    assert (two.lease, two.attempt, two.node_id, two.outcome) == (
        2,
        2,
        OTHER,
        AttemptOutcome.FINISHED,
    )
    assert (two.error, two.traceback) == (None, None)
    assert one.started_at <= one.finished_at <= two.started_at <= two.finished_at


@pytest.mark.parametrize("outcome", list(AttemptOutcome))
def test_every_outcome_can_be_kept(database: Database, outcome: AttemptOutcome) -> None:
    claim = running(database)
    settled(database, failure(claim)._replace(outcome=outcome))
    assert [attempt.outcome for attempt in attempts(database, claim.id)] == [outcome]


def test_an_end_writes_only_its_own_columns(database: Database) -> None:
    claim = running(
        database,
        owner="alice",
        params='{"a": 1}',
        meta='{"m": 1}',
        priority=3,
        queue="q",
        unique_key="k",
        max_attempts=4,
        backoff='{"base": 1.0}',
    )
    before = job(database, claim.id)
    settled(database, success(claim, result="[1]"))
    after = job(database, claim.id)
    changed = {name for name, value in asdict(before).items() if getattr(after, name) != value}
    assert changed == {
        "state",
        "result",
        "progress_percentage",
        "node_id",
        "finished_at",
        "updated_at",
    }


def test_a_batch_of_all_kinds(database: Database) -> None:
    finished, failed, retried, cancelled = (running(database, max_attempts=2) for _ in range(4))
    gone = JobId(10**9)
    batch = [
        success(finished),
        failure(failed),
        again(retried, 60.0),
        Settlement(cancelled.id, cancelled.lease, JobState.CANCELLED, AttemptOutcome.CANCELLED),
        success(finished)._replace(id=gone),
    ]
    result = settled(database, *batch)
    assert result == Settled({finished.id, failed.id, retried.id, cancelled.id}, {})
    assert [job(database, item.id).state.value for item in batch[:4]] == [
        "finished",
        "failed",
        "pending",
        "cancelled",
    ]
    assert count(database) == (4, 4)


def test_a_thousand_at_once(database: Database) -> None:
    claims = [running(database) for _ in range(20)]
    rest = [success(claims[0])._replace(id=JobId(10**9 + number)) for number in range(980)]
    assert settled(database, *[success(claim) for claim in claims], *rest).settled == {
        claim.id for claim in claims
    }


def test_a_batch_has_one_moment(database: Database) -> None:
    claims = [running(database) for _ in range(50)]
    settled(database, *[success(claim) for claim in claims])
    assert len({job(database, claim.id).finished_at for claim in claims}) == 1


def test_an_empty_batch_is_fine(database: Database) -> None:
    assert settled(database) == Settled(set(), {})


STALE = [success, failure, again]


@pytest.mark.parametrize("late", STALE)
def test_a_stale_lease_changes_nothing_of_a_job_that_runs_again(
    database: Database, late: How
) -> None:
    stale = running(database, max_attempts=3)
    settled(database, again(stale))
    [current] = claimed(database, OTHER)
    before, kept = job(database, current.id), attempts(database, current.id)
    settled(database, late(stale))
    assert job(database, current.id) == before
    assert attempts(database, current.id) == kept


@pytest.mark.parametrize("late", STALE)
@pytest.mark.parametrize("how", [success, failure])
def test_an_ended_job_never_changes(database: Database, how: How, late: How) -> None:
    claim = running(database, max_attempts=3)
    settled(database, how(claim))
    before, kept = job(database, claim.id), attempts(database, claim.id)
    settled(database, late(claim))
    settled(database, late(claim._replace(lease=2)))
    assert job(database, claim.id) == before
    assert attempts(database, claim.id) == kept


def test_a_pending_job_cannot_be_settled(database: Database) -> None:
    claim = running(database, max_attempts=3)
    settled(database, again(claim, 60.0))
    before = job(database, claim.id)
    assert settled(database, failure(claim)._replace(outcome=AttemptOutcome.CRASHED)) == Settled(
        set(), {}
    )
    assert job(database, claim.id) == before


@pytest.mark.parametrize("how", [success, failure, again])
def test_settling_again_after_a_lost_answer(database: Database, how: How) -> None:
    claim = running(database, max_attempts=3)
    first = settled(database, how(claim))
    before, kept = job(database, claim.id), attempts(database, claim.id)
    assert first == settled(database, how(claim)) == Settled({claim.id}, {})
    assert job(database, claim.id) == before
    assert attempts(database, claim.id) == kept


def test_settling_again_when_the_retry_runs_already(database: Database) -> None:
    claim = running(database, max_attempts=3)
    settled(database, again(claim))
    claimed(database, OTHER)
    before = job(database, claim.id)
    assert settled(database, again(claim)) == Settled({claim.id}, {})
    assert job(database, claim.id) == before
    assert len(attempts(database, claim.id)) == 1


def test_an_entry_of_another_lease_is_no_proof(database: Database) -> None:
    first = running(database, max_attempts=3)
    settled(database, again(first))
    [second] = claimed(database)
    settled(database, success(second))
    assert settled(database, again(second)) == Settled(set(), {})


def test_a_batch_of_which_a_part_arrived_before(database: Database) -> None:
    done, open_, cancelled = running(database), running(database), running(database)
    settled(database, success(done))
    database.transact(cancelling.cancel, cancelled.id, None)
    result = settled(database, success(done), success(open_), success(cancelled))
    assert result == Settled({done.id, open_.id}, {cancelled.id: JobState.CANCELLED})
    assert count(database) == (3, 3)


def timed_out(claim: Claim) -> Settlement:
    return failure(claim)._replace(outcome=AttemptOutcome.TIMED_OUT)


@pytest.mark.parametrize("how", [success, failure, again, timed_out])
def test_a_cancel_wins_over_the_outcome_of_the_body(database: Database, how: How) -> None:
    claim = running(database, max_attempts=2)
    cancelled = database.transact(cancelling.cancel, claim.id, "alice")
    assert cancelled is not None
    assert settled(database, how(claim)._replace(result="1")) == Settled(
        set(), {claim.id: JobState.CANCELLED}
    )
    found = job(database, claim.id)
    assert (found.state, found.result, found.cancelled_by) == (JobState.CANCELLED, None, "alice")
    assert (found.error, found.human_readable_error) == (None, None)
    assert (found.node_id, found.finished_at) == (None, cancelled.job.finished_at)
    assert [attempt.outcome for attempt in attempts(database, claim.id)] == [
        AttemptOutcome.CANCELLED
    ]


def test_a_hard_limit_wins_over_a_body_that_succeeds(database: Database) -> None:
    claim = running(database)
    age(database, claim.id, "started_at", 60)
    [expired] = arrange.expired(database, {"import": 30.0})
    assert settled(database, success(claim)) == Settled(set(), {claim.id: JobState.FAILED})
    found = job(database, claim.id)
    assert (found.state, found.error, found.node_id) == (JobState.FAILED, expired.error, None)
    assert [attempt.outcome for attempt in attempts(database, claim.id)] == [
        AttemptOutcome.TIMED_OUT
    ]


def test_a_cancel_of_what_is_pending_leaves_the_jobs_that_a_node_has_claimed(
    database: Database,
) -> None:
    claim, waiting = running(database), arrange.started(database)
    assert database.transact(cancelling.cancel_pending, [claim.id, waiting], "alice") == [waiting]
    assert job(database, claim.id).state is JobState.STARTED


@pytest.mark.parametrize("ended", [True, False])
def test_a_limit_fails_no_job_that_has_ended_or_runs_anew_since_it_was_found(
    database: Database, *, ended: bool
) -> None:
    claim = running(database, max_attempts=2)
    settled(database, success(claim) if ended else again(claim))
    if not ended:
        claimed(database, OTHER)
    before = job(database, claim.id)
    assert database.transact(time_limits.expire, [(claim.id, claim.lease)], TimeLimit.HARD) == []
    assert job(database, claim.id) == before


def released(
    database: Database, node: NodeId, leases: list[tuple[JobId, int]]
) -> dict[JobId, JobState]:
    return database.transact(settling.release, node, leases).released


def test_a_release_marks_the_body_as_stopped(database: Database) -> None:
    claim = running(database)
    database.transact(cancelling.cancel, claim.id, None)
    lease = [(claim.id, claim.lease)]
    assert released(database, NODE, lease) == {claim.id: JobState.CANCELLED}
    assert job(database, claim.id).node_id is None
    assert released(database, NODE, lease) == {}
    assert len(attempts(database, claim.id)) == 1


def test_a_release_needs_the_lease_the_node_and_an_end(database: Database) -> None:
    claim, other = running(database), running(database)
    database.transact(cancelling.cancel, claim.id, None)
    assert released(database, NODE, []) == {}
    assert released(database, OTHER, [(claim.id, claim.lease)]) == {}
    assert released(database, NODE, [(claim.id, claim.lease + 1)]) == {}
    assert released(database, NODE, [(other.id, other.lease)]) == {}
    assert (job(database, claim.id).node_id, job(database, other.id).node_id) == (NODE, NODE)
    assert count(database) == (2, 0)


def test_two_leases_of_one_job_in_a_batch_are_distinguished(database: Database) -> None:
    stale = running(database, max_attempts=3)
    settled(database, again(stale))
    [current] = claimed(database)
    late = again(stale, error="the stale one's")._replace(outcome=AttemptOutcome.CRASHED)
    for batch in ([success(current), late], [late, success(current)]):
        settled(database, *batch)
    assert [(row.lease, row.outcome, row.error) for row in attempts(database, current.id)] == [
        (1, AttemptOutcome.FAILED, None),
        (2, AttemptOutcome.FINISHED, None),
    ]


def test_two_settle_at_once_and_one_does(database: Database) -> None:
    claim = running(database)
    results = at_once(
        [lambda: settled(database, success(claim)), lambda: settled(database, failure(claim))]
    )
    states = [result.settled for result in results if isinstance(result, Settled)]
    assert sorted(states, key=len) == [set(), {claim.id}], results
    assert len(attempts(database, claim.id)) == 1
    assert attempts(database, claim.id)[0].outcome.value == job(database, claim.id).state.value


def test_a_cancel_and_a_settling_at_once_agree_with_their_answers(database: Database) -> None:
    claims = [running(database) for _ in range(20)]
    for claim in claims:
        cancelled, ended = at_once(
            [
                lambda: database.transact(cancelling.cancel, claim.id, None),  # noqa: B023
                lambda: settled(database, success(claim)),  # noqa: B023
            ]
        )
        found = job(database, claim.id)
        if isinstance(cancelled, cancelling.CancelledJob):
            assert found.state is JobState.CANCELLED
            assert ended == Settled(set(), {claim.id: JobState.CANCELLED})
        else:
            assert (cancelled, found.state) == (None, JobState.FINISHED)
            assert ended == Settled({claim.id}, {})
        assert found.node_id is None
        assert len(attempts(database, claim.id)) == 1


@POSTGRESQL
def test_the_end_of_the_jobs_own_transaction_waits_for_nothing_else(database: Database) -> None:
    claim = running(database)
    with database.transaction("repeatable read") as connection:
        connection.execute(text("SELECT 1"))  # the snapshot is taken, and the row is not locked
        cancelled = database.transact(cancelling.cancel, claim.id, None)
        assert cancelled is not None


TEXTS = [
    "nul \x00 inside",
    "surrogate \udcff from a file name",
    "quotes ' \" \\ \\u0000 {e}",
    "naïve 日本語 🕐",
    "",
]


@pytest.mark.parametrize("said", TEXTS)
def test_a_failure_of_any_text_can_be_settled(database: Database, said: str) -> None:
    claim, other = running(database), running(database)
    failed = failure(claim, error=said, human_readable_error=said, traceback=said, label=said)
    assert settled(database, failed, success(other)) == Settled({claim.id, other.id}, {})
    found = job(database, claim.id)
    expected = said.replace("\x00", "\N{REPLACEMENT CHARACTER}").replace("\udcff", "?")
    assert (found.error, found.human_readable_error, found.label) == (expected, expected, expected)
    [attempt] = attempts(database, claim.id)
    assert (attempt.error, attempt.traceback) == (expected, expected)


def rescued(connection: Connection, *dead: NodeId) -> list[tuple[JobId, str]]:
    batch, _ = Rescuer(Registry(), Random(0)).rescue(connection, dead)
    return [(item.claim.id, item.state.value) for item in batch]


def test_jobs_of_a_dead_node_are_found_in_order(database: Database) -> None:
    registered(database)
    registered(database, OTHER)
    first, second, foreign = running(database), running(database), running(database, OTHER)
    database.transact(cancelling.cancel, second.id, None)
    held = database.transact(crashed_nodes.abandoned_jobs, [NODE], 10)
    assert held == [(first, NODE, JobState.STARTED, 0), (second, NODE, JobState.CANCELLED, 0)]
    assert database.transact(crashed_nodes.abandoned_jobs, [NODE], 1) == held[:1]
    assert database.transact(crashed_nodes.abandoned_jobs, [], 10) == []
    assert database.transact(crashed_nodes.abandoned_jobs, [OTHER], 10) == [
        (foreign, OTHER, JobState.STARTED, 0)
    ]


def test_jobs_of_a_node_without_a_row_are_found_too(database: Database) -> None:
    registered(database)
    running(database)
    orphan = running(database, OTHER)
    assert database.transact(crashed_nodes.abandoned_jobs, [], 10) == [
        (orphan, OTHER, JobState.STARTED, 0)
    ]


@POSTGRESQL
def test_two_sweepers_share_the_work_without_waiting(database: Database) -> None:
    for _ in range(2):
        running(database)
    with database.engine.begin() as connection:
        assert len(crashed_nodes.abandoned_jobs(connection, [], 10)) == 2
        assert database.transact(crashed_nodes.abandoned_jobs, [], 10) == []


def test_a_rescue_retries_fails_or_releases(database: Database) -> None:
    registered(database)
    retried, failed, cancelled = (running(database, max_attempts=count) for count in (2, 1, 1))
    database.transact(cancelling.cancel, cancelled.id, None)
    assert database.transact(rescued, NODE) == [
        (retried.id, "pending"),
        (failed.id, "failed"),
        (cancelled.id, "cancelled"),
    ]
    assert {job(database, claim.id).node_id for claim in (retried, failed, cancelled)} == {None}
    found = job(database, failed.id)
    assert found.error == "node n1 stopped in the middle of the job"
    assert found.human_readable_error == "The process that ran this job stopped unexpectedly."
    outcomes = [
        attempts(database, claim.id)[0].outcome.value for claim in (retried, failed, cancelled)
    ]
    assert outcomes == ["crashed", "crashed", "cancelled"]
    assert database.transact(rescued, NODE) == []


def test_a_dead_node_that_returns_changes_nothing(database: Database) -> None:
    registered(database)
    claim = running(database, max_attempts=2, backoff='{"base": 0.0}')
    database.transact(rescued, NODE)
    database.transact(nodes.remove, [NODE])
    registered(database, OTHER)
    [again_] = claimed(database, OTHER)
    before = job(database, claim.id)
    assert settled(database, success(claim)) == Settled(set(), {})
    assert job(database, claim.id) == before
    assert settled(database, success(again_), node=OTHER) == Settled({claim.id}, {})


def test_three_crashes_are_quarantine(database: Database) -> None:
    claim = running(database, NodeId("c1"), max_attempts=50, backoff='{"base": 0.0}')
    for number in (2, 3):
        assert database.transact(rescued, NodeId(f"c{number - 1}")) == [(claim.id, "pending")]
        claimed(database, NodeId(f"c{number}"))
    assert database.transact(rescued, NodeId("c3")) == [(claim.id, "failed")]
    assert (
        job(database, claim.id).error
        == "node c3 stopped in the middle of the job; quarantined after 3 crashes"
    )


def test_a_decision_can_be_written_as_it_is(database: Database) -> None:
    def end(claim: Claim, outcome: Succeeded | Failed | Crashed) -> JobState:
        settled(database, decide(claim, outcome, Backoff(), Random(1)))
        return job(database, claim.id).state

    assert end(running(database), Succeeded("[1]")) is JobState.FINISHED
    assert (
        end(running(database), Failed("no", "No.", "Traceback", timed_out=True)) is JobState.FAILED
    )
    assert end(running(database, max_attempts=2), Crashed("gone")) is JobState.PENDING


def test_times_come_from_the_database(database: Database) -> None:
    claim = running(database)
    settled(database, success(claim))
    found, slack = job(database, claim.id), timedelta(seconds=60)
    assert found.finished_at is not None
    assert abs(found.finished_at - wall_clock()) < slack
