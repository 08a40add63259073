"""Queues: what operators and declarations set, how deep they are, and which backend runs them.

Invariant: what an operator has set stays set when the application declares the queue again.
"""

from horae.storage.queues.depth import DueJobs, Durations
from horae.storage.queues.everything import Pause
from horae.storage.queues.queue_backends import check_backend_types
from horae.storage.queues.queues import QueueView

__all__ = ["DueJobs", "Durations", "Pause", "QueueView", "check_backend_types"]
