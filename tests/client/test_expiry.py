"""Jobs that fail if they have not begun by some time."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae import (
    Horae,
    InvalidJobType,
    InvalidRequest,
    Job,
    JobFailed,
    JobState,
    Limit,
    Snooze,
    StartOptions,
)
from horae.domain.backoff import Backoff
from horae.domain.jobs import TimeLimit
from horae.domain.jobs.job import AttemptOutcome, Settlement
from horae.runtime.timing import SweeperTiming, Timing
from horae.storage.jobs import claims
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims
from horae.storage.outcomes import settling, time_limits
from tests.harness.applications import ELSEWHERE, claim_as_another_node, execute, rows
from tests.harness.nodes import running_node, until
from tests.harness.waiting import Record

HOUR = timedelta(hours=1)
LATER = datetime(2090, 1, 1, tzinfo=UTC)
EARLIER = datetime(2001, 1, 1, tzinfo=UTC)
OFTEN = Timing(sweeper=SweeperTiming(round=0.1, limits_every=1))


@pytest.fixture
def shop(horae: Horae) -> Horae:
    @horae.job(expires="1h", max_attempts=2, backoff=Backoff(base="0s", jitter=0))
    def offer(price: int = 0) -> int:
        return price

    return horae


def waits(job: Job) -> timedelta:
    assert job.expires_at is not None
    return job.expires_at - job.run_at


def pass_expiry(horae: Horae) -> None:
    """Let the moments at which jobs expire be a second ago."""
    sqlite = horae.components.database.dialect == "sqlite"
    past = "created_at + 1" if sqlite else "created_at + interval '1 microsecond'"
    execute(horae, f"UPDATE horae_jobs SET expires_at = {past} WHERE expires_at IS NOT NULL")


def swept(horae: Horae) -> list[Job]:
    database = horae.components.database
    found = database.autocommit(time_limits.expired_jobs, 100)
    return database.transact(
        time_limits.expire, [(item.id, item.lease) for item in found], TimeLimit.EXPIRED
    )


def claimed_through_lanes(horae: Horae) -> set[int]:
    database = horae.components.database
    database.transact(filing.file)
    scope = ClaimScope(node=ELSEWHERE, types=tuple(horae.registry.by_name))
    return {claim.id for claim in database.transact(lane_claims.claim, scope, 10, 10).claims}


def test_the_time_counts_from_when_the_job_is_due(shop: Horae) -> None:
    plain, delayed = shop.jobs.start("offer"), shop.jobs.start("offer", delay="2h")
    dated = shop.jobs.start("offer", run_at=LATER)
    assert [round(waits(job) / HOUR, 2) for job in (plain, delayed, dated)] == [1, 1, 1]
    assert round(waits(shop.jobs.start("offer", expires="3h")) / HOUR, 2) == 3
    assert shop.jobs.start("offer", expires=LATER).expires_at == LATER


def test_a_batch_expires_as_single_jobs_do(shop: Horae) -> None:
    for job_id in shop.jobs.start_many("offer", [{"price": 1}, {"price": 2}]):
        assert round(waits(shop.jobs.get(job_id)) / HOUR, 2) == 1
    [dated] = shop.jobs.start_many("offer", [{}], options=StartOptions(expires=LATER))
    assert shop.jobs.get(dated).expires_at == LATER


def test_no_claim_takes_an_expired_job_even_before_it_is_failed(shop: Horae) -> None:
    expired = shop.jobs.start("offer")
    pass_expiry(shop)
    good = shop.jobs.start("offer")
    database = shop.components.database
    assert database.autocommit(claims.claim_one, expired.id, ELSEWHERE) is None
    assert [claim.id for claim in claim_as_another_node(shop)] == [good.id]
    assert shop.jobs.get(expired.id).state is JobState.PENDING


def test_an_expired_job_fails_with_its_code(shop: Horae) -> None:
    expired, good = shop.jobs.start("offer"), shop.jobs.start("offer", expires=LATER)
    assert swept(shop) == []
    pass_expiry(shop)
    execute(shop, "UPDATE horae_jobs SET expires_at = NULL WHERE id = :id", id=good.id)
    assert [job.id for job in swept(shop)] == [expired.id]
    failed = shop.jobs.get(expired.id)
    assert (failed.state, failed.error_code, failed.attempt) == (JobState.FAILED, "expired", 0)
    assert (failed.error or "").startswith("expired: ")
    with pytest.raises(JobFailed, match="was not started in time, so it was not run at all"):
        shop.jobs.wait(expired.id, timeout="1s")


def test_a_job_that_was_moved_meanwhile_does_not_expire(shop: Horae) -> None:
    job = shop.jobs.start("offer")
    pass_expiry(shop)
    database = shop.components.database
    [found] = database.autocommit(time_limits.expired_jobs, 100)
    moved = shop.jobs.reschedule(job.id, run_at=LATER)
    assert moved.expires_at is not None
    assert moved.expires_at > LATER - HOUR
    assert database.transact(time_limits.expire, [(found.id, found.lease)], TimeLimit.EXPIRED) == []


def test_rescheduling_keeps_the_time_for_which_a_job_may_wait(shop: Horae) -> None:
    job = shop.jobs.start("offer")
    moved = shop.jobs.reschedule(job.id, run_at=LATER)
    assert round(waits(moved) / HOUR, 2) == 1


@pytest.mark.parametrize(
    "outcome", [AttemptOutcome.FAILED, AttemptOutcome.SNOOZED, AttemptOutcome.CRASHED]
)
def test_a_job_that_has_begun_once_does_not_expire(shop: Horae, outcome: AttemptOutcome) -> None:
    job = shop.jobs.start("offer")
    (claim,) = claim_as_another_node(shop)
    again = Settlement(claim.id, claim.lease, JobState.PENDING, outcome, reason="again")
    shop.components.database.transact(settling.settle, ELSEWHERE, [again])
    assert shop.jobs.get(job.id).expires_at is None
    pass_expiry(shop)
    assert swept(shop) == []
    assert [claim.id for claim in claim_as_another_node(shop)] == [job.id]


def test_a_job_that_was_handed_back_unbegun_still_expires(shop: Horae) -> None:
    shop.jobs.start("offer")
    database = shop.components.database
    database.transact(claims.hand_back, ELSEWHERE, claim_as_another_node(shop))
    pass_expiry(shop)
    assert claim_as_another_node(shop) == []
    assert len(swept(shop)) == 1


def test_a_retry_may_wait_as_long_as_the_job_before(shop: Horae) -> None:
    job = shop.jobs.start("offer", expires="3h")
    pass_expiry(shop)
    execute(shop, "UPDATE horae_jobs SET expires_at = run_at")
    swept(shop)
    assert round(waits(shop.jobs.retry(job.id)) / HOUR, 2) == 1
    late = shop.jobs.start("offer", expires="3h", delay="1h")
    shop.jobs.cancel(late.id)
    assert round(waits(shop.jobs.retry(late.id)) / HOUR, 2) == 3


async def test_a_node_fails_it_and_calls_its_hook(horae: Horae) -> None:
    failures = Record[str]()

    @horae.job(
        expires="100ms",
        queue="closed",
        on_error=lambda job, error: failures.append(str(job.error_code)),
    )
    def offer() -> None: ...

    job = await horae.aio.jobs.start(offer)
    async with running_node(horae, queues=("open",), timing=OFTEN):
        with pytest.raises(JobFailed):
            await horae.aio.jobs.wait(job.id, timeout="20s")
        await until(lambda: len(failures) == 1)
    assert failures == ["expired"]
    assert rows(horae, "SELECT job_id FROM horae_job_attempts") == []


async def test_a_snoozed_job_goes_on_after_its_expiry(horae: Horae) -> None:
    @horae.job(expires="1h")
    def offer() -> None:
        raise Snooze("1h")

    job = await horae.aio.jobs.start(offer)
    async with running_node(horae):
        await until(lambda: horae.jobs.get(job.id).retry_reason is not None)
    assert horae.jobs.get(job.id).expires_at is None


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"expires": "0s"}, "expires is '0s', expected a duration of more than zero"),
    ({"expires": 30}, 'expires is 30, expected a duration such as "5m"'),
    ({"expires": datetime(2090, 1, 1)}, "expires .* has no time zone"),  # noqa: DTZ001 - that is the point
    ({"expires": LATER, "run_at": LATER}, "is not after run_at"),
]


@pytest.mark.one_database
@pytest.mark.parametrize(("options", "error"), REFUSED)
def test_a_wrong_option_is_refused(shop: Horae, options: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidRequest, match=error):
        shop.jobs.start("offer", **options)


NEVER: list[tuple[dict[str, Any], str]] = [
    (
        {"expires": EARLIER},
        "expires 2001-.* is in the past: it is 20.* by the clock of the database",
    ),
    ({"expires": EARLIER, "unique_key": "x"}, "expires 2001-.* is in the past"),
    (
        {"expires": LATER, "delay": "36500d"},
        "expires 2090-.* is not after 21.*, before which the job may not start",
    ),
]


@pytest.mark.one_database
@pytest.mark.parametrize(("options", "error"), NEVER)
def test_a_job_that_could_never_run_is_refused(
    shop: Horae, options: dict[str, Any], error: str
) -> None:
    with pytest.raises(InvalidRequest, match=error):
        shop.jobs.start("offer", **options)
    options = {name: value for name, value in options.items() if name != "unique_key"}
    with pytest.raises(InvalidRequest, match=error):
        shop.jobs.start_many("offer", [{}], options=StartOptions(**options))
    with pytest.raises(InvalidRequest, match=error):
        shop.jobs.start_group([("offer", {}, StartOptions(**options))])
    assert shop.jobs.list().jobs == []


@pytest.mark.one_database
@pytest.mark.parametrize("given", ["0s", 30, LATER])
def test_a_wrong_declaration_is_refused(horae: Horae, given: Any) -> None:
    with pytest.raises(InvalidJobType, match="job type 'offer': expires is"):

        @horae.job(expires=given)
        def offer() -> None: ...


def test_no_claim_through_a_lane_takes_an_expired_job(horae: Horae) -> None:
    @horae.job(expires="1h", limits=[Limit(concurrency=5, key="{price}")])
    def offer(price: int) -> None: ...

    expired = horae.jobs.start(offer, price=1)
    pass_expiry(horae)
    good = horae.jobs.start(offer, price=1)
    [batch] = horae.jobs.start_many(offer, [{"price": 2}])
    assert round(waits(horae.jobs.get(batch)) / HOUR, 2) == 1
    assert claimed_through_lanes(horae) == {good.id, batch}
    assert horae.jobs.get(expired.id).state is JobState.PENDING
