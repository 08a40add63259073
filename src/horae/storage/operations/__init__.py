"""What operators read and change besides jobs: sessions, limits, metrics, the change log, checks.

Invariant: reading here takes no lock that a claim or a settlement needs.
"""

from horae.storage.operations.change_log import ChangeEntry, ChangeFilter, LastChange
from horae.storage.operations.doctor import (
    DueWork,
    OpenTransaction,
    RowEstimate,
    Server,
    database_error_of,
)
from horae.storage.operations.failures import RecentDeployment
from horae.storage.operations.limits import LimitView
from horae.storage.operations.metrics import DURATION_BOUNDS, LATENESS_BOUNDS, PICK_UP_BOUNDS
from horae.storage.operations.overview import DURATION, Minute, TypeCounts
from horae.storage.operations.unserved import why_group_unserved, why_unserved

__all__ = [
    "DURATION",
    "DURATION_BOUNDS",
    "LATENESS_BOUNDS",
    "PICK_UP_BOUNDS",
    "ChangeEntry",
    "ChangeFilter",
    "DueWork",
    "LastChange",
    "LimitView",
    "Minute",
    "OpenTransaction",
    "RecentDeployment",
    "RowEstimate",
    "Server",
    "TypeCounts",
    "database_error_of",
    "why_group_unserved",
    "why_unserved",
]
