"""Celery as a backend: jobs of a queue are sent to it after the commit, and its worker claims them.

Invariant: the worker claims a job by its id through the same lease as a node, so a message that is
lost, late or delivered twice is harmless.
"""

from horae.contrib.celery.setup import setup
from horae.contrib.celery.tasks import task_type

__all__ = ["setup", "task_type"]
