"""A running job's live state, beside the row that its transaction may hide.

Losing the store loses what is shown for a moment, never a state and never a cancel: both are on the row.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from horae.domain.job import JobId

TERMINATING: Final = " (by force)"
"""At the end of who asks for a cancel: the body is not only told, but stopped by force where that can be done."""


@dataclass(frozen=True, slots=True)
class LiveReport:
    """What a running body says of itself; shown only while the lease is the row's."""

    job_id: JobId
    lease: int
    progress_percentage: int
    label: str | None = None


class LiveStore(Protocol):
    """Reports and cancel requests, apart from each other so that no report can overwrite a request."""

    def publish(self, reports: Sequence[LiveReport]) -> None:
        """Write the reports; one with an older lease, or a smaller percentage of the same lease, changes nothing."""
        ...

    def read(self, job_ids: Collection[JobId]) -> Mapping[JobId, LiveReport]:
        """The latest reports of these jobs."""
        ...

    def request_cancel(self, job_id: JobId, requested_by: str | None) -> None:
        """Ask the body of this job to stop."""
        ...

    def cancel_requests(self, job_ids: Collection[JobId]) -> Mapping[JobId, str | None]:
        """Which of these jobs are asked to stop, and by whom."""
        ...

    def forget(self, job_ids: Collection[JobId]) -> None:
        """Drop reports and requests of jobs that have ended or were never cancelled after all."""
        ...

    def close(self) -> None:
        """Release what the store holds."""
        ...
