"""Runs of schedules: what fires becomes a job, what has ended plans the next start, all in one transaction.

A run is guarded by `run_token`, the id of its job: an end that does not match it changes nothing. With `allow_all` the
schedule keeps no token, and each of its jobs ends for itself.
"""

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import attrgetter
from random import Random
from typing import Any, Final, TypedDict

from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    Insert,
    Integer,
    Text,
    bindparam,
    cast,
    func,
    insert,
    literal,
    or_,
    select,
)
from sqlalchemy.types import TypeEngine

from horae.domain.jobs.job import JobId, JobState, NodeId
from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import Due, Event, Plan, RunEnded, ScheduleSnapshot, Stop
from horae.domain.schedules.schedule import Overlap, ScheduleState
from horae.domain.schedules.statistics import RunOutcome
from horae.domain.schedules.tick import Decision, Reason
from horae.storage.engine.dialect import IdList, Instant, Json, PerDialect, database_now, json_rows, member_of
from horae.storage.jobs.tables import job_attempts, jobs
from horae.storage.schedules import bulk_ending, repository, ticks
from horae.storage.schedules.planning_state import (
    STATISTICS,
    UnreadableSchedule,
    rules_of,
    standing_of,
    statistics_values,
)
from horae.storage.schedules.rows import StoredSchedule
from horae.storage.schedules.ticks import NewTicks

log = logging.getLogger("horae.schedules")


class FiredJob(TypedDict):
    """The job of one nominal time."""

    schedule_id: int
    nominal_time: datetime
    deployment_id: int | None
    type: str
    queue: str
    priority: int
    params: str | None
    run_at: datetime
    max_runtime: float | None
    run_reason: str


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A job of a schedule that has ended, its body too; `took`: how long that ran, if known."""

    schedule_id: int
    job_id: JobId
    outcome: RunOutcome
    created_at: datetime
    by_hand: bool
    took: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of a schedule: the row as it is now, the job that was made, the run that must stop.

    `sooner`: it is due before the time that its owner has in mind. `unreadable`: nothing can be decided here. `seen`:
    when `schedule.now` was read, by the monotonic clock of this process.
    """

    schedule: StoredSchedule
    fired: JobId | None
    stop: Stop | None
    sooner: bool = False
    unreadable: bool = False
    seen: float = field(default_factory=time.monotonic)


_FIRED: Final[Mapping[str, TypeEngine[Any]]] = {
    "schedule_id": BigInteger(),
    "nominal_time": Instant(),
    "deployment_id": BigInteger(),
    "type": Text(),
    "queue": Text(),
    "priority": Integer(),
    "params": Text(),
    "run_at": Instant(),
    "max_runtime": Float(),
    "run_reason": Text(),
}


def _add_fired(dialect: str) -> Insert:
    row = json_rows(dialect, "rows", **_FIRED)
    values: dict[str, Any] = {name: cast(row.c[name], Json()) if name == "params" else row.c[name] for name in _FIRED}
    values |= {
        "state": literal(JobState.PENDING.value, Text()),
        "created_at": database_now(),
        "updated_at": database_now(),
    }
    source = select(*values.values())
    added = insert(jobs).from_select(list(values), source, include_defaults=False)
    return added.returning(jobs.c.id, jobs.c.schedule_id)


ADD_FIRED: Final = PerDialect(_add_fired)
_ENDED_JOB: Final = (
    jobs.c.id, jobs.c.schedule_id, jobs.c.created_at, jobs.c.run_reason, jobs.c.started_at, jobs.c.finished_at,
    # A claim is no begin: what was handed back, or ended before a slot was free, has left no attempt.
    select(job_attempts.c.job_id).where(job_attempts.c.job_id == jobs.c.id).exists().label("begun"),
)  # fmt: skip
SCHEDULED: Final = PerDialect(
    lambda dialect: select(*_ENDED_JOB).where(
        member_of(dialect, jobs.c.id, "ids", of=IdList), jobs.c.schedule_id.is_not(None)
    )
)
OTHERS: Final = select(func.count()).where(
    jobs.c.schedule_id == bindparam("schedule_id"),
    jobs.c.id != bindparam("job_id"),
    or_(jobs.c.finished_at.is_(None), jobs.c.node_id.is_not(None)),
)

