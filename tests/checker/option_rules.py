"""The rules of options of jobs: unique keys, attempts that do not count, and jobs that expire."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tests.checker.body_log import BodyLog
from tests.checker.job_rules import UNCOUNTED
from tests.checker.settings import Settings
from tests.checker.tables import Job, Tables, shown

COMMIT: Final = 1_000_000
"""Microseconds by which a job may seem to be created before the end of another one whose commit it waited for."""
WRITTEN_WITHIN: Final = 1_000_000
"""Microseconds for which the write of an end may wait; a begin that is reckoned from the end is as much too late."""
EXPIRED: Final = "expired:"
"""How the error of a job begins that was failed because it had not begun in time."""


def unique(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """Two jobs of a type and key are never active at the same time; if they may share the key, never both pending."""
    del log
    if not settings.steady_clock:
        return
    by_key: dict[tuple[str, str], list[Job]] = defaultdict(list)
    for job in tables.jobs.values():
        if job.unique_key is not None:
            by_key[job.type, job.unique_key].append(job)
    for jobs in by_key.values():
        for before, after in pairwise(sorted(jobs, key=lambda job: (job.created_at, job.id))):
            until = _until(tables, before)
            if until is None or after.created_at < until - COMMIT:
                yield f"{after} was created at {shown(after.created_at)}, while {before} had the same key until {shown(until)}"


def _until(tables: Tables, job: Job) -> int | None:
    """Return until when no other job may have the key of a job; None for ever.

    If they may share it, until the first claim. One that was handed back is not recorded, so its moment is not known.
    """
    if not job.key_is_shared or not job.lease:
        return job.finished_at
    attempts = tables.attempts[job.id]
    return attempts[0].started_at if attempts and attempts[0].lease == 1 else job.created_at


def counted(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """A snoozed or interrupted attempt uses up no number; each other one uses up one."""
    del log, settings
    for job in tables.jobs.values():
        attempts = tables.attempts[job.id]
        for before, after in pairwise(attempts):
            if before.outcome in UNCOUNTED and after.attempt > before.attempt:
                yield f"{job}: the {before.outcome} attempt {before.attempt} counts: the next one is {after.attempt}"
            if before.outcome not in UNCOUNTED and after.attempt == before.attempt:
                yield f"{job}: attempt {before.attempt} {before.outcome}, and the next one has the same number"


def expires(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """No job begins for the first time after it has expired, and none expires after it has begun."""
    del log
    for job in tables.jobs.values():
        attempts = tables.attempts[job.id]
        if attempts and (job.error or "").startswith(EXPIRED):
            yield f"{job} expired, although it had begun at {shown(attempts[0].started_at)}"
        if not settings.steady_clock or settings.slept or job.expires_at is None:
            continue
        if attempts and attempts[0].started_at > job.expires_at + WRITTEN_WITHIN:
            yield f"{job} began at {shown(attempts[0].started_at)}, after it had expired at {shown(job.expires_at)}"
        early = job.finished_at is not None and job.finished_at < job.expires_at
        if early and (job.error or "").startswith(EXPIRED):
            yield f"{job} expired at {shown(job.finished_at)}, before the moment {shown(job.expires_at)}"
