"""Queues: what operators and declarations set, how deep they are, and which backend runs them.

Invariant: what an operator has set stays set when the application declares the queue again.
"""

from horae.storage.queues.depth import DueJobs, MeanDurations
from horae.storage.queues.everything import Pause
from horae.storage.queues.queue_backends import check_backend_types
from horae.storage.queues.queues import QueueView

__all__ = ["DueJobs", "MeanDurations", "Pause", "QueueView", "check_backend_types"]
