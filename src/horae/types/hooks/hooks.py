"""Calls the hooks of job types after their event was committed, and deletes old jobs, which may
call a hook for each.

The row of a job notes that a hook is due until a process that knows the type has taken and called
it. If the process dies during the call, the hook is called again.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from logging import ERROR
from typing import Any, Final

from horae.domain.jobs import ENDED, Job, JobId, KeptFor, Retention, kept_for
from horae.errors import JobFailed, JobNotDeletable
from horae.guarded_log import guarded_log
from horae.storage.engine import Database, is_transient
from horae.storage.jobs import BEFORE_DELETE, EVER, ON_CANCELLED, ON_ERROR, OwedHook, owed_hooks
from horae.storage.jobs.search import parameters
from horae.storage.outcomes import deletion
from horae.types.job_type import has_hook
from horae.types.parameters import MappedParameters, SecretNotOpened
from horae.types.parameters.large_values import KEPT_FOR, keys_in, keys_of
from horae.types.registry import Registry

IDS_AT_ONCE: Final = 10_000
"""Jobs whose references to large values one statement reads."""
CLEANING_BATCH: Final = 500
"""Maximum number of jobs without a hook that one statement deletes."""
TIME_LIMIT: Final = 60.0
"""Seconds that a hook may take before other hooks of its type stop waiting for it."""
TAKEN_AGAIN: Final = 90.0
"""Seconds after which a taken but uncalled hook is taken again; longer than `TIME_LIMIT`."""
MOST_ERRORS: Final = 1000
"""Maximum number of exceptions kept for `on_error`; further hooks get the stored error's text."""
log = guarded_log("horae.hooks")


