"""A running job's live state, beside the row that its transaction may hide.

Losing the store loses what is shown for a moment, never a state and never a cancel: both are on the row.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from horae.domain.jobs.job import JobId


@dataclass(frozen=True, slots=True)
class LiveReport:
    """What a running body says of itself; shown only while the lease is the row's."""

    job_id: JobId
    lease: int
    progress_percentage: int
    label: str | None = None


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """Who asks a body to stop. `forced`: it is not only told, but stopped by force where that can be done."""

    by: str | None = None
    forced: bool = False


class LiveStore(Protocol):
    """Reports and cancel requests, apart from each other so that no report can overwrite a request."""

    def publish(self, reports: Sequence[LiveReport]) -> None:
        """Write the reports; one with an older lease, or a smaller percentage of the same lease, changes nothing."""
        ...

    def read(self, job_ids: Collection[JobId]) -> Mapping[JobId, LiveReport]:
        """The latest reports of these jobs."""
        ...

    def request_cancel(self, job_id: JobId, request: CancelRequest) -> None:
        """Ask the body of this job to stop; who asked first is remembered, and force if anybody wants it."""
        ...

    def cancel_requests(self, job_ids: Collection[JobId]) -> Mapping[JobId, CancelRequest]:
        """Which of these jobs are asked to stop, and by whom."""
        ...

    def reported(self, after: JobId, limit: int) -> Sequence[JobId]:
        """The jobs that the store keeps a report of, by id, from behind this one on."""
        ...

    def forget(self, job_ids: Collection[JobId]) -> None:
        """Drop reports and requests of jobs that have ended or were never cancelled after all."""
        ...

    def close(self) -> None:
        """Release what the store holds."""
        ...
