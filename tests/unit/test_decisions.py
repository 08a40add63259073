"""What follows an attempt: by the decision of its body, by the rules of its type, by the attempts that are left."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae import Backoff, Discard, InvalidRequest, JobState, Retry, Snooze
from horae.domain.jobs.decisions import RetryRules, problem_of_rule
from horae.domain.jobs.job import (
    AttemptOutcome,
    Claim,
    Failed,
    JobId,
    Outcome,
    Settlement,
    Snoozed,
    StoppedEarly,
    decide,
)

ATTEMPTS = st.integers(1, 5)


def claim(attempt: int, max_attempts: int) -> Claim:
    return Claim(
        JobId(1), "work", "default", 0, None, None, attempt, max_attempts, attempt, None, "{}"
    )


def decided(outcome: Outcome, attempt: int = 1, max_attempts: int = 3) -> Settlement:
    return decide(claim(attempt, max_attempts), outcome, Backoff(base="1m", jitter=0), Random(1))


@given(ATTEMPTS, ATTEMPTS)
def test_a_snooze_never_ends_a_job(attempt: int, max_attempts: int) -> None:
    settlement = decided(Snoozed(600.0, "later"), attempt, max_attempts)
    assert (settlement.state, settlement.outcome) == (JobState.PENDING, AttemptOutcome.SNOOZED)
    assert (settlement.delay, settlement.reason, settlement.error) == (600.0, "later", None)


@given(ATTEMPTS, ATTEMPTS)
def test_an_interruption_ends_a_job_only_where_it_may_not_run_again(
    attempt: int, max_attempts: int
) -> None:
    again = decided(StoppedEarly("stopped", again=True), attempt, max_attempts)
    assert (again.state, again.outcome, again.delay) == (
        JobState.PENDING,
        AttemptOutcome.INTERRUPTED,
        0.0,
    )
    failed = decided(StoppedEarly("stopped", again=False), attempt, max_attempts)
    assert (failed.state, failed.outcome, failed.error) == (
        JobState.FAILED,
        AttemptOutcome.INTERRUPTED,
        "stopped",
    )


@given(
    attempt=ATTEMPTS,
    max_attempts=ATTEMPTS,
    final=st.booleans(),
    after=st.none() | st.floats(0, 1e6),
)
def test_a_failure_is_retried_if_an_attempt_is_left_and_it_is_not_final(
    attempt: int, max_attempts: int, *, final: bool, after: float | None
) -> None:
    settlement = decided(Failed("boom", "No.", final=final, after=after), attempt, max_attempts)
    retried = attempt < max_attempts and not final
    assert settlement.state is (JobState.PENDING if retried else JobState.FAILED)
    assert settlement.reason == ("No." if retried else None)
    if retried:
        nominal = 60.0 * 2 ** (attempt - 1)
        assert settlement.delay == pytest.approx(
            min(nominal, 600.0) if after is None else after, abs=1e-6
        )


RULES: list[tuple[RetryRules, BaseException, bool]] = [
    (RetryRules(), ValueError(), True),
    (RetryRules(retry_on=OSError), ValueError(), False),
    (RetryRules(retry_on=OSError), ConnectionError(), True),
    (RetryRules(retry_on=(KeyError, OSError)), OSError(), True),
    (RetryRules(give_up_on=LookupError), KeyError(), False),
    (RetryRules(give_up_on=LookupError), ValueError(), True),
    (RetryRules(retry_on=OSError, give_up_on=FileNotFoundError), FileNotFoundError(), False),
    (RetryRules(retry_on=lambda error: "busy" in str(error)), OSError("busy"), True),
    (RetryRules(retry_on=lambda error: "busy" in str(error)), OSError("gone"), False),
]


@pytest.mark.parametrize(("rules", "error", "allowed"), RULES)
def test_rules_tell_which_errors_are_retried(
    rules: RetryRules, error: BaseException, *, allowed: bool
) -> None:
    assert rules.allow(error) is allowed


@pytest.mark.parametrize(
    "rule", [ValueError("no class"), int, "OSError", (OSError, 3), lambda: True]
)
def test_an_invalid_retry_rule_is_refused_with_an_explanation(rule: Any) -> None:
    assert problem_of_rule(rule) is not None


@pytest.mark.parametrize("delay", ["-1s", timedelta(seconds=-1), 5, "soon", timedelta(days=40_000)])
def test_a_wait_is_checked_where_it_is_written(delay: Any) -> None:
    with pytest.raises(InvalidRequest, match="delay"):
        Snooze(delay)
    with pytest.raises(InvalidRequest, match="after"):
        Retry(after=delay)


def test_decisions_say_why() -> None:
    assert str(Snooze("10m")) == "snoozed for 0:10:00"
    assert str(Snooze("10m", "no seat is free")) == "no seat is free"
    assert str(Discard("the file is gone")) == "the file is gone"
    assert Retry("busy", after="30s").after == timedelta(seconds=30)
