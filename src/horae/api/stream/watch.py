"""Finds what has changed since the last look, in the rows and in the live store."""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from horae.client.jobs.jobs import Jobs
from horae.domain.jobs.job import ENDED, Job, JobId, JobState
from horae.live.store import LiveReport
from horae.runtime.components import Components
from horae.storage.jobs import events
from horae.storage.jobs.events import ChangeScan, JobVersion

LIMIT: Final = 5000
"""Rows that a look takes up of each kind; past it whoever listens is told to look for himself."""
LATE: Final = timedelta(seconds=2)
"""How much later than its time a change may become visible: its transaction was open for so long."""
LOOKS_BACK: Final = 3
"""Looks for which an id that came late is still taken for new."""


class Change(StrEnum):
    """What happened to a job."""

    CREATED = "created"
    STARTED = "started"
    PROGRESS = "progress"
    WAITING = "waiting"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Changed:
    """A job as it is after a change."""

    change: Change
    job: Job


Wanted = Callable[[str | None], bool]
"""Whether anybody wants to hear of jobs of this owner."""


class Watch:
    """Looks at one database. Every look costs a few statements that indexes answer, and nobody else needs to look."""

    def __init__(self, components: Components, jobs: Jobs) -> None:
        self._components, self._jobs = components, jobs
        self._marks: dict[JobId, JobVersion] = {}
        self._reports: Mapping[JobId, LiveReport] = {}
        self._held: Collection[JobId] = ()
        self._newest: deque[JobId] = deque(maxlen=LOOKS_BACK)
        self._since: datetime | None = None

    def changes(self, wanted: Wanted) -> list[Changed] | None:
        """What has changed since the last look, at the first one nothing; None if it is too much to tell."""
        first = self._since is None
        sight = self._look()
        before, self._marks = self._marks, dict(sight.versions)
        left = [job_id for job_id in self._held if job_id not in sight.versions]
        self._held = sight.held
        reports, self._reports = self._reports, self._read(sight)
        if first or sight.truncated:
            return [] if first else None
        changed = {mark.id: mark for mark in sight.versions.values() if mark != before.get(mark.id)}
        changed.update(self._components.database.autocommit(events.versions_of, left) if left else {})
        moved = [job_id for job_id, report in self._reports.items() if report != reports.get(job_id)]
        owners = {job_id: sight.versions[job_id].owner for job_id in moved} | {
            mark.id: mark.owner for mark in changed.values()
        }
        return self._load([job_id for job_id, owner in owners.items() if wanted(owner)], before)

    def _look(self) -> ChangeScan:
        database = self._components.database
        if self._since is None:
            self._since, newest = database.autocommit(events.scan_start)
            self._newest.append(newest)
        sight = database.autocommit(events.scan, after=self._newest[0], since=self._since - LATE, limit=LIMIT)
        self._since = sight.now
        self._newest.append(sight.newest)
        return sight

    def _read(self, sight: ChangeScan) -> Mapping[JobId, LiveReport]:
        running = {job_id: sight.versions[job_id].lease for job_id in sight.held}
        reports = self._components.live.read(list(running))
        return {job_id: report for job_id, report in reports.items() if report.lease == running[job_id]}

    def _load(self, job_ids: list[JobId], before: Mapping[JobId, JobVersion]) -> list[Changed]:
        if not job_ids:
            return []
        found = self._jobs.list(ids=job_ids).jobs
        for job in found:  # it may have gone on since the look, and that is told now
            if job.id in self._marks:
                self._marks[job.id] = JobVersion(job.id, job.state, job.lease, job.owner)
        return [Changed(_change(job, before.get(job.id)), job) for job in sorted(found, key=_moment)]


def _moment(job: Job) -> tuple[datetime, JobId]:
    return job.updated_at, job.id


def _change(job: Job, before: JobVersion | None) -> Change:
    if job.state in ENDED:
        return Change.ENDED
    if job.state is JobState.PENDING:
        return Change.CREATED if before is None and job.attempt == 0 else Change.WAITING
    same = before is not None and (before.state, before.lease) == (job.state, job.lease)
    return Change.PROGRESS if same else Change.STARTED
