"""What bodies run with."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from horae.domain.jobs import NodeId
from horae.runtime.bodies.finished_run import Settling
from horae.runtime.bodies.log_book import KeptLogs
from horae.runtime.journal import Journal
from horae.storage.engine import Database
from horae.types import Attempt, Hook, JobContext, Observer


def call_body(attempt: Attempt, context: JobContext[Any]) -> Any:
    """Call a body that is not a coroutine function, and return its result."""
    return attempt.job_type.run(context)


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What bodies run with: their database, the node that holds their leases, and its journal."""

    database: Database
    node: NodeId
    journal: Journal = field(default_factory=Journal)
    rng: Random = field(default_factory=Random)
    """Draws the delays of retries."""
    around: Sequence[Hook[Any]] = ()
    """The context managers around each body, the outermost first."""
    settlements: Sequence[Observer[Settling]] = ()
    """What observes the writing of results."""
    log_book: KeptLogs | None = None
    """Keeps the log lines of bodies."""
    call: Callable[[Attempt, JobContext[Any]], Any] = call_body
    """Calls a body that is not a coroutine function. In some processes a signal may interrupt the
    body, but not its commit.
    """
    recursion_limit: int = field(default_factory=sys.getrecursionlimit)
    """That of the process before any body."""
