"""The live state of running jobs, apart from their rows, whose changes a transaction may hide.

If the store is lost, progress is not shown for a moment. No state and no cancel is lost: both are
stored in the row.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from horae.domain.jobs import JobId, Wait, check_label
from horae.errors import InvalidLabel

PERCENTAGES: Final = range(101)


@dataclass(frozen=True, slots=True)
class LiveReport:
    """The progress that a running body reports; shown only while the lease matches the row."""

    job_id: JobId
    lease: int
    progress_percentage: int
    label: str | None = None


@dataclass(frozen=True, slots=True)
class CancelRequest:
    """A request to stop a body.

    `forced`: the body is not only asked, but stopped by force where that is possible.
    """

    by: str | None = None
    forced: bool = False


def checked_report(job_id: JobId, lease: Any, percentage: Any, label: Any) -> LiveReport | None:
    """Return a report as it was read; None if no body can have made it."""
    if (
        not isinstance(lease, int)
        or not isinstance(percentage, int)
        or percentage not in PERCENTAGES
    ):
        return None
    if label is not None:
        if not isinstance(label, str):
            return None
        try:
            check_label(label)
        except InvalidLabel:
            return None
    return LiveReport(job_id, lease, percentage, label)


class LiveStore(Protocol):
    """Stores reports and cancel requests in separate tables: no report can overwrite a request."""

    def publish(self, reports: Sequence[LiveReport]) -> None:
        """Write the reports, but ignore one with an older lease, or a smaller percentage of the
        same lease.
        """
        ...

    def read(self, job_ids: Collection[JobId]) -> Mapping[JobId, LiveReport]:
        """Return the latest reports of these jobs."""
        ...

    def request_cancel(self, job_id: JobId, request: CancelRequest) -> None:
        """Ask the body of this job to stop.

        The first name is kept; one forced request makes all of them forced.
        """
        ...

    def cancel_requests(
        self, job_ids: Collection[JobId], *, thorough: bool = False
    ) -> Mapping[JobId, CancelRequest]:
        """Return cancel requests for these jobs; `thorough`: also those that the store may have
        lost.
        """
        ...

    def begin_wait(self, wait: Wait) -> None:
        """Record for what a body waits."""
        ...

    def end_wait(self, wait: Wait) -> None:
        """Record that this wait is over."""
        ...

    def waits(self) -> Sequence[Wait]:
        """Return the waits of all bodies, also some of attempts that have ended."""
        ...

    def reported(self, after: JobId, limit: int) -> Sequence[JobId]:
        """Return the jobs after this id with an entry that does not expire, ordered by id."""
        ...

    def forget(self, job_ids: Collection[JobId]) -> None:
        """Delete what is known of jobs that have ended, or whose cancel failed."""
        ...

    def follow(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` soon after reports were published, if the store can do that.

        Return a function that ends it.

        A caller has to read from time to time in any case: a call may be lost.
        """
        ...

    def close(self) -> None:
        """Close the connections of the store."""
        ...
