"""Which of two reports on a job is shown."""

from collections.abc import Iterable

from horae.domain.jobs.job import JobId
from horae.live.store import LiveReport


def supersedes(report: LiveReport, known: LiveReport | None) -> bool:
    """Whether `report` takes the place of `known`: of a newer lease, or of the same one and not behind.

    The same rule stands in SQL in `database.py`.
    """
    if known is None:
        return True
    return (report.lease, report.progress_percentage) >= (known.lease, known.progress_percentage)


def latest(reports: Iterable[LiveReport]) -> dict[JobId, LiveReport]:
    """Return what is left of the reports, one a job, in the order of the ids."""
    kept: dict[JobId, LiveReport] = {}
    for report in reports:
        if supersedes(report, kept.get(report.job_id)):
            kept[report.job_id] = report
    return dict(sorted(kept.items()))
