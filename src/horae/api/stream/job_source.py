"""Finds the jobs that have changed since the previous poll, by their rows and by the live store."""

from collections import deque
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from pydantic_core import to_json

from horae.api.models import without_values
from horae.api.stream.event import Change, Update, Wanted
from horae.api.stream.timing import JobSourceTiming
from horae.api.views.jobs import JobViews
from horae.client.jobs import Jobs, read_reports
from horae.domain.jobs import ENDED, Job, JobId, JobState
from horae.live import LiveReport
from horae.runtime.components import Components
from horae.storage.jobs import JobVersion, events
from horae.wakeup import Hint, HintKind


class JobSource:
    """Reports changes of jobs.

    Each poll takes a few statements, which indexes answer.
    """

    staff_only = False

    def __init__(
        self, components: Components, jobs: Jobs, views: JobViews, timing: JobSourceTiming
    ) -> None:
        self._components, self._jobs, self._views = components, jobs, views
        self._timing = timing
        self._versions: dict[JobId, JobVersion] = {}
        self._reports: Mapping[JobId, LiveReport] = {}
        self._held: Collection[JobId] = ()
        self._newest: deque[JobId] = deque(maxlen=timing.new_for)
        self._since: datetime | None = None
        self._hinted: deque[JobId] = deque(maxlen=timing.rows)

    def on_hint(self, hint: Hint) -> None:
        """Remember jobs that have ended: in a transaction that was committed late, a poll does not
        find them.
        """
        if hint.kind is HintKind.ENDED:
            self._hinted.extend(hint.job_ids)

    def poll(self, wanted: Wanted) -> list[Update] | None:
        """Return what has changed since the previous poll."""
        changes = self.changes(wanted)
        if changes is None:
            return None
        updates: list[Update] = []
        for change, job in changes:
            view = self._views.view(job)
            for_viewers = without_values(view, lambda _owner: False)
            data, reduced = (
                to_json({**each.model_dump(), "change": change}).decode()
                for each in (view, for_viewers)
            )
            updates.append(Update("job", data, job.owner, None if reduced == data else reduced))
        return updates

    def changes(self, wanted: Wanted) -> list[tuple[Change, Job]] | None:
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
        job_ids = [job_id for job_id, owner in owners.items() if wanted(owner)]
        found = self._jobs.list(ids=job_ids).jobs if job_ids else []
        # A job that has changed again since the scan is reported in its new state.
        for job in found:
            if job.id in self._versions:
                self._versions[job.id] = JobVersion(job.id, job.state, job.lease, job.owner)
        found.sort(key=lambda job: (job.updated_at, job.id))
        return [(_change_of(job, before.get(job.id)), job) for job in found]


def _change_of(job: Job, before: JobVersion | None) -> Change:
    if job.state in ENDED:
        return Change.ENDED
    if job.state is JobState.PENDING:
        return Change.CREATED if before is None and job.attempt == 0 else Change.WAITING
    same = before is not None and (before.state, before.lease) == (job.state, job.lease)
    return Change.PROGRESS if same else Change.STARTED
