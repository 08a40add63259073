"""What happens to a start whose job would be a duplicate: refused, answered with the existing job,
or carried out.
"""

from typing import Final

from sqlalchemy import Connection

from horae.domain.jobs.job import Job, JobId, JobState
from horae.domain.jobs.uniqueness import Debounce, UniqueKey
from horae.errors import DuplicateJob
from horae.storage.jobs import creation, duplicates, reading
from horae.storage.jobs.creation import Contended, NewJob
from horae.storage.jobs.duplicates import Duplicate
from horae.storage.outcomes import cancelling

REPLACED_BY: Final = "a later start of the same job"
"""Shown as who cancelled a job that was replaced."""


def moved(connection: Connection, new: NewJob, debounce: Debounce) -> Job | None:
    """Move the pending job that `new` would duplicate, and give it the new parameters; None if
    there is none.
    """
    if new.unique_key is None:
        return None
    creation.lock_key(connection, new.type, new.unique_key, latest_rows=True)
    return duplicates.move(connection, new, debounce)


def existing(connection: Connection, job_type: str, key: UniqueKey) -> Job | None:
    """Return the job to answer with; None if a new one may be inserted. Raises `DuplicateJob`."""
    creation.lock_key(connection, job_type, key.text, latest_rows=key.needs_latest_rows)
    found = duplicates.duplicates(connection, job_type, key)
    if not found:
        return None
    if key.on_duplicate == "return":
        return reading.get(connection, found[0].id)
    begun = [each for each in found if each.state is not JobState.PENDING]
    if key.on_duplicate == "refuse" or begun:
        raise duplicate_job(job_type, key, (begun or found)[0])
    replaced = cancelling.cancel_pending(connection, [each.id for each in found], REPLACED_BY)
    if len(replaced) < len(found):
        raise Contended(f"a {job_type!r} job that is to be replaced was claimed just now, which")
    return None


def duplicate_job(job_type: str, key: UniqueKey, found: Duplicate) -> DuplicateJob:
    """Return the error that names the job which blocks a new one."""
    return DuplicateJob(
        job_type, key.text, found.id, f"is {found.state} and has the same {key.same}"
    )


def blocked_by(job_type: str, key: UniqueKey, job_id: JobId) -> DuplicateJob:
    """Return the error for an active job that the unique index has found."""
    why = None if key.same.endswith(repr(key.text)) else f"is active and has the same {key.same}"
    return DuplicateJob(job_type, key.text, job_id, why)
