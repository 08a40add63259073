"""A summary of the whole system: throughput, delays, and current problems in words."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from horae.client.doctor import (
    Dead,
    Finding,
    Level,
    count_of,
    system_findings,
    wait_findings,
    warning,
)
from horae.client.jobs import BodyWaits
from horae.domain.jobs import JobState
from horae.storage.engine import Database, Reads
from horae.storage.jobs import reading
from horae.storage.nodes import NodeView
from horae.storage.operations import Minute, TypeCounts, doctor, overview
from horae.storage.queues import QueueView, queues
from horae.types import Routes

MANY_FAILURES: Final = 5
"""Failures of one type in an hour that are reported if their share also exceeds `LARGE_SHARE`."""
LARGE_SHARE: Final = 0.2
"""The share of ended jobs above which failures are reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """The distribution of a duration in seconds over the latest jobs; None if there were none."""

    count: int
    p50: float | None
    p99: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The state of the system at one moment.

    `ready`: jobs that are due and only wait for a slot.
    """

    at: datetime
    states: Mapping[JobState, int]
    ready: int
    throughput: Sequence[Minute]
    queues: Sequence[QueueView]
    pick_up: Percentiles
    duration: Percentiles
    lateness: Percentiles
    nodes_alive: int
    nodes_dead: int
    slots: int
    running: int
    problems: Sequence[Finding]


def take(
    database: Database,
    reads: Reads,
    *,
    alive: Sequence[NodeView],
    dead: Sequence[Dead],
    known: Collection[str],
    routes: Routes,
    waits: BodyWaits,
) -> Overview:
    """Read the state once; counts come from `reads`.

    `known`: the job types that this application declares; `routes`: its jobs that a backend runs.
    """
    samples = reads.autocommit(overview.samples)
    waiting = reads.autocommit(queues.view)
    findings = [
        *system_findings(database, alive, dead, waiting, known=known, routes=routes),
        *wait_findings(waits.hindrances()),
        *failure_findings(reads.autocommit(overview.by_type)),
    ]
    return Overview(
        at=database.autocommit(doctor.clock),
        states={**dict.fromkeys(JobState, 0), **reads.autocommit(reading.counts)},
        ready=sum(queue.due for queue in waiting if not queue.is_paused),
        throughput=reads.autocommit(overview.throughput),
        queues=waiting,
        pick_up=percentiles([max(0.0, sample.pick_up) for sample in samples]),
        duration=percentiles([max(0.0, sample.duration) for sample in samples]),
        lateness=percentiles(
            [max(0.0, seconds) for seconds in reads.autocommit(overview.lateness)]
        ),
        nodes_alive=len(alive),
        nodes_dead=len(dead),
        slots=sum(view.concurrency for view in alive if view.is_worker),
        running=sum(view.slots_used for view in alive),
        problems=sorted(
            (each for each in findings if each.level is not Level.OK),
            key=lambda each: each.level is not Level.PROBLEM,
        ),
    )


def percentiles(seconds: Sequence[float]) -> Percentiles:
    """Return median and 99th percentile, each a value that occurred."""
    ordered = sorted(seconds)
    return Percentiles(
        count=len(ordered), p50=percentile(ordered, 0.5), p99=percentile(ordered, 0.99)
    )


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest value not exceeded by at least this share of the values; None if there
    are none.
    """
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def failure_findings(counts: Sequence[TypeCounts]) -> Iterator[Finding]:
    """Yield a finding for each job type that fails often."""
    for each in counts:
        ended = each.finished + each.failed
        if each.failed >= MANY_FAILURES and each.failed > LARGE_SHARE * ended:
            yield warning(
                "jobs",
                f"{each.failed} of {count_of(ended, 'job')} of type {each.type!r} that ended in the"
                " last hour failed",
                "Look at the errors of the latest ones.",
            )