LIVE: Final = (
    select(jobs.c.id, jobs.c.created_at)
    .where(
        jobs.c.schedule_id == bindparam("schedule_id"),
        or_(jobs.c.finished_at.is_(None), jobs.c.node_id.is_not(None)),
    )
    .order_by(jobs.c.id)
)


_counts: Final = attrgetter(*STATISTICS)
_RNG: Final = Random()  # noqa: S311 - spreads back-offs, guards nothing


def fire(connection: Connection, ids: Collection[int], node: NodeId) -> list[Decided]:
    """Decide what is due of these schedules; every row attempted, so that who came late learns and moves on."""
    locked, seen = repository.lock(connection, ids), time.monotonic()
    standings = {row.id: snapshot for row in locked if (snapshot := readable(row)) is not None}
    plans = [(row, plan(standings[row.id], Due(), row.now, _RNG)) for row in locked if row.id in standings]
    news = [(row, made) for row, made in plans if made != Plan.unchanged(standings[row.id])]
    decided = {result.schedule.id: result for result in carry_out(connection, news, node)} if news else {}
    unchanged = (Decided(row, None, None, unreadable=row.id not in standings) for row in locked)
    return [replace(decided.get(result.schedule.id, result), seen=seen) for result in unchanged]


def readable(row: StoredSchedule) -> ScheduleSnapshot | None:
    """What is to be decided about, unless it cannot be read here: that must stop no other schedule."""
    try:
        return standing_of(row)
    except UnreadableSchedule as error:
        log.warning("%s", error)
        return None


def decide(connection: Connection, row: StoredSchedule, event: Event, node: NodeId | None = None) -> Decided:
    """Carry out what an event makes of one locked schedule."""
    # Who waited for the lock has an older clock than the rival: times that are decided stay behind.
    now = max(row.now, row.last_tick or row.now)
    return carry_out(connection, [(row, plan(standing_of(row), event, now, _RNG))], node)[0]


def end_jobs(
    connection: Connection,
    outcomes: Mapping[JobId, RunOutcome],
    node: NodeId | None,
    scheduler_age: timedelta | None = None,
) -> list[Decided]:
    """End the runs that these jobs were, as far as they are still their schedules' own.

    Answers what became of their schedules, but for those whose plan stays as it was.
    """
    plain = bulk_ending.end(connection, [key for key, outcome in outcomes.items() if outcome is RunOutcome.SUCCEEDED])
    outcomes = {job_id: outcome for job_id, outcome in outcomes.items() if job_id not in plain}
    if not outcomes:
        return []
    return end(connection, _ends_of(connection, outcomes), node, scheduler_age)


def _ends_of(connection: Connection, outcomes: Mapping[JobId, RunOutcome]) -> list[RunEnd]:
    rows = connection.execute(SCHEDULED.on(connection), {"ids": list(outcomes)})
    return [
        RunEnd(
            row.schedule_id,
            JobId(row.id),
            outcomes[row.id] if row.begun else _WITHOUT_BODY.get(outcomes[row.id], outcomes[row.id]),
            row.created_at,
            row.run_reason == Reason.MANUAL,
            timedelta(0) if row.started_at is None else row.finished_at - row.started_at,
        )
        for row in rows
    ]


