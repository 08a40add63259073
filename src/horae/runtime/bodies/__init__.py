"""One attempt of a job inside a node: its body, its orders to stop, its progress and its outcome.

Invariants: an attempt ends with exactly one settlement; what a body does after it lost its lease is
dropped; a body that raises, hangs or exits ends nothing but itself.
"""

from horae.runtime.bodies.ending import ended_by, stopped_by, unbegun
from horae.runtime.bodies.environment import RunEnvironment
from horae.runtime.bodies.executor import START_UP, Done, Executor, stop_attempts
from horae.runtime.bodies.finished_run import (
    FinishedRun,
    Settling,
    backoff_of,
    finish,
    owing,
    with_report,
)
from horae.runtime.bodies.log_book import KeptLogs, LogWriter, writer_to
from horae.runtime.bodies.orders import Interrupted, OutOfContact
from horae.runtime.bodies.reporter import Reporter
from horae.runtime.bodies.run_monitor import RunMonitor
from horae.runtime.bodies.runner import perform, perform_async
from horae.runtime.bodies.running_loop import in_event_loop

__all__ = [
    "START_UP",
    "Done",
    "Executor",
    "FinishedRun",
    "Interrupted",
    "KeptLogs",
    "LogWriter",
    "OutOfContact",
    "Reporter",
    "RunEnvironment",
    "RunMonitor",
    "Settling",
    "backoff_of",
    "ended_by",
    "finish",
    "in_event_loop",
    "owing",
    "perform",
    "perform_async",
    "stop_attempts",
    "stopped_by",
    "unbegun",
    "with_report",
    "writer_to",
]
