"""What is counted for a bucket: the jobs that ended in it, and the jobs that nodes hold.

Both read indexes that other statements need, too: by the end of a job, and by the node that holds
it.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Integer,
    bindparam,
    case,
    func,
    literal_column,
    select,
)

from horae.domain.history import BOUNDS, Ended, Figures
from horae.domain.jobs import JobState
from horae.storage.engine import PerDatabase
from horae.storage.jobs import EVERY_QUEUE, IS_HELD, jobs, queues
from horae.storage.operations import DURATION
from horae.storage.operations.overview import PICK_UP
from horae.storage.queues import DueJobs, depth


@dataclass(frozen=True, slots=True)
class HeldCount:
    """How many jobs of one type in one queue nodes hold."""

    queue: str
    type: str
    count: int


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """What decides who runs the jobs of a queue; see the columns of `horae_queues`."""

    paused: bool
    concurrency_limit: int | None
    backend: str | None


@dataclass(frozen=True, slots=True)
class OpenWork:
    """The jobs that are due or held now. `everything_is_paused`: no queue may start any."""

    due: Sequence[DueJobs]
    held: Sequence[HeldCount]
    settings: Mapping[str, QueueSettings]
    everything_is_paused: bool


def _slot(seconds: ColumnElement[float]) -> ColumnElement[int]:
    """Return the position of the first bound that a duration does not exceed; null for null."""

    def search(first: int, last: int) -> ColumnElement[int]:
        if first == last:
            return literal_column(str(first), Integer())
        middle = (first + last) // 2
        return case(
            (seconds <= literal_column(repr(BOUNDS[middle]), Float()), search(first, middle)),
            else_=search(middle + 1, last),
        )

    # `width_bucket` counts a duration above the bound that it equals, which is too rare to matter.
    bounds: Any = literal_column(f"ARRAY[{', '.join(map(repr, BOUNDS))}]::float8[]")
    return PerDatabase(
        func.width_bucket(seconds, bounds, type_=Integer()),
        case((seconds.is_(None), None), else_=search(0, len(BOUNDS))),
    )


_ended = (
    select(
        jobs.c.queue,
        jobs.c.type,
        jobs.c.state,
        _slot(PICK_UP).label("wait"),
        _slot(DURATION).label("run"),
    )
    .where(
        jobs.c.finished_at >= bindparam("since"),
        jobs.c.finished_at < bindparam("until"),
    )
    .limit(500_000)
    .subquery("ended")
)
ENDED: Final = select(*_ended.c, func.count()).group_by(*_ended.c)
HELD: Final = (
    select(jobs.c.queue, jobs.c.type, func.count())
    .where(IS_HELD, jobs.c.state == JobState.STARTED)
    .group_by(jobs.c.queue, jobs.c.type)
)
SETTINGS: Final = select(
    queues.c.name, queues.c.paused_at, queues.c.concurrency_limit, queues.c.backend
)


@dataclass(slots=True)
class _Counts:
    states: Counter[str] = field(default_factory=Counter[str])
    waits: Counter[int] = field(default_factory=Counter[int])
    runs: Counter[int] = field(default_factory=Counter[int])

    def add(self, state: str, wait: int | None, run: int | None, count: int) -> None:
        self.states[state] += count
        for slot, counts in ((wait, self.waits), (run, self.runs)):
            if slot is not None:
                counts[slot] += count

    def figures(self) -> Figures:
        return Figures(
            finished=self.states[JobState.FINISHED],
            failed=self.states[JobState.FAILED],
            cancelled=self.states[JobState.CANCELLED],
            waits=self.waits,
            runs=self.runs,
        )


def ended(connection: Connection, since: datetime, until: datetime) -> Ended:
    """Count the jobs that ended from `since` until before `until`."""
    everything = _Counts()
    by_queue = defaultdict[str, _Counts](_Counts)
    by_type = defaultdict[str, _Counts](_Counts)
    rows: Any = connection.execute(ENDED, {"since": since, "until": until})
    for queue, kind, state, wait, run, count in rows:
        everything.add(state, wait, run, count)
        by_type[kind].add(state, wait, run, count)
        # Durations are of a type; by queue as well they would double what is stored and read.
        by_queue[queue].add(state, None, None, count)
    return Ended(
        everything.figures(),
        {name: counts.figures() for name, counts in by_queue.items()},
        {name: counts.figures() for name, counts in by_type.items()},
    )


def open_work(connection: Connection) -> OpenWork:
    """Return the jobs that are due or held, with the settings of their queues."""
    rows: Any = connection.execute(SETTINGS)
    settings = {
        name: QueueSettings(paused_at is not None, *rest) for name, paused_at, *rest in rows
    }
    of_all = settings.pop(EVERY_QUEUE, None)
    return OpenWork(
        due=depth.due_jobs(connection),
        held=[HeldCount(*row) for row in connection.execute(HELD)],
        settings=settings,
        everything_is_paused=of_all is not None and of_all.paused,
    )
