"""Collects the progress of running bodies, and writes it at most ten times a second."""

from collections.abc import Iterable
from functools import partial

from horae.domain.jobs import Claim, JobId
from horae.forking import ForkSafeLock
from horae.live import LiveReport, LiveStore
from horae.runtime.journal import Journal
from horae.runtime.throttled_warning import ThrottledWarning
from horae.types import Report


class Reporter:
    """Keeps the latest report of each running body; `publish` writes the new ones."""

    def __init__(self, live: LiveStore, journal: Journal) -> None:
        """`journal`: lists the bodies that may still report; reports of others are ignored."""
        self._live = live
        self._journal = journal
        self._new: dict[JobId, LiveReport] = {}
        self._latest: dict[JobId, LiveReport] = {}
        self._ended: list[JobId] = []
        self._lock = ForkSafeLock()
        self._unavailable = ThrottledWarning()

    def follow(self, claim: Claim) -> Report:
        """Return the callback for reports of this claim; it may be called from any thread."""
        return partial(self._report, claim)

    def _report(self, claim: Claim, percentage: int, label: str | None) -> None:
        report = LiveReport(claim.id, claim.lease, percentage, label)
        with self._lock:
            if claim in self._journal:
                self._new[claim.id] = self._latest[claim.id] = report

    def latest(self, job_id: JobId) -> LiveReport | None:
        """Return the last report of a job, to be stored with its result."""
        return self._latest.get(job_id)

    def forget(self, job_ids: Iterable[JobId], cancelled: Iterable[JobId] = ()) -> None:
        """Forget jobs whose results are committed; the next `publish` removes them from the live
        store.

        The store may hold a request for `cancelled` jobs even if they never reported.
        """
        with self._lock:
            self._ended.extend(cancelled)
            for job_id in job_ids:
                if self._latest.pop(job_id, None) is not None:
                    self._new.pop(job_id, None)
                    self._ended.append(job_id)

    @property
    def has_news(self) -> bool:
        """Whether `publish` has anything to write."""
        return bool(self._new or self._ended)

    def publish(self) -> None:
        """Write the new reports and remove the ended jobs; the next call repeats what fails."""
        with self._lock:
            new, self._new = self._new, {}
            ended, self._ended = self._ended, []
        with self._unavailable.guard("cannot write the progress of %d jobs yet: %s", len(new)):
            if new:
                self._live.publish(list(new.values()))
            if ended:
                self._live.forget(ended)
            self._unavailable.settle()
            return
        with self._lock:
            self._new = {**new, **self._new}
            self._ended = ended + self._ended
