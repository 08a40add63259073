"""Calls the hooks of job types: once, after the fact is committed, guarded. And cleans up, which is a hook a row."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from horae.domain.job import Job, JobId, JobState
from horae.errors import JobFailed
from horae.storage import ending, parameters, reading
from horae.storage.database import Database
from horae.storage.failures import is_transient
from horae.types.job_type import has_hook
from horae.types.parameters import MappedParameters
from horae.types.registry import Registry

CLEANING_BATCH: Final = 200
log = logging.getLogger("horae.hooks")


class Hooks:
    """The hooks of the types that are known here."""

    def __init__(self, database: Database, registry: Registry) -> None:
        self._database = database
        self._registry = registry

    def wanted(self, type_name: str, hook: str) -> bool:
        """Whether the type is known here and has this hook."""
        job_type = self._registry.find(type_name)
        return job_type is not None and has_hook(job_type, hook)

    def failed(self, job_id: JobId, type_name: str, error: BaseException | None = None) -> None:
        """`on_error`, after the job failed for good."""
        if self.wanted(type_name, "on_error"):
            self._call(job_id, lambda job: self._registry.get(type_name).on_error(job, error or failure_of(job)))

    def cancelled(self, job_id: JobId, type_name: str) -> None:
        """`on_cancelled`, after the body, if it had begun, has stopped."""
        if self.wanted(type_name, "on_cancelled"):
            self._call(job_id, lambda job: self._registry.get(type_name).on_cancelled(job))

    def released(self, job_id: JobId, type_name: str, state: JobState) -> None:
        """The hook of a job that was ended under its body, which has stopped now."""
        if state is JobState.CANCELLED:
            self.cancelled(job_id, type_name)
        else:
            self.failed(job_id, type_name)

    def before_delete(self, job: Job) -> None:
        """`before_delete`; raises what it raises."""
        if self.wanted(job.type, "before_delete"):
            self._registry.get(job.type).before_delete(self.with_parameters(job))

    def clean_up(self, keep_seconds: float) -> int:
        """Delete what ended longer ago than it is kept; how many. One bad row never stops the rest."""
        removed, after = 0, JobId(0)
        while True:
            batch = self._database.autocommit(ending.expired, keep_seconds, after, CLEANING_BATCH)
            ready = [job.id for job in batch if self._may_go(job)]
            removed += self._remove(ready) if ready else 0
            if len(batch) < CLEANING_BATCH:
                return removed
            after = batch[-1].id

    def with_parameters_of_all(self, jobs: Sequence[Job]) -> list[Job]:
        """The same for many jobs, with one statement for each type; those of another type stay as they are."""
        loaded: dict[JobId, Any] = {}
        for type_name in {job.type for job in jobs}:
            job_type = self._registry.find(type_name)
            if job_type is not None and isinstance(job_type.parameters, MappedParameters):
                ids = [job.id for job in jobs if job.type == type_name]
                loaded |= self._database.autocommit(parameters.load_many, job_type.parameters.joined, ids)
        return [replace(job, params=loaded[job.id]) if job.id in loaded else job for job in jobs]

    def with_parameters(self, job: Job) -> Job:
        """The job with the parameters that its type keeps in another table."""
        job_type = self._registry.find(job.type)
        if job_type is None or not isinstance(job_type.parameters, MappedParameters):
            return job
        return replace(job, params=self._database.autocommit(parameters.load, job_type.parameters.mapped, job.id))

    def _may_go(self, job: Job) -> bool:
        try:
            self.before_delete(job)
        except Exception:
            log.exception("before_delete of job %d (%s) failed; its row stays", job.id, job.type)
            return False
        return True

    def _remove(self, job_ids: Sequence[JobId]) -> int:
        """Delete these rows, one by one if one of them cannot go, such as a row that another table holds on to."""
        try:
            return len(self._database.transact(ending.remove, job_ids))
        except Exception as error:
            if is_transient(error):
                raise
            if len(job_ids) > 1:
                return sum(self._remove([job_id]) for job_id in job_ids)
            log.exception("job %d cannot be deleted; its row stays", job_ids[0])
            return 0

    def _call(self, job_id: JobId, hook: Callable[[Job], None]) -> None:
        try:
            job = self._database.autocommit(reading.get, job_id)
            if job is not None:
                hook(self.with_parameters(job))
        except Exception:
            log.exception("a hook of job %d failed", job_id)


def failure_of(job: Job) -> JobFailed:
    """A stored failure as an error, for those who were not there when it happened."""
    return JobFailed(job.id, job.error or "", job.human_readable_error or "")
