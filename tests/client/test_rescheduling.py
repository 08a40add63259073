"""Moving pending jobs to another time."""

from datetime import UTC, datetime, timedelta

import pytest

from horae import Horae, InvalidRequest, JobDoesNotExist, JobNotReschedulable, JobState
from tests.harness.applications import claim_as_another_node, rows

LATER = datetime(2090, 1, 1, tzinfo=UTC)


@pytest.fixture
def shop(horae: Horae) -> Horae:
    @horae.job
    def ship() -> None: ...

    return horae


def test_a_pending_job_gets_another_time(shop: Horae) -> None:
    job = shop.jobs.start("ship", delay="1h")
    moved = shop.jobs.reschedule(job.id, run_at=LATER)
    assert (moved.run_at, moved.state) == (LATER, JobState.PENDING)
    assert claim_as_another_node(shop) == []
    sooner = shop.jobs.reschedule(job.id, delay="0s")
    assert sooner.run_at <= shop.jobs.get(job.id).updated_at
    assert [claim.id for claim in claim_as_another_node(shop)] == [job.id]


def test_only_pending_jobs_can_be_moved(shop: Horae) -> None:
    started, ended = shop.jobs.start("ship"), shop.jobs.start("ship", delay="1h")
    claim_as_another_node(shop)
    shop.jobs.cancel(ended.id)
    with pytest.raises(
        JobNotReschedulable,
        match=f"job {started.id} cannot be rescheduled: it is started, not pending",
    ):
        shop.jobs.reschedule(started.id, delay="1h")
    with pytest.raises(JobNotReschedulable, match="it is cancelled"):
        shop.jobs.reschedule(ended.id, delay="1h")


def test_the_job_of_another_owner_does_not_exist(shop: Horae) -> None:
    job = shop.jobs.start("ship", delay="1h", owner="alice")
    with pytest.raises(JobDoesNotExist):
        shop.jobs.reschedule(job.id, delay="2h", owner="bob")
    shop.jobs.reschedule(job.id, delay="2h", owner="alice")
    with pytest.raises(JobDoesNotExist):
        shop.jobs.reschedule(job.id + 1, delay="2h")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("when", "error"),
    [
        ({}, "name the new time: run_at or delay"),
        ({"run_at": LATER, "delay": "1h"}, "run_at and delay exclude each other"),
        ({"run_at": datetime(2090, 1, 1)}, "has no time zone"),  # noqa: DTZ001 - that is the point
        ({"run_at": "tomorrow"}, "expected an aware datetime"),
        ({"delay": 5}, 'expected a duration such as "5m"'),
    ],
)
def test_a_wrong_time_is_refused(shop: Horae, when: dict[str, object], error: str) -> None:
    job = shop.jobs.start("ship", delay="1h")
    with pytest.raises(InvalidRequest, match=error):
        shop.jobs.reschedule(job.id, **when)  # type: ignore[arg-type]  # wrong on purpose


async def test_coroutines_can_move_jobs_and_it_is_recorded(shop: Horae) -> None:
    job = await shop.aio.jobs.start("ship", delay=timedelta(hours=1))
    moved = await shop.aio.jobs.reschedule(job.id, run_at=LATER)
    assert moved.run_at == LATER
    [(action, target, after)] = rows(shop, "SELECT action, target, after FROM horae_audit")
    assert (action, target) == ("job.reschedule", str(job.id))
    assert "2090-01-01" in str(after)
