"""What is left of a schedule's ledger after the clean-up has deleted its old jobs."""

from horae.domain.jobs.job import JobId
from horae.storage.outcomes import deletion
from tests.schedules.stage import Stage


def runs(stage: Stage, number: int, name: str = "work") -> list[int]:
    """Let the schedule run so many times, on time; the jobs."""
    jobs: list[int] = []
    for _ in range(number):
        stage.until_due(name)
        jobs += stage.run()
    return jobs


def delete(stage: Stage, *jobs: int) -> None:
    assert stage.database.transact(deletion.delete_jobs, [JobId(job) for job in jobs]) == set(jobs)


def test_decisions_are_deleted_with_the_oldest_jobs(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="* * * * *")
    jobs = runs(stage, 5)
    delete(stage, *jobs[:2])
    assert [entry.job_id for entry in stage.entries("work")] == jobs[2:]


def test_the_ledger_has_no_gap_where_a_younger_job_was_deleted(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="* * * * *")
    jobs = runs(stage, 5)
    delete(stage, jobs[2])
    assert [entry.job_id for entry in stage.entries("work")] == jobs
    delete(stage, jobs[0], jobs[1])
    assert [entry.job_id for entry in stage.entries("work")] == jobs[2:]


def test_times_that_were_skipped_go_with_the_jobs_around_them(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="* * * * *")
    first = runs(stage, 1)
    stage.until_due("work")
    long = stage.run(seconds=150)  # two times pass meanwhile
    last = runs(stage, 1)
    assert ("skipped", 2, "overlap") in stage.ledger("work")
    delete(stage, *first, *long)
    assert [entry.job_id for entry in stage.entries("work")][-1] == last[0]
    delete(stage, *last)
    assert len(stage.entries("work")) == 1


def test_the_last_decision_stays(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="* * * * *")
    jobs = runs(stage, 3)
    delete(stage, *jobs)
    assert [entry.job_id for entry in stage.entries("work")] == jobs[-1:]
    assert runs(stage, 1)


def test_other_schedules_keep_theirs(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="* * * * *")
    stage.horae.schedules.add("work", name="other", cron="* * * * *")
    runs(stage, 3)
    mine = [entry.job_id for entry in stage.entries("work") if entry.job_id is not None]
    before = stage.entries("other")
    delete(stage, *mine)
    assert stage.entries("other") == before
