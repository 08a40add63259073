"""The failures of a period: whose attempts are read, since when, and how many at most."""

from sqlalchemy import bindparam, text, update

from horae.storage.engine import seconds_from_now
from horae.storage.engine.database import Database
from horae.storage.jobs.tables import job_attempts
from horae.storage.operations import failures
from horae.storage.operations.failures import TRACEBACK_END, Failures
from tests.storage.arrange import again, age, failure, running, settled, success

DAY = 86_400.0


def read(database: Database, seconds: float = DAY, limit: int = 100) -> Failures:
    return database.autocommit(failures.read, seconds, limit)


def aged(database: Database, job_id: int, seconds: float) -> None:
    moved = (
        update(job_attempts)
        .where(job_attempts.c.job_id == bindparam("of_job"))
        .values(finished_at=seconds_from_now(-seconds), started_at=seconds_from_now(-seconds))
    )
    with database.engine.begin() as connection:
        connection.execute(moved, {"of_job": job_id})


def test_failed_attempts_of_failed_and_of_retried_jobs_are_read(database: Database) -> None:
    failed, retried, fine = (running(database) for _ in range(3))
    settled(
        database,
        failure(failed, traceback="x" * TRACEBACK_END + "end"),
        again(retried, error="OSError: full"),
        success(fine),
    )
    found = {each.job_id: each for each in read(database).found}
    assert set(found) == {failed.id, retried.id}
    assert (found[failed.id].has_failed, found[failed.id].error) == (True, "ValueError: no")
    assert (found[retried.id].has_failed, found[retried.id].error) == (False, "OSError: full")
    traceback = found[failed.id].traceback or ""
    assert (len(traceback), traceback[-4:]) == (TRACEBACK_END, "xend")


def test_a_job_that_failed_without_an_attempt_is_read_with_its_own_error(
    database: Database,
) -> None:
    claim = running(database)
    settled(database, failure(claim))
    with database.engine.begin() as connection:
        connection.execute(text("DELETE FROM horae_job_attempts"))
    (found,) = read(database).found
    assert (found.outcome, found.error, found.traceback) == (None, "ValueError: no", None)


def test_older_failures_are_left_out(database: Database) -> None:
    old, late = running(database), running(database)
    settled(database, failure(old), failure(late))
    aged(database, old.id, 2 * DAY)
    age(database, old.id, "finished_at", 2 * DAY)
    answer = read(database, limit=2)
    assert [each.job_id for each in answer.found] == [late.id]
    assert answer.complete
    assert not read(database, 3 * DAY, limit=2).complete


def test_no_more_than_the_newest_are_read(database: Database) -> None:
    claims = [running(database) for _ in range(4)]
    settled(database, *(failure(claim) for claim in claims))
    answer = read(database, limit=2)
    assert {each.job_id for each in answer.found} == {claims[2].id, claims[3].id}
    assert not answer.complete


def test_later_attempts_hide_no_failure_of_a_job_that_was_retried(database: Database) -> None:
    retried, *fine = (running(database) for _ in range(4))
    settled(database, again(retried), *(success(claim) for claim in fine))
    answer = read(database, limit=2)
    assert [each.job_id for each in answer.found] == [retried.id]
    assert answer.complete


def test_too_many_failures_of_retried_jobs_are_not_complete(database: Database) -> None:
    claims = [running(database) for _ in range(2)]
    settled(database, *(again(claim) for claim in claims))
    assert not read(database, limit=2).complete
    assert read(database, limit=3).complete
