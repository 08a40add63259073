"""Adds to running jobs the label and the percentage that their bodies reported last."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from horae.domain.jobs import Job, JobId, JobState
from horae.guarded_log import guarded_log
from horae.live import LiveReport, LiveStore
from horae.storage.jobs.groups import RunningMember

log = guarded_log("horae.jobs")


def live_percentages(live: LiveStore, running: Sequence[RunningMember]) -> Sequence[int]:
    """Return the progress of these members by the latest reports of their bodies, or as stored."""
    reports = read_reports(live, {member.id: member.lease for member in running})
    return [(reports.get(member.id) or member).progress_percentage for member in running]


def with_live_reports(live: LiveStore, jobs: Sequence[Job]) -> Sequence[Job]:
    """Return the jobs with live labels and percentages, except reports under earlier leases."""
    started = {job.id: job.lease for job in jobs if job.state is JobState.STARTED}
    reports = read_reports(live, started)
    return [
        job
        if (report := reports.get(job.id)) is None
        else replace(job, label=report.label, progress_percentage=report.progress_percentage)
        for job in jobs
    ]


def read_reports(live: LiveStore, leases: Mapping[JobId, int]) -> Mapping[JobId, LiveReport]:
    """Return the reports of bodies that run under these leases; none if the store fails."""
    found: Mapping[JobId, LiveReport] = {}
    with log.guard("cannot read the progress of %d running jobs: %s", len(leases)):
        found = live.read(list(leases)) if leases else {}
    return {job_id: report for job_id, report in found.items() if report.lease == leases[job_id]}