class Hooks:
    """The hooks of the types that are registered here."""

    def __init__(self, database: Database, registry: Registry) -> None:
        self._database = database
        self._registry = registry
        self._errors: dict[JobId, BaseException] = {}

    def wanted(self, type_name: str, hook: str) -> bool:
        """Return whether the type is registered here and has this hook."""
        job_type = self._registry.find(type_name)
        return job_type is not None and has_hook(job_type, hook)

    def owes(self, type_name: str, hook: str) -> bool:
        """Return whether the hook is due after a job of the type ended: also if only other programs
        know the type.
        """
        return self._registry.find(type_name) is None or self.wanted(type_name, hook)

    @property
    def types(self) -> Collection[str]:
        """The names of the types that are registered here."""
        return self._registry.runnable

    def remember(self, job_id: JobId, error: BaseException) -> None:
        """Keep the error of a body for its `on_error`; other processes have only its text."""
        if len(self._errors) < MOST_ERRORS:
            self._errors[job_id] = error

    def due(self) -> dict[str, int]:
        """Return the number of due hooks, by type."""
        return self._database.autocommit(owed_hooks.due, list(self.types), TAKEN_AGAIN)

    def take(self, type_name: str, job_id: JobId | None = None) -> OwedHook | None:
        """Take a due hook of the type, or of one job; None if there is none."""
        return self._database.transact(owed_hooks.take, [type_name], TAKEN_AGAIN, job_id)

    def call(self, owed: OwedHook) -> None:
        """Call a hook that was taken, and record that; an error of the hook is logged.

        Raises an error of the database that prevents the call: the hook stays due.
        """
        job, hook = owed
        if hook == BEFORE_DELETE:  # another process has asked for the deletion
            may_go = not self.wanted(job.type, BEFORE_DELETE) or self._may_go(job)
            if may_go and self._remove([job.id]) == 1:
                return
        loaded = self._load(job) if self.wanted(job.type, hook) else None
        error = self._errors.pop(job.id, None)
        if loaded is not None:
            kind = self._registry.get(job.type)
            with log.guard("a hook of job %d failed", job.id, level=ERROR, traceback=True):
                if hook == ON_CANCELLED:
                    kind.on_cancelled(loaded)
                elif hook == ON_ERROR:
                    kind.on_error(loaded, error or failure_of(loaded))
        self.done(owed)

    def call_here(self, job_id: JobId, type_name: str, error: BaseException | None = None) -> None:
        """Call the due hook of a job in this thread if the type is known and no one else does.

        `error`: what the body has raised.
        """
        if error is not None:
            self.remember(job_id, error)
        if type_name not in self.types:
            return
        with log.guard("a hook of job %d is left to the nodes: %s", job_id):
            owed = self.take(type_name, job_id)
            if owed is not None:
                self.call(owed)

    def done(self, owed: OwedHook) -> None:
        """Record that the hook of a job was called."""
        self._database.autocommit(owed_hooks.mark_called, owed.job.id, owed.hook)

    def delete(self, job: Job) -> None:
        """Call `before_delete` of an ended job unless another process does; raise its errors."""
        self.call_here(job.id, job.type)
        if not self.wanted(job.type, BEFORE_DELETE):
            return
        if not self._database.autocommit(owed_hooks.take_for_deletion, job.id, TAKEN_AGAIN):
            raise JobNotDeletable(job.id, "being deleted")
        try:
            self._registry.get(job.type).before_delete(self.with_parameters(job))
        except BaseException:
            self._database.autocommit(owed_hooks.hand_back, [job.id])
            raise

    def clean_up(self, keep_seconds: float, *, by_type: bool = True) -> int:
        """Delete jobs of registered types that were kept for long enough; return their number.

        `keep_seconds`: how long jobs are kept whose type does not say it; without `by_type` all
        jobs. A row that cannot be deleted does not stop the others.
        """
        parts = self.kept_for(keep_seconds, by_type=by_type)
        return sum(removed for name, kept in parts for removed in self.remove(name, kept))

    def kept_for(self, keep_seconds: float, *, by_type: bool = True) -> list[tuple[str, KeptFor]]:
        """Return how long jobs are kept, for each type with a `before_delete`, and as "" for all
        others together.
        """
        parts: dict[str, list[str]] = {"": []}
        for name in self.types:
            parts.setdefault(name if self.wanted(name, BEFORE_DELETE) else "", []).append(name)
        none = Retention()
        return [
            (part, kept)
            for part, names in parts.items()
            for kept in kept_for(
                [(name, self._registry.get(name).retention if by_type else none) for name in names],
                keep_seconds,
            )
        ]

    def remove(self, part: str, kept: KeptFor, oldest: float = EVER) -> Iterator[int]:
        """Delete jobs that were kept for long enough, of one part of `kept_for`; yield the number
        in each batch.

        `oldest`: only those that ended less than so many seconds ago.
        """
        return self._remove_hooked(kept, oldest) if part else self._remove_plain(kept, oldest)

    def remove_ended(self, job: Job) -> None:
        """Delete a job that has just ended, if its type does not keep it."""
        kind = self._registry.find(job.type)
        if kind is None or job.occupied or job.state not in kind.retention.deletes_at_once:
            return
        problem = "job %d (%s) cannot be deleted yet; a node tries it again"
        with log.guard(problem, job.id, job.type, level=ERROR, traceback=True):
            self.delete(job)
            self._remove([job.id])

    def _remove_hooked(self, kept: KeptFor, oldest: float) -> Iterator[int]:
        """Delete jobs of one type after `before_delete`, called by one process for each job."""
        last = owed_hooks.FIRST
        while batch := self._database.transact(
            owed_hooks.take_past_keeping,
            kept,
            after=last,
            # Few at once, because each hook takes time.
            limit=20,
            oldest=oldest,
            again=TAKEN_AGAIN,
        ):
            deadline = time.monotonic() + TAKEN_AGAIN / 2
            ready: list[JobId] = []
            rest: list[JobId] = []
            for job in batch:
                if time.monotonic() > deadline:  # another process may soon take the hook
                    rest.append(job.id)
                else:
                    (ready if self._may_go(job) else rest).append(job.id)
            removed = self._remove(ready) if ready else 0
            if rest:
                self._database.autocommit(owed_hooks.hand_back, rest)
            yield removed
            last = owed_hooks.KeptJob(batch[-1].finished_at, batch[-1].id)

    def forget(self, types: Collection[str], keep_seconds: float) -> int:
        """Delete jobs of undeclared types without calling hooks; return their number."""
        if not types:
            return 0
        wanted = self._database.transact(owed_hooks.forget, types)
        removed = self._remove(wanted) if wanted else 0
        kept = KeptFor(keep_seconds, tuple(ENDED), tuple(types))
        return removed + sum(self._remove_plain(kept, EVER))

    def _remove_plain(self, kept: KeptFor, oldest: float) -> Iterator[int]:
        """Delete jobs without a hook."""
        last = owed_hooks.FIRST
        while kept.types:
            batch = self._database.autocommit(
                owed_hooks.past_keeping, kept, after=last, limit=CLEANING_BATCH, oldest=oldest
            )
            if batch:
                yield self._remove([job.id for job in batch])
                last = batch[-1]
            if len(batch) < CLEANING_BATCH:
                break

    def with_parameters_of_all(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs with parameters from other tables, by one statement for each type."""
        loaded: dict[JobId, Any] = {}
        for type_name in {job.type for job in jobs}:
            job_type = self._registry.find(type_name)
            if job_type is not None and isinstance(job_type.parameters, MappedParameters):
                ids = [job.id for job in jobs if job.type == type_name]
                loaded |= self._database.autocommit(
                    parameters.load_many, job_type.parameters.joined, ids
                )
        return [replace(job, params=loaded[job.id]) if job.id in loaded else job for job in jobs]

    def with_parameters(self, job: Job) -> Job:
        """Return the job with the parameters that its type keeps in another table, or with its
        secrets.
        """
        job_type = self._registry.find(job.type)
        if job_type is None:
            return job
        declared = job_type.parameters
        if isinstance(declared, MappedParameters):
            loaded = self._database.autocommit(parameters.load, declared.mapped, job.id)
            return replace(job, params=loaded)
        if declared.has_secrets:
            # Sealed secrets stay if no key opens them, so that the hooks of the job are called.
            with suppress(SecretNotOpened):
                return replace(job, params=declared.opened_value(job.params))
        return job

    def large_values_of(
        self, job_ids: Sequence[JobId]
    ) -> Mapping[JobId, tuple[str | None, str | None]]:
        """Return parameters and result, as JSON text, of jobs that refer to a store of files."""
        if self._registry.files is None:
            return {}
        return self._database.autocommit(deletion.with_large_values, job_ids)

    def delete_large_values(
        self, large: Mapping[JobId, tuple[str | None, str | None]], gone: Collection[JobId]
    ) -> None:
        """Delete the large values of deleted jobs."""
        if self._registry.files is not None:
            for job_id in large.keys() & set(gone):
                self._registry.files.delete(keys_of(*large[job_id]))

    def delete_orphans(self, now: datetime) -> int:
        """Delete old large values to which no job refers; return their number.

        The call that wrote them was rolled back, or its process died.
        """
        files = self._registry.files
        if files is None:
            return 0
        found = {key for keys in files.written_before(now - KEPT_FOR) for key in keys}
        if not found:
            return 0
        first, last = self._database.autocommit(deletion.ids_of_jobs)
        for after in range(first - 1, last, IDS_AT_ONCE):
            texts = self._database.autocommit(
                deletion.large_values_between, after, after + IDS_AT_ONCE
            )
            found.difference_update(keys_in(texts))
        files.delete(found)
        return len(found)

    def _load(self, job: Job) -> Job | None:
        """Return the job, without unreadable parameters; raise if the database is unavailable."""
        try:
            return self.with_parameters(job)
        except Exception as error:
            if is_transient(error):
                raise
            log.exception(
                "the parameters of job %d cannot be read, so its hook is not called", job.id
            )
            return None

    def _may_go(self, job: Job) -> bool:
        """Call `before_delete`, and return whether it allows the deletion."""
        loaded = self._load(job)
        if loaded is None:
            return False
        problem = "before_delete of job %d (%s) failed; its row stays"
        with log.guard(problem, job.id, job.type, level=ERROR, traceback=True):
            self._registry.get(job.type).before_delete(loaded)
            return True
        return False

    def _remove(self, job_ids: Sequence[JobId]) -> int:
        """Delete these rows, one by one if one cannot be deleted, such as for a foreign key."""
        try:
            large = self.large_values_of(job_ids)
            gone = self._database.transact(deletion.delete_jobs, job_ids)
            self.delete_large_values(large, gone)
            return len(gone)
        except Exception as error:
            if is_transient(error):
                raise
            if len(job_ids) > 1:
                return sum(self._remove([job_id]) for job_id in job_ids)
            log.exception("job %d cannot be deleted; its row stays", job_ids[0])
            return 0


def failure_of(job: Job) -> JobFailed:
    """Return a stored failure as an error, for processes that do not have the original one."""
    return JobFailed(job.id, job.error or "", job.human_readable_error or "")
