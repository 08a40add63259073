"""Finds the jobs that have changed since the previous poll, by their rows and by the live store."""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from horae.api.stream.timing import JobWatchTiming
from horae.client.jobs import Jobs, read_reports
from horae.domain.jobs import ENDED, Job, JobId, JobState
from horae.live import LiveReport
from horae.runtime.components import Components
from horae.storage.jobs import JobVersion, events


class Change(StrEnum):
    """What happened to a job."""

    CREATED = "created"
    STARTED = "started"
    PROGRESS = "progress"
    WAITING = "waiting"
    ENDED = "ended"


class ChangedJob(NamedTuple):
    """A change, and the job in its state after it."""

    change: Change
    job: Job


Wanted = Callable[[str | None], bool]
"""Returns whether a listener may see the jobs of this owner; None for jobs without an owner."""


class JobWatch:
    """Polls one database on behalf of all listeners.

    Each poll takes a few statements, which indexes answer.
    """

    def __init__(self, components: Components, jobs: Jobs, timing: JobWatchTiming) -> None:
        self._components, self._jobs, self._timing = components, jobs, timing
        self._versions: dict[JobId, JobVersion] = {}
        self._reports: Mapping[JobId, LiveReport] = {}
        self._held: Collection[JobId] = ()
        self._newest: deque[JobId] = deque(maxlen=timing.new_for)
        self._since: datetime | None = None
        self._hinted: deque[JobId] = deque(maxlen=timing.rows)

    def on_ended(self, job_ids: Collection[JobId]) -> None:
        """Look at jobs that a hint names: they may have ended in a transaction that was committed
        so late that a poll does not find them. Called on any thread.
        """
        self._hinted.extend(job_ids)

    def changes(self, wanted: Wanted) -> list[ChangedJob] | None:
        """Return the jobs changed since the last call: none at first, None if too many."""
        database, first = self._components.database, self._since is None
        if self._since is None:
            self._since, newest = database.autocommit(events.scan_start)
            self._newest.append(newest)
        since = self._since - timedelta(seconds=self._timing.late)
        scan = database.autocommit(
            events.scan, after=self._newest[0], since=since, limit=self._timing.rows
        )
        self._since = scan.now
        self._newest.append(scan.newest)
        before, self._versions = self._versions, dict(scan.versions)
        hinted = {self._hinted.popleft() for _ in range(len(self._hinted))}
        released = [job_id for job_id in {*self._held, *hinted} if job_id not in scan.versions]
        self._held = scan.held
        running = {job_id: scan.versions[job_id].lease for job_id in scan.held}
        reports = self._reports
        self._reports = read_reports(self._components.live, running)
        if first or scan.truncated:
            return [] if first else None
        changed = {
            version.id: version
            for version in scan.versions.values()
            if version != before.get(version.id)
        }
        changed.update(database.autocommit(events.versions_of, released) if released else {})
        reported = [
            job_id for job_id, report in self._reports.items() if report != reports.get(job_id)
        ]
        owners = {job_id: scan.versions[job_id].owner for job_id in reported} | {
            version.id: version.owner for version in changed.values()
        }
        return self._load([job_id for job_id, owner in owners.items() if wanted(owner)], before)

    def _load(self, job_ids: list[JobId], before: Mapping[JobId, JobVersion]) -> list[ChangedJob]:
        if not job_ids:
            return []
        found = self._jobs.list(ids=job_ids).jobs
        # A job that has changed again since the scan is reported in its new state.
        for job in found:
            if job.id in self._versions:
                self._versions[job.id] = JobVersion(job.id, job.state, job.lease, job.owner)
        found.sort(key=lambda job: (job.updated_at, job.id))
        return [ChangedJob(_change_of(job, before.get(job.id)), job) for job in found]


def _change_of(job: Job, before: JobVersion | None) -> Change:
    if job.state in ENDED:
        return Change.ENDED
    if job.state is JobState.PENDING:
        return Change.CREATED if before is None and job.attempt == 0 else Change.WAITING
    same = before is not None and (before.state, before.lease) == (job.state, job.lease)
    return Change.PROGRESS if same else Change.STARTED
