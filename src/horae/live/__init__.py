"""Live state of running jobs (label, percentage) and cancel requests, beside their rows.

Invariants: losing the live store loses no cancel and no state; a report never overwrites a request;
readers merge live state over the row only while the lease is the same.
"""

from horae.live.database import DatabaseLiveStore
from horae.live.store import CancelRequest, LiveReport, LiveStore

__all__ = ["CancelRequest", "DatabaseLiveStore", "LiveReport", "LiveStore"]