def end(
    connection: Connection, ends: Sequence[RunEnd], node: NodeId | None, scheduler_age: timedelta | None = None
) -> list[Decided]:
    """End runs that are still their schedules' own; others ended before.

    Where a schedule cannot be read here, its run ends when a node looks that can (`end_lost`).
    """
    rows = repository.lock(connection, {ended.schedule_id for ended in ends})
    locked = {row.id: row for row in rows if readable(row) is not None}
    decided: list[Decided] = []
    waiting = list(ends)
    while waiting:  # each round one end of each schedule: all but the first concern `allow_all`
        now = {ended.schedule_id: ended for ended in reversed(waiting)}
        waiting = [ended for ended in waiting if now[ended.schedule_id] is not ended]
        current = [
            (locked[key], ended) for key, ended in now.items() if key in locked and _is_current(locked[key], ended)
        ]
        later = Counter(ended.schedule_id for ended in waiting)
        results = _end_each(connection, current, later, node, scheduler_age) if current else []
        locked |= {result.schedule.id: result.schedule for result in results}
        decided.extend(results)
    return decided


def _end_each(
    connection: Connection,
    current: Sequence[tuple[StoredSchedule, RunEnd]],
    later: Mapping[int, int],
    node: NodeId | None,
    scheduler_age: timedelta | None,
) -> list[Decided]:
    plans: list[tuple[StoredSchedule, Plan]] = []
    for row, ended in current:
        event = RunEnded(
            outcome=ended.outcome,
            started=row.started_at or ended.created_at,
            by_hand=ended.by_hand,
            took=ended.took,
            others=_others(connection, row, ended.job_id, later.get(row.id, 0)),
            scheduler_started=row.now - (scheduler_age or timedelta(0)),
        )
        freed = row._replace(run_token=None if row.run_token == ended.job_id else row.run_token)
        plans.append((freed, plan(standing_of(row), event, max(row.now, event.started), _RNG)))
    results = carry_out(connection, plans, node)
    return [replace(result, sooner=_is_sooner(row, result)) for result, (row, _) in zip(results, current, strict=True)]


def _is_sooner(before: StoredSchedule, result: Decided) -> bool:
    after = result.schedule.next_start
    return after is not None and (before.next_start is None or after < before.next_start)


def end_lost(connection: Connection, limit: int) -> list[Decided]:
    """End runs whose jobs are over without the schedule having been told, or gone: those are taken for crashes."""
    lost = connection.execute(repository.OVER, {"limit": limit}).all()
    ended = {JobId(row.run_token): outcome_of(row.state) for row in lost if row.state is not None}
    gone = [
        RunEnd(row.id, JobId(row.run_token), RunOutcome.CRASHED, row.started_at, by_hand=False)
        for row in lost
        if row.state is None
    ]
    ends = [*(_ends_of(connection, ended) if ended else ()), *gone]
    return end(connection, ends, None) if ends else []


def live(connection: Connection, schedule_id: int) -> list[tuple[JobId, datetime]]:
    """The jobs of a schedule whose bodies go on or are to begin, and when they were made, the oldest first."""
    return [(JobId(row.id), row.created_at) for row in connection.execute(LIVE, {"schedule_id": schedule_id})]


def outcome_of(state: str) -> RunOutcome:
    """What the state of an ended job means for the run, if its body has begun."""
    return _OUTCOMES[JobState(state)]


_OUTCOMES: Final = {
    JobState.FINISHED: RunOutcome.SUCCEEDED,
    JobState.FAILED: RunOutcome.FAILED,
    JobState.CANCELLED: RunOutcome.CANCELLED,
}
_WITHOUT_BODY: Final[Mapping[RunOutcome, RunOutcome]] = dict.fromkeys(
    (RunOutcome.FAILED, RunOutcome.CANCELLED), RunOutcome.NEVER_BEGUN
)


