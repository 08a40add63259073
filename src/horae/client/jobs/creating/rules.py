"""The rules under which a job may be created.

`new_job` makes those that apply to one job, without the database. Each guards the transaction that
inserts the job, and explains an insert that found something in the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection
from typing_extensions import override

from horae.domain.jobs import (
    OWN_BACKEND,
    Debounce,
    Job,
    JobId,
    JobState,
    OnDependencyFailure,
    UniqueKey,
)
from horae.errors import DuplicateJob, InvalidRequest, JobDoesNotExist
from horae.quoting import quoted
from horae.storage.engine import read_clock
from horae.storage.jobs import Contended, JobRow, creation, duplicates, reading
from horae.storage.jobs.groups import Dependency, dependencies
from horae.storage.outcomes import cancelling, follow_ups
from horae.types import JobType

REPLACED_BY: Final = "a later start of the same job"
"""Shown as who cancelled a job that was replaced."""
_ELSEWHERE: Final = "which hold only for jobs that Horae's nodes run; choose another queue"


class StartRule:
    """A rule under which a job is created; by default it allows the job."""

    def guard(self, connection: Connection, row: JobRow) -> Job | None:
        """Take the locks of the rule, and return the existing job that answers the start, if any.

        Raises what the caller gets if the rule forbids the job.
        """
        del connection, row
        return None

    def explain(self, connection: Connection, row: JobRow) -> Job | None:
        """Return the job that answers the start, or raise, after an insert found something in the
        way.
        """
        del connection, row
        return None


@dataclass(frozen=True, slots=True)
class RunsInQueue(StartRule):
    """The job can run in its queue: what runs jobs there can apply the limits of its type."""

    job_type: JobType[Any]
    limited: bool

    @override
    def guard(self, connection: Connection, row: JobRow) -> None:
        check_startable(connection, self.job_type, row.queue, limited=self.limited)


@dataclass(frozen=True, slots=True)
class BeginsBeforeExpiry(StartRule):
    """The job expires in the future, and after the moment from which it may start."""

    expires_at: datetime

    @override
    def guard(self, connection: Connection, row: JobRow) -> None:
        now = read_clock(connection)
        if self.expires_at <= now:
            raise InvalidRequest(
                f"expires {self.expires_at} is in the past: it is {now} by the clock of the"
                " database"
            )
        due = row.run_at or now + timedelta(seconds=row.delay or 0)
        if self.expires_at <= due:
            raise InvalidRequest(
                f"expires {self.expires_at} is not after {due}, before which the job may not start,"
                " so it could never run"
            )


@dataclass(frozen=True, slots=True)
class HasUniqueKey(StartRule):
    """No other job blocks the key of this one."""

    key: UniqueKey

    @override
    def guard(self, connection: Connection, row: JobRow) -> Job | None:
        key = self.key
        if not key.needs_latest_rows and key.on_duplicate != "replace":
            return None  # the insert finds active jobs by the unique index
        creation.lock_key(connection, row.type, key.text, latest_rows=key.needs_latest_rows)
        found = duplicates.duplicates(connection, row.type, key)
        if not found:
            return None
        if key.on_duplicate == "return":
            return reading.get(connection, found[0].id)
        begun = [each for each in found if each.state is not JobState.PENDING]
        if key.on_duplicate == "refuse" or begun:
            blocking = (begun or found)[0]
            why = f"is {blocking.state} and has the same {key.same}"
            raise DuplicateJob(row.type, key.text, blocking.id, why)
        replaced = cancelling.cancel_pending(connection, [each.id for each in found], REPLACED_BY)
        if len(replaced) < len(found):
            raise Contended(
                f"a {row.type!r} job that is to be replaced was claimed just now, which"
            )
        return None

    @override
    def explain(self, connection: Connection, row: JobRow) -> Job | None:
        job_id = creation.active_with_key(connection, row.type, self.key.text)
        if job_id is None:
            return None
        if self.key.on_duplicate == "return":
            return reading.get(connection, job_id)
        same, given = self.key.same, repr(self.key.text)
        why = None if same.endswith(given) else f"is active and has the same {same}"
        raise DuplicateJob(row.type, self.key.text, job_id, why)


@dataclass(frozen=True, slots=True)
class IsDebounced(HasUniqueKey):
    """Later calls with the same key move the pending job, and give it their parameters."""

    debounce: Debounce

    @override
    def guard(self, connection: Connection, row: JobRow) -> Job | None:
        creation.lock_key(connection, row.type, self.key.text, latest_rows=True)
        return duplicates.move(connection, row, self.debounce)


@dataclass(frozen=True, slots=True)
class After:
    """The jobs that a new job waits for, and what happens to it if one of them fails."""

    job_ids: Sequence[JobId]
    on_failure: OnDependencyFailure

    def lock(self, connection: Connection, owner: str | None) -> Sequence[Dependency]:
        """Lock the jobs. Raises `JobDoesNotExist`, also for another owner's job."""
        found = dependencies.await_jobs(connection, self.job_ids)
        seen = {each.id for each in found if owner is None or each.owner == owner}
        missing = next((job_id for job_id in self.job_ids if job_id not in seen), None)
        if missing is not None:
            raise JobDoesNotExist(missing)
        return found

    def hold_back(self, connection: Connection, job: Job, locked: Sequence[Dependency]) -> Job:
        """Let a new job wait; decide about it at once if the jobs before it have ended already."""
        dependencies.hold_back(connection, job.id, locked, self.on_failure)
        follow_ups.resolve(connection, job.id, [each.state for each in locked], self.on_failure)
        return reading.get(connection, job.id) or job


def check_startable(
    connection: Connection,
    kind: JobType[Any],
    queue: str,
    *,
    limited: bool,
    scheduled: bool = False,
) -> None:
    """Raise `InvalidRequest` for a job that would never start in this queue.

    `limited`: limits of its type apply to it; `scheduled`: a schedule is to start it.

    Most jobs need no query: they have no such limits and no backend of their own, or a caller
    starts them in the queue of a type with a backend.
    """
    named_elsewhere = kind.address is not None and (scheduled or queue != kind.queue)
    if not (named_elsewhere or limited):
        return
    rules = creation.queue_rules(connection, queue)
    if named_elsewhere and rules.has_lanes:
        raise InvalidRequest(
            f"job type {quoted(kind.type)} has backend {quoted(kind.backend)}, and queue"
            f" {quoted(queue)} has limits by key or turns, {_ELSEWHERE}"
        )
    backend = rules.backend or kind.queue_backends.get(queue, OWN_BACKEND)
    if limited and backend != OWN_BACKEND:
        raise InvalidRequest(
            f"queue {quoted(queue)} has backend {quoted(backend)}, and job type {quoted(kind.type)}"
            f" has limits, {_ELSEWHERE}"
        )
