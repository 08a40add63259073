"""A summary of the whole system: throughput, delays, and current problems in words."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from horae.client.doctor import (
    About,
    Counted,
    Dead,
    Deed,
    Finding,
    Level,
    Noun,
    left_findings,
    migrations_finding,
    problem,
    system_findings,
    together,
    wait_findings,
    warning,
)
from horae.client.jobs import BodyWaits
from horae.domain.jobs import Field, JobState, written_term
from horae.sentences import Sentence, SentenceCode, counted
from horae.storage.engine import Database, Reads, read_clock, unreadable_rows
from horae.storage.jobs import LeftoverJobs, owed_hooks, reading
from horae.storage.migrations import runner
from horae.storage.nodes import NodeView
from horae.storage.operations import Minute, TypeCounts, overview
from horae.storage.queues import QueueView, queues
from horae.types import Registry

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

    `ready`: jobs that are due and only wait for a slot; `wrong`: how many things need action;
    `notable`: how many others deserve a look; `problems`: what these are, the worst first, and many
    of a kind together.
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
    wrong: int
    notable: int
    problems: Sequence[Finding]

    @property
    def is_well(self) -> bool:
        """Whether nothing needs action; what is only paused does not."""
        return self.wrong == 0

    @property
    def summary(self) -> str:
        """Whether anything is wrong, in a sentence: `3 things are wrong`."""
        others = self.notable
        deserve = "deserves" if others == 1 else "deserve"
        if self.wrong:
            also = f", and {others} more {deserve} a look" if others else ""
            are = "is" if self.wrong == 1 else "are"
            return f"{counted(self.wrong, 'thing')} {are} wrong{also}"
        if others:
            return f"Nothing is wrong; {counted(others, 'thing')} {deserve} a look"
        return "All well" if self.nodes_alive else "Nothing is wrong, but no node runs"


def take(
    database: Database,
    reads: Reads,
    *,
    alive: Sequence[NodeView],
    dead: Sequence[Dead],
    registry: Registry,
    queue_backends: Mapping[str, str],
    waits: BodyWaits,
    keep: timedelta,
) -> Overview:
    """Read the state once; counts come from `reads`.

    `registry`, `queue_backends`: as in `system_findings`; `keep`: how long ended jobs are kept.
    """
    samples = reads.autocommit(overview.samples)
    waiting = reads.autocommit(queues.view)
    left: Sequence[LeftoverJobs] = []
    if alive:  # without a node no hook can be called, which other findings say
        served = {name for view in alive for name in view.types}
        left = database.autocommit(owed_hooks.leftover_jobs, served, keep.total_seconds())
    findings = [
        migrations_finding(runner.status(database), owned=database.is_file),
        *system_findings(database, registry, queue_backends, alive, dead, waiting),
        *wait_findings(waits.hindrances()),
        *failure_findings(reads.autocommit(overview.by_type)),
        *left_findings(left, alive),
        *unreadable_findings(unreadable_rows.count_lately(300.0)),
    ]
    problems = sorted(
        (each for each in findings if each.level is not Level.OK),
        key=lambda each: each.level is not Level.PROBLEM,
    )
    wrong = sum(each.level is Level.PROBLEM for each in problems)
    return Overview(
        at=database.autocommit(read_clock),
        states={**dict.fromkeys(JobState, 0), **reads.autocommit(reading.counts)},
        ready=sum(queue.due for queue in waiting if not queue.is_paused),
        throughput=reads.autocommit(overview.throughput),
        queues=waiting,
        pick_up=percentiles(sample.pick_up for sample in samples),
        duration=percentiles(sample.duration for sample in samples),
        lateness=percentiles(reads.autocommit(overview.lateness)),
        nodes_alive=len(alive),
        nodes_dead=len(dead),
        slots=sum(view.concurrency for view in alive if view.is_worker),
        running=sum(view.slots_used for view in alive),
        wrong=wrong,
        notable=len(problems) - wrong,
        problems=together(problems),
    )


def percentiles(seconds: Iterable[float]) -> Percentiles:
    """Return median and 99th percentile, each a value that occurred; negative ones are zero."""
    ordered = sorted(max(0.0, each) for each in seconds)
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
            query = (
                f"{written_term(Field.STATE, JobState.FAILED)}"
                f" {written_term(Field.TYPE, each.type)} finished:<1h"
            )
            yield problem(
                "jobs",
                Sentence(
                    f"{each.failed} of {counted(ended, 'job')} of type {each.type!r} that ended in"
                    " the last hour failed",
                    SentenceCode.TYPE_FAILING,
                    failed=each.failed,
                    ended=ended,
                    type=each.type,
                ),
                Sentence(
                    f"Look at what fails: `horae errors --type {each.type}`.",
                    SentenceCode.DO_LOOK_AT_FAILURES,
                    type=each.type,
                ),
                kind="type_failing",
                since=each.first_failed,
                about=About(Noun.TYPE, each.type),
                counted=Counted(each.failed, query),
                deeds=(Deed.RETRY,),
            )


def unreadable_findings(counts: Mapping[str, int]) -> Iterator[Finding]:
    """Yield a finding for each table of which this process has found rows that cannot be read."""
    for table, count in sorted(counts.items()):
        yield warning(
            "rows",
            Sentence(
                f"{counted(count, 'row')} of {table} cannot be read, so lists and nodes skip"
                f" {'it' if count == 1 else 'them'}",
                SentenceCode.ROWS_UNREADABLE,
                rows=count,
                table=table,
            ),
            Sentence(
                "`horae doctor` names them and says why. Repair or delete them with SQL.",
                SentenceCode.DO_REPAIR_ROWS,
            ),
            kind="rows_unreadable",
        )