def carry_out(
    connection: Connection, plans: Sequence[tuple[StoredSchedule, Plan]], node: NodeId | None
) -> list[Decided]:
    """Write what was decided about locked schedules: jobs, moving parts, statistics, ticks; a statement for each."""
    fired = _fire_jobs(connection, [(row, made) for row, made in plans if made.fire is not None])
    after = [row_after(row, made, fired.get(row.id)) for row, made in plans]
    repository.write(connection, after)
    counted = [now for now, (row, _) in zip(after, plans, strict=True) if _counts(now) != _counts(row)]
    if counted:
        repository.write_statistics(connection, counted)
    ledger = [entry for row, made in plans for entry in _entries(row, made, fired.get(row.id), node)]
    if ledger:
        ticks.add(connection, ledger)
    return [Decided(row, fired.get(row.id), made.stop) for row, (_, made) in zip(after, plans, strict=True)]


def _is_current(row: StoredSchedule, ended: RunEnd) -> bool:
    return row.run_token == ended.job_id or rules_of(row).overlap is Overlap.ALLOW_ALL


def _others(connection: Connection, row: StoredSchedule, job_id: JobId, later: int) -> int:
    """How many runs of the schedule go on beside this one, or wait for their turn in the same batch."""
    if rules_of(row).overlap is not Overlap.ALLOW_ALL:
        return 0
    count: int = connection.execute(OTHERS, {"schedule_id": row.id, "job_id": job_id}).scalar_one()
    return count + later


def _fire_jobs(connection: Connection, fires: Iterable[tuple[StoredSchedule, Plan]]) -> dict[int, JobId]:
    wanted = [job_of(row, made) for row, made in fires]
    if not wanted:
        return {}
    rows = connection.execute(ADD_FIRED.on(connection), {"rows": repository.rows_as_json(connection, wanted)})
    return {row.schedule_id: JobId(row.id) for row in rows}


def job_of(row: StoredSchedule, made: Plan) -> FiredJob:
    """The job of the time that a plan fires."""
    nominal = next(entry for entry in made.ticks if entry.decision is Decision.FIRED)
    runtime = rules_of(row).max_runtime
    return FiredJob(
        schedule_id=row.id,
        nominal_time=nominal.first,
        deployment_id=row.deployment_id,
        type=row.job_type,
        queue=row.queue,
        priority=row.priority,
        params=row.params,
        run_at=min(row.next_start or row.now, row.now),  # the due time: among equals who is longest due goes first
        max_runtime=None if runtime is None else runtime.total_seconds(),
        run_reason=nominal.reason.value,
    )


def row_after(row: StoredSchedule, made: Plan, fired: JobId | None) -> StoredSchedule:
    """The row after a plan. A run that ends has had its token taken away before."""
    keeps = rules_of(row).overlap is not Overlap.ALLOW_ALL
    token = fired if fired is not None and keeps else row.run_token
    return row._replace(
        state=_state(row, made, token),
        run_token=token,
        started_at=None if token is None else row.now if fired is not None else row.started_at,
        enabled=made.disabled is None,
        disabled_reason=None if made.disabled is None else made.disabled.value,
        pause_note=None if made.disabled is None else row.pause_note,
        next_start=made.next_start,
        last_tick=made.last_tick,
        version=row.version + 1,
        **statistics_values(made.statistics),
    )


def _state(row: StoredSchedule, made: Plan, token: int | None) -> str:
    if token is None:
        return ScheduleState.IDLE if made.disabled is None else ScheduleState.DISABLED
    stopping = made.stop is not None or (row.state == ScheduleState.TERMINATING and token == row.run_token)
    return ScheduleState.TERMINATING if stopping else ScheduleState.EXECUTING


def _entries(row: StoredSchedule, made: Plan, fired: JobId | None, node: NodeId | None) -> Iterable[NewTicks]:
    for entry in made.ticks:
        yield NewTicks(
            schedule_id=row.id,
            nominal_time=entry.first,
            until=entry.last,
            count=entry.count,
            decision=entry.decision.value,
            reason=entry.reason.value,
            job_id=fired if entry.decision is Decision.FIRED else None,
            decided_by=node,
        )
