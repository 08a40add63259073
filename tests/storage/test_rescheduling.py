"""Moving the due time of pending jobs."""

from datetime import UTC, datetime, timedelta

from horae.domain.jobs.job import JobId
from horae.storage.engine.database import Database
from horae.storage.jobs import rescheduling
from tests.storage.arrange import claimed, job, running, started

NEXT_YEAR = datetime(2031, 5, 4, 3, 2, 1, tzinfo=UTC)


def test_pending_jobs_are_moved_and_others_are_left(database: Database) -> None:
    first, other, second = started(database), started(database), started(database, delay=3600)
    held = running(database).id
    before = {each: job(database, each) for each in (other, held)}

    moved = database.transact(
        rescheduling.reschedule, [second, held, first, JobId(4711)], NEXT_YEAR
    )

    assert moved == [first, second]
    assert [job(database, each).run_at for each in (first, second)] == [NEXT_YEAR] * 2
    assert {each: job(database, each) for each in (other, held)} == before


def test_a_moved_job_is_due_at_once_or_later(database: Database) -> None:
    delayed, ready = started(database, delay=3600), started(database)
    past = job(database, ready).created_at - timedelta(seconds=5)

    database.transact(rescheduling.reschedule, [delayed], past)
    database.transact(rescheduling.reschedule, [ready], NEXT_YEAR)

    assert [claim.id for claim in claimed(database, limit=5)] == [delayed]
    assert job(database, delayed).updated_at >= job(database, delayed).created_at
