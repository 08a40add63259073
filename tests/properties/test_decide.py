"""Decisions about a claim: always a move that the table of states has, and a retry exactly while attempts remain."""

from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.domain.backoff import Backoff, retry_delay
from horae.domain.jobs.job import (
    ACTIVE,
    ENDED,
    MAX_CRASHES,
    NEXT_STATE,
    AttemptOutcome,
    Cancelled,
    Claim,
    Crashed,
    Failed,
    JobEvent,
    JobId,
    JobState,
    Outcome,
    Settlement,
    Succeeded,
    decide,
    state_after,
    states_before,
)


def claimed(attempt: int, max_attempts: int, lease: int) -> Claim:
    return Claim(
        JobId(7), "import", "default", 0, None, None, attempt, max_attempts, lease, None, "{}"
    )


CLAIMS = st.builds(claimed, st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 10**9))
BACKOFFS = st.builds(
    Backoff,
    base=st.timedeltas(timedelta(0), timedelta(minutes=5)),
    cap=st.timedeltas(timedelta(minutes=5), timedelta(days=1)),
    factor=st.sampled_from(["exponential", "linear", "constant"]),
    jitter=st.floats(0, 1),
)
SUCCEEDED = st.builds(Succeeded, st.none() | st.just("[1]"))
FAILED = st.builds(Failed, st.text(), st.text(), st.none() | st.text(), timed_out=st.booleans())
CANCELLED = st.builds(Cancelled, st.none() | st.text())
CRASHED = st.builds(Crashed, st.text(), st.integers(1, 10))
OUTCOMES = SUCCEEDED | FAILED | CANCELLED | CRASHED
EVENTS: dict[type[Outcome], dict[JobState, JobEvent]] = {
    Succeeded: {JobState.FINISHED: JobEvent.SUCCEED},
    Cancelled: {JobState.CANCELLED: JobEvent.CANCEL},
    Failed: {JobState.FAILED: JobEvent.FAIL, JobState.PENDING: JobEvent.RETRY},
    Crashed: {JobState.FAILED: JobEvent.FAIL, JobState.PENDING: JobEvent.RESCUE},
}


def decided(claim: Claim, outcome: Outcome, backoff: Backoff = Backoff()) -> Settlement:
    return decide(claim, outcome, backoff, Random(3))


@given(CLAIMS, OUTCOMES, BACKOFFS)
def test_every_outcome_is_a_move_that_the_table_has(
    claim: Claim, outcome: Outcome, backoff: Backoff
) -> None:
    settlement = decided(claim, outcome, backoff)
    event = EVENTS[type(outcome)][settlement.state]
    assert NEXT_STATE[JobState.STARTED, event] is settlement.state
    assert (settlement.id, settlement.lease) == (claim.id, claim.lease)


@given(CLAIMS, FAILED, BACKOFFS)
def test_a_failure_is_retried_exactly_while_attempts_remain(
    claim: Claim, outcome: Failed, backoff: Backoff
) -> None:
    settlement = decided(claim, outcome, backoff)
    assert (settlement.state is JobState.PENDING) == (claim.attempt < claim.max_attempts)
    assert settlement.outcome is (
        AttemptOutcome.TIMED_OUT if outcome.timed_out else AttemptOutcome.FAILED
    )
    assert (settlement.error, settlement.human_readable_error) == (
        outcome.error,
        outcome.human_readable_error,
    )
    assert settlement.traceback == outcome.traceback


@given(CLAIMS, CRASHED, BACKOFFS)
def test_a_crash_is_retried_while_attempts_remain_and_it_is_not_the_third(
    claim: Claim, outcome: Crashed, backoff: Backoff
) -> None:
    settlement = decided(claim, outcome, backoff)
    quarantined = outcome.crashes >= MAX_CRASHES
    assert (settlement.state is JobState.PENDING) == (
        claim.attempt < claim.max_attempts and not quarantined
    )
    assert settlement.outcome is AttemptOutcome.CRASHED
    assert settlement.human_readable_error == "The process that ran this job stopped unexpectedly."
    suffix = f"; quarantined after {outcome.crashes} crashes" if quarantined else ""
    assert settlement.error == outcome.error + suffix


@given(CLAIMS, FAILED | CRASHED, BACKOFFS)
def test_a_retry_waits_as_the_backoff_says_and_an_end_does_not(
    claim: Claim, outcome: Failed | Crashed, backoff: Backoff
) -> None:
    settlement = decided(claim, outcome, backoff)
    delay = retry_delay(claim.attempt, backoff, Random(3)).total_seconds()
    assert settlement.delay == (delay if settlement.state is JobState.PENDING else 0.0)
    assert 0 <= settlement.delay <= backoff.cap.total_seconds()


@given(CLAIMS, SUCCEEDED, BACKOFFS)
def test_a_success_has_no_error(claim: Claim, outcome: Succeeded, backoff: Backoff) -> None:
    assert decided(claim, outcome, backoff) == Settlement(
        claim.id, claim.lease, JobState.FINISHED, AttemptOutcome.FINISHED, result=outcome.result
    )


@given(CLAIMS, CANCELLED, BACKOFFS)
def test_a_cancelled_body_is_never_retried(
    claim: Claim, outcome: Cancelled, backoff: Backoff
) -> None:
    assert decided(claim, outcome, backoff) == Settlement(
        claim.id, claim.lease, JobState.CANCELLED, AttemptOutcome.CANCELLED, cancelled_by=outcome.by
    )


@pytest.mark.parametrize("crashes", [1, 2, 3, 4])
def test_three_crashes_are_quarantine(crashes: int) -> None:
    expected = JobState.FAILED if crashes >= 3 else JobState.PENDING
    assert (
        decided(claimed(crashes, 100, crashes), Crashed("node n1 stopped", crashes)).state
        is expected
    )


def test_terminal_states_absorb() -> None:
    assert not {state for state, _ in NEXT_STATE} & ENDED
    assert set(JobState) == ENDED | ACTIVE
    assert not ENDED & ACTIVE


def test_every_event_happens_and_every_state_is_reached() -> None:
    assert {event for _, event in NEXT_STATE} == set(JobEvent)
    assert set(NEXT_STATE.values()) == set(JobState)
    assert (JobState.FINISHED, JobEvent.CANCEL) not in NEXT_STATE


def test_an_event_leads_to_one_state_wherever_it_happens() -> None:
    for (before, event), after in NEXT_STATE.items():
        assert state_after(event) is after
        assert before in states_before(event)
    assert set(states_before(JobEvent.CANCEL)) == ACTIVE


def test_only_a_claim_starts_a_job() -> None:
    starts = {key for key, state in NEXT_STATE.items() if state is JobState.STARTED}
    assert starts == {(JobState.PENDING, JobEvent.CLAIM)}


def test_a_started_job_becomes_pending_only_in_these_ways() -> None:
    backs = {event for (_, event), state in NEXT_STATE.items() if state is JobState.PENDING}
    assert backs == {
        JobEvent.RETRY,
        JobEvent.SNOOZE,
        JobEvent.INTERRUPT,
        JobEvent.RESCUE,
        JobEvent.HAND_BACK,
    }
