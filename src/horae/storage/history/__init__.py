"""The history: what is counted for a bucket, and the buckets that are kept.

Invariant: a bucket is written by the transaction that moves `reached` on from what its writer read,
so of two writers one writes it. What ended is counted from the jobs themselves, so a bucket that is
written again is the same.
"""

from horae.storage.history.counting import OpenWork, QueueSettings
from horae.storage.history.tables import history, history_state
from horae.storage.history.writing import HistoryProgress

__all__ = [
    "HistoryProgress",
    "OpenWork",
    "QueueSettings",
    "history",
    "history_state",
]
