"""Adds to running jobs the label and the percentage that their bodies reported last."""

from collections.abc import Sequence
from dataclasses import replace

from horae.domain.jobs import Job, JobState
from horae.live import LiveStore
from horae.storage.jobs.groups import RunningMember


def live_percentages(live: LiveStore, running: Sequence[RunningMember]) -> Sequence[int]:
    """Return the progress of these members by the latest reports of their bodies, or as stored."""
    reports = live.read([member.id for member in running]) if running else {}
    return [
        member.progress_percentage
        if (report := reports.get(member.id)) is None or report.lease != member.lease
        else report.progress_percentage
        for member in running
    ]


def with_live_reports(live: LiveStore, jobs: Sequence[Job]) -> Sequence[Job]:
    """Return the jobs with live labels and percentages, except reports under earlier leases."""
    running = {job.id: job.lease for job in jobs if job.state is JobState.STARTED}
    reports = live.read(list(running)) if running else {}
    current = {
        job_id: report for job_id, report in reports.items() if report.lease == running[job_id]
    }
    return [
        job
        if (report := current.get(job.id)) is None
        else replace(job, label=report.label, progress_percentage=report.progress_percentage)
        for job in jobs
    ]
