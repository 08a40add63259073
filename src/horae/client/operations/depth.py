"""How much work each queue has: the figures by which an autoscaler chooses the number of nodes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from sqlalchemy import Connection

from horae.domain.jobs import OWN_BACKEND
from horae.storage.engine import Database
from horae.storage.nodes import NodeView
from horae.storage.queues import DueJobs, MeanDurations, QueueView, depth, queues

UNMEASURED: Final = 1.0
"""Assumed seconds of a job while no job of any type has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """The work of one queue, or of all."""

    name: str
    paused: bool = False
    due: int = 0
    """Jobs that wait only for a slot."""
    running: int = 0
    """Jobs that nodes hold."""
    oldest_due: float = 0.0
    """For how many seconds the oldest due job has waited."""
    work_seconds: float = 0.0
    """How long one slot would need for the due jobs, by the mean durations of their types; zero
    while the queue is paused.
    """
    unmeasured: int = 0
    """Due jobs whose types have no measured duration, so that the mean of all types is used."""
    slots: int = 0
    """Slots of live nodes that can run the due jobs, at most the limit of the queue."""
    seconds_ahead: float | None = 0.0
    """How long these slots need for the due jobs; None if some have no slot. For all queues
    together it is at least as long as for each of them.
    """


@dataclass(frozen=True, slots=True)
class Depths:
    """The work of each queue, and of all queues together."""

    queues: Sequence[Depth]
    total: Depth


def depths(database: Database, alive: Sequence[NodeView]) -> Depths:
    """Read the work of all queues. `alive`: the live nodes."""

    def read(connection: Connection) -> Depths:
        due = depth.due_jobs(connection)
        known = (
            depth.durations(connection, {each.type for each in due})
            if due
            else MeanDurations({}, None)
        )
        return depths_of(due, known, queues.view(connection), alive)

    return database.autocommit(read)


def depths_of(
    due: Sequence[DueJobs],
    durations: MeanDurations,
    views: Sequence[QueueView],
    alive: Sequence[NodeView],
) -> Depths:
    """Compute the work of each queue and of all together."""
    by_name = {view.name: view for view in views}
    workers = [view for view in alive if view.is_worker or view.is_backend_worker]
    parts = [
        _depth(
            name,
            [each for each in due if each.queue == name],
            durations,
            by_name.get(name),
            workers,
        )
        for name in sorted({*by_name, *(each.queue for each in due)})
    ]
    slots = sum(view.concurrency for view in workers)
    work = sum(part.work_seconds for part in parts)
    total = Depth(
        name="total",
        due=sum(part.due for part in parts),
        running=sum(part.running for part in parts),
        oldest_due=max((part.oldest_due for part in parts), default=0.0),
        work_seconds=work,
        unmeasured=sum(part.unmeasured for part in parts),
        slots=slots,
        seconds_ahead=_longest([_ahead(work, slots), *(part.seconds_ahead for part in parts)]),
    )
    return Depths(parts, total)


def depth_named(found: Depths, name: str) -> Depth:
    """Return the work of a queue; an unknown queue has none."""
    return next((each for each in found.queues if each.name == name), Depth(name=name))


def _depth(
    name: str,
    due: Sequence[DueJobs],
    durations: MeanDurations,
    view: QueueView | None,
    workers: Sequence[NodeView],
) -> Depth:
    paused = view is not None and view.is_paused
    backend = None if view is None or view.backend == OWN_BACKEND else view.backend
    limit = math.inf if view is None or view.concurrency_limit is None else view.concurrency_limit
    # Horae's nodes take no work from a backend, and a backend takes none from them.
    sent = [each for each in due if each.sent or backend is not None]
    own = [each for each in due if not each.sent and backend is None]
    served = own or (backend is None and not sent)

    def can_run(node: NodeView) -> bool:
        return any(node.can_run(each.type, name) for each in own) if own else node.serves(name)

    def can_receive(node: NodeView) -> bool:
        types = [each.type for each in sent] if sent or backend is None else node.types
        return any(node.runs_for(backend, each) for each in types)

    own_slots = sum(node.concurrency for node in workers if served and can_run(node))
    sent_slots = sum(node.concurrency for node in workers if can_receive(node))
    slots = int(min(limit, own_slots + sent_slots))
    by_system = [(_work(own, durations), own_slots), (_work(sent, durations), sent_slots)]
    work = 0.0 if paused else sum(part for part, _ in by_system)
    times = [0.0 if paused else _ahead(part, int(min(limit, of_it))) for part, of_it in by_system]
    return Depth(
        name=name,
        paused=paused,
        due=sum(each.count for each in due),
        running=0 if view is None else view.started,
        oldest_due=max((each.oldest for each in due), default=0.0),
        work_seconds=work,
        unmeasured=sum(each.count for each in due if each.type not in durations.by_type),
        slots=slots,
        seconds_ahead=_longest([*times, _ahead(work, slots)]),
    )


def _work(due: Sequence[DueJobs], durations: MeanDurations) -> float:
    usual = UNMEASURED if durations.overall is None else durations.overall
    return sum(each.count * durations.by_type.get(each.type, usual) for each in due)


def _longest(times: Sequence[float | None]) -> float | None:
    """Return the longest time; None is longer than any."""
    known = [time for time in times if time is not None]
    return max(known) if len(known) == len(times) else None


def _ahead(work: float, slots: int) -> float | None:
    if not work:
        return 0.0
    return work / slots if slots else None


def as_values(found: Depth) -> Mapping[str, object]:
    """Return the figures of a queue for `--json`; the fields are documented and stable."""
    rounded = {"oldest_due", "work_seconds", "seconds_ahead"}
    return {
        name: round(value, 3) if name in rounded and value is not None else value
        for name, value in asdict(found).items()
    }
