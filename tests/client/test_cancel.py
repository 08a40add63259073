"""Cancelling jobs: only by the owner, final, and without effect when repeated."""

from contextlib import closing
from typing import Any

import pytest

from horae import DatabaseBusy, Horae, InvalidRequest, JobDoesNotExist, JobNotCancellable, JobState
from horae.domain.jobs.job import AttemptOutcome, JobId, Settlement
from horae.errors import DatabaseUnavailable
from horae.live.store import CancelRequest, LiveReport
from horae.storage.engine.database import Database
from horae.storage.outcomes import settling
from tests.harness.applications import (
    ELSEWHERE,
    ReceivedHints,
    claim_as_another_node,
    execute,
    live_rows,
    url_of,
)


@pytest.fixture
def working(horae: Horae) -> Horae:
    @horae.job
    def work() -> None: ...

    return horae


def test_a_pending_job_is_cancelled_at_once(working: Horae) -> None:
    job = working.jobs.start("work")
    cancelled = working.jobs.cancel(job.id, by="an admin")
    assert (cancelled.state, cancelled.cancelled_by, cancelled.occupied) == (
        JobState.CANCELLED,
        "an admin",
        False,
    )
    assert cancelled.finished_at is not None
    assert working.jobs.get(job.id) == cancelled
    assert claim_as_another_node(working) == []


@pytest.mark.one_database
@pytest.mark.parametrize("by", ["", "x" * 201, "a\x00b"])
def test_an_invalid_name_of_the_canceller_is_refused(working: Horae, by: str) -> None:
    job = working.jobs.start("work")
    with pytest.raises(InvalidRequest, match="by"):
        working.jobs.cancel(job.id, by=by)
    assert working.jobs.get(job.id).state is JobState.PENDING


def test_a_started_job_is_cancelled_and_held_until_its_body_stops(working: Horae) -> None:
    job = working.jobs.start("work", owner="alice")
    [claim] = claim_as_another_node(working)
    cancelled = working.jobs.cancel(job.id, owner="alice")
    assert (cancelled.state, cancelled.cancelled_by, cancelled.occupied) == (
        JobState.CANCELLED,
        "alice",
        True,
    )
    assert list(working.components.live.cancel_requests([job.id])) == [job.id]
    late = Settlement(
        claim.id, claim.lease, JobState.FINISHED, AttemptOutcome.FINISHED, result='"late"'
    )
    answer = working.components.database.transact(settling.settle, ELSEWHERE, [late])
    assert answer.released == {job.id: JobState.CANCELLED}
    after = working.jobs.get(job.id)
    assert (after.state, after.result, after.occupied) == (JobState.CANCELLED, None, False)


@pytest.mark.parametrize(("lease", "shown"), [(0, 45), (1, 0)])
def test_its_progress_does_not_decrease(working: Horae, lease: int, shown: int) -> None:
    """Unless what the live store shows is another attempt's."""
    job = working.jobs.start("work")
    [claim] = claim_as_another_node(working)
    working.components.live.publish([LiveReport(job.id, claim.lease - lease, 45, "half-way")])
    assert working.jobs.cancel(job.id).progress_percentage == shown
    assert working.jobs.get(job.id).progress_percentage == shown


def test_a_repeated_call_changes_nothing(working: Horae) -> None:
    job = working.jobs.start("work")
    first = working.jobs.cancel(job.id, by="one")
    assert working.jobs.cancel(job.id, by="another") == first


@pytest.mark.parametrize("state", ["finished", "failed"])
def test_an_ended_job_cannot_be_cancelled(working: Horae, state: str) -> None:
    job = working.jobs.start("work")
    execute(working, "UPDATE horae_jobs SET state = :state, finished_at = created_at", state=state)
    with pytest.raises(JobNotCancellable) as caught:
        working.jobs.cancel(job.id)
    assert (caught.value.job_id, caught.value.state) == (job.id, state)
    assert working.jobs.get(job.id).state == state
    assert live_rows(working, [job.id]) == 0


def test_a_job_that_finishes_during_its_cancel_keeps_no_request(
    working: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = working.jobs.start("work")
    [claim] = claim_as_another_node(working)
    cancel = working.components.database.transact_at_once

    def finish_first(*arguments: Any, **named: Any) -> Any:
        done = Settlement(claim.id, claim.lease, JobState.FINISHED, AttemptOutcome.FINISHED)
        working.components.database.transact(settling.settle, ELSEWHERE, [done])
        return cancel(*arguments, **named)

    monkeypatch.setattr(working.components.database, "transact_at_once", finish_first)
    with pytest.raises(JobNotCancellable):
        working.jobs.cancel(job.id)
    assert live_rows(working, [job.id]) == 0


def test_only_the_owner_may(working: Horae) -> None:
    job = working.jobs.start("work", owner="alice")
    with pytest.raises(JobDoesNotExist):
        working.jobs.cancel(job.id, owner="bob")
    with pytest.raises(JobDoesNotExist):
        working.jobs.cancel(job.id + 1)
    assert working.jobs.get(job.id).state is JobState.PENDING
    assert working.jobs.cancel(job.id, owner="alice").cancelled_by == "alice"


@pytest.mark.parametrize("started", [False, True])
def test_a_live_store_that_fails_undoes_no_cancel(
    working: Horae, monkeypatch: pytest.MonkeyPatch, *, started: bool
) -> None:
    def fail(*_: Any) -> Any:
        raise DatabaseUnavailable("live", "disk is full", answers=True)

    job = working.jobs.start("work")
    if started:
        claim_as_another_node(working)
    for name in ("read", "request_cancel", "forget"):
        monkeypatch.setattr(working.components.live, name, fail)
    assert working.jobs.cancel(job.id).state is JobState.CANCELLED


def test_a_live_store_that_fails_keeps_no_group_from_being_cancelled(
    working: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise DatabaseUnavailable("live", "disk is full", answers=True)

    group = working.jobs.start_group([("work", {})] * 2)
    claim_as_another_node(working)
    monkeypatch.setattr(working.components.live, "request_cancel", fail)
    working.jobs.cancel_group(group.id)
    assert working.jobs.count()[JobState.CANCELLED] == 2


async def test_other_processes_are_notified(working: Horae) -> None:
    received = ReceivedHints(working)
    job = working.jobs.start("work")
    claim_as_another_node(working)
    await working.aio.jobs.cancel(job.id)
    await received.hints.until(lambda: {"cancel", "ended"} <= set(received.kinds()))


def test_another_program_that_does_not_know_the_type_may_cancel_it(
    working: Horae, database: Database
) -> None:
    job = working.jobs.start("work")
    with closing(Horae(url_of(database))) as other:
        assert other.jobs.cancel(job.id).state is JobState.CANCELLED


def test_a_failed_cancel_withdraws_its_request(
    working: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite the body must hear of it first, so that it lets go of the lock."""
    job = working.jobs.start("work")
    claim_as_another_node(working)
    ask, told = working.components.live.request_cancel, list[int]()

    def refuse(*_: Any, **__: Any) -> Any:
        raise DatabaseBusy("held")

    def note(job_id: JobId, request: CancelRequest) -> None:
        told.append(job_id)
        ask(job_id, request)

    for name in ("transact_at_once", "transact"):
        monkeypatch.setattr(working.components.database, name, refuse)
    monkeypatch.setattr(working.components.live, "request_cancel", note)
    with pytest.raises(DatabaseBusy):
        working.jobs.cancel(job.id)
    assert (told, live_rows(working, [job.id])) == ([job.id], 0)
    assert working.jobs.get(job.id).state is JobState.STARTED
