"""What is left of a schedule's ledger after the clean-up has deleted its old jobs."""

from horae.domain.jobs.job import JobId
from horae.storage.outcomes import deletion
from tests.schedules.driver import Driver


def runs(driver: Driver, number: int, name: str = "work") -> list[int]:
    """Let the schedule run so many times, on time; the jobs."""
    jobs: list[int] = []
    for _ in range(number):
        driver.until_due(name)
        jobs += driver.run()
    return jobs


def delete(driver: Driver, *jobs: int) -> None:
    assert driver.database.transact(deletion.delete_jobs, [JobId(job) for job in jobs]) == set(jobs)


def test_decisions_are_deleted_with_the_oldest_jobs(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    jobs = runs(driver, 5)
    delete(driver, *jobs[:2])
    assert [entry.job_id for entry in driver.entries("work")] == jobs[2:]


def test_the_ledger_has_no_gap_where_a_younger_job_was_deleted(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    jobs = runs(driver, 5)
    delete(driver, jobs[2])
    assert [entry.job_id for entry in driver.entries("work")] == jobs
    delete(driver, jobs[0], jobs[1])
    assert [entry.job_id for entry in driver.entries("work")] == jobs[2:]


def test_times_that_were_skipped_go_with_the_jobs_around_them(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    first = runs(driver, 1)
    driver.until_due("work")
    long = driver.run(seconds=150)  # two times pass meanwhile
    last = runs(driver, 1)
    assert ("skipped", 2, "overlap") in driver.ledger("work")
    delete(driver, *first, *long)
    assert [entry.job_id for entry in driver.entries("work")][-1] == last[0]
    delete(driver, *last)
    assert len(driver.entries("work")) == 1


def test_the_last_decision_stays(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    jobs = runs(driver, 3)
    delete(driver, *jobs)
    assert [entry.job_id for entry in driver.entries("work")] == jobs[-1:]
    assert runs(driver, 1)


def test_other_schedules_keep_theirs(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    driver.horae.schedules.add("work", name="other", cron="* * * * *")
    runs(driver, 3)
    mine = [entry.job_id for entry in driver.entries("work") if entry.job_id is not None]
    before = driver.entries("other")
    delete(driver, *mine)
    assert driver.entries("other") == before
