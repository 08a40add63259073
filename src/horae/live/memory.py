"""A live store in this process alone, for work that is run and watched in one place."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from horae.domain.jobs.job import JobId
from horae.forking import ForkSafeLock
from horae.live.precedence import supersedes
from horae.live.store import CancelRequest, LiveReport, LiveStore


class MemoryLiveStore:
    """A `LiveStore` of two dictionaries; safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._reports: dict[JobId, LiveReport] = {}
        self._requests: dict[JobId, CancelRequest] = {}

    def publish(self, reports: Sequence[LiveReport]) -> None:
        """Keep the reports that supersede what is there."""
        with self._lock:
            for report in reports:
                if supersedes(report, self._reports.get(report.job_id)):
                    self._reports[report.job_id] = report

    def read(self, job_ids: Collection[JobId]) -> Mapping[JobId, LiveReport]:
        """Return the latest reports of these jobs."""
        with self._lock:
            return {id_: self._reports[id_] for id_ in job_ids if id_ in self._reports}

    def request_cancel(self, job_id: JobId, request: CancelRequest) -> None:
        """Ask the body of this job to stop; who asked first is remembered, and force if anybody wants it."""
        with self._lock:
            first = self._requests.setdefault(job_id, request)
            if request.forced and not first.forced:
                self._requests[job_id] = replace(first, forced=True)

    def cancel_requests(self, job_ids: Collection[JobId]) -> Mapping[JobId, CancelRequest]:
        """Return which of these jobs are asked to stop, and by whom."""
        with self._lock:
            return {id_: self._requests[id_] for id_ in job_ids if id_ in self._requests}

    def reported(self, after: JobId, limit: int) -> Sequence[JobId]:
        """Return the jobs with reports, in the order of the ids."""
        with self._lock:
            return sorted(id_ for id_ in self._reports if id_ > after)[:limit]

    def forget(self, job_ids: Collection[JobId]) -> None:
        """Drop the reports and requests of these jobs."""
        with self._lock:
            for id_ in job_ids:
                self._reports.pop(id_, None)
                self._requests.pop(id_, None)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


if TYPE_CHECKING:
    _conforms: type[LiveStore] = MemoryLiveStore
