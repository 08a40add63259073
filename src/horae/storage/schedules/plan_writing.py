"""Carry out the plans of locked schedules: their new jobs, rows, statistics and ledger entries, in
one transaction.

`run_token` is the id of the job that a schedule is running; the end of any other job changes
nothing. With `allow_all` a schedule keeps no token, and each of its jobs ends on its own.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    Text,
    case,
    func,
    insert,
    literal,
    select,
)

from horae.domain.jobs import JobId, JobState, NodeId
from horae.domain.schedules import (
    MAX_CLOCK_STEP_BACK,
    Decision,
    Event,
    Overlap,
    Plan,
    Reason,
    ScheduleSnapshot,
    ScheduleState,
    Stop,
    Ticks,
    Timeline,
)
from horae.domain.schedules.plan import plan
from horae.guarded_log import guarded_log
from horae.storage.engine import Instant, database_now, has_listed_id, json_rows
from horae.storage.jobs import jobs, waits_for
from horae.storage.jobs.search import tags
from horae.storage.schedules import backfill, ticks, writing
from horae.storage.schedules.rows import (
    StoredSchedule,
    UnreadableSchedule,
    rules_of,
    snapshot_of,
    statistics_values,
)
from horae.storage.schedules.tables import schedules

log = guarded_log("horae.schedules")


@dataclass(frozen=True, slots=True)
class AppliedPlan:
    """A schedule after its plan was carried out: its row, the job that was created, how its current
    run must stop.

    `moved_earlier`: the next start is earlier than the one that the schedule's owner knows.
    `unreadable`: this program cannot read the schedule, so nothing was decided. `read_at`: when
    `schedule.now` was read, on this process's monotonic clock.
    """

    schedule: StoredSchedule
    fired: JobId | None = None
    stop: Stop | None = None
    moved_earlier: bool = False
    unreadable: bool = False
    # Simulations replace the clock
    read_at: float = field(default_factory=lambda: time.monotonic())  # noqa: PLW0108


_fired = json_rows(
    "rows",
    id=BigInteger(),
    nominal=Instant(),
    max_runtime=Float(),
    reason=Text(),
    retry_of=BigInteger(),
)
_is_due = schedules.c.next_start <= database_now()
_VALUES: Final[dict[str, Any]] = {
    "schedule_id": schedules.c.id,
    "nominal_time": _fired.c.nominal,
    "deployment_id": schedules.c.deployment_id,
    "type": schedules.c.job_type,
    "queue": schedules.c.queue,
    "priority": schedules.c.priority,
    "params": schedules.c.params,
    "limits": schedules.c.limits,
    "meta": schedules.c.next_meta,
    "max_attempts": func.coalesce(schedules.c.max_attempts, 1),
    "waits_for": waits_for(schedules.c.limits, schedules.c.queue),
    # The job gets the due time, so that of jobs with equal priority the one that has been due
    # longest starts first.
    "run_at": case((_is_due, schedules.c.next_start), else_=database_now()),
    "max_runtime": _fired.c.max_runtime,
    "run_reason": _fired.c.reason,
    "state": literal(JobState.PENDING.value, Text()),
    "created_at": database_now(),
    "updated_at": database_now(),
    "retry_of": _fired.c.retry_of,
}
ADD_JOBS: Final = (
    insert(jobs)
    .from_select(
        list(_VALUES),
        select(*_VALUES.values()).join_from(
            _fired, schedules, has_listed_id(schedules.c.id, _fired.c.id)
        ),
        include_defaults=False,
    )
    .returning(jobs.c.id, jobs.c.schedule_id)
)
"""Creates the jobs of schedules that fire; the rows name only what the schedule's row does not
hold.
"""

JITTER: Final = Random()
"""The random numbers that plans take their back-off delays from."""


def snapshot_if_readable(row: StoredSchedule) -> ScheduleSnapshot | None:
    """Return a schedule's snapshot; if it cannot be read, log that and return None."""
    try:
        return snapshot_of(row)
    except UnreadableSchedule as error:
        log.warning("%s", error)
        return None


def apply_event(connection: Connection, row: StoredSchedule, event: Event) -> AppliedPlan:
    """Plan what follows from an event of one locked schedule, and carry it out."""
    made = plan(snapshot_of(row), event, moment_of(row), JITTER)
    return apply_plans(connection, [(row, made)])[0]


def moment_of(row: StoredSchedule) -> datetime:
    """Return the moment at which a change by a caller is planned.

    A transaction that waited for the lock may have an older clock than the one that it waited for.
    If the clock was set back further than that, times that are decided stay decided, but an
    interval has none that the present would repeat.
    """
    ahead = (row.last_tick or row.now) - row.now
    if ahead >= MAX_CLOCK_STEP_BACK and rules_of(row).finish_trigger is not None:
        return row.now
    return row.now + max(ahead, timedelta(0))


def apply_plans(
    connection: Connection,
    plans: Sequence[tuple[StoredSchedule, Plan]],
    node: NodeId | None = None,
    started: Mapping[int, JobId] = MappingProxyType({}),
) -> list[AppliedPlan]:
    """Write the plans of locked schedules: jobs, rows, statistics and ticks, with one statement for
    each.

    `started`: by schedule, jobs that exist already and are its runs from now on.
    """
    if not plans:
        return []
    fires = [(row, tick) for row, made in plans if (tick := made.fired) is not None]
    repeated = {
        row.id: job_id
        for row, tick in fires
        if tick.reason is Reason.BACKFILL
        and (job_id := ticks.run_of(connection, row.id, tick.first)) is not None
    }
    fired = {**started, **_add_fired_jobs(connection, fires, repeated)}
    after = [row_after(row, made, fired.get(row.id)) for row, made in plans]
    writing.write(connection, [row for row, _ in plans], after)
    for row, made in plans:
        if row.backfill_next is None:
            continue
        # Remove the past time that the plan fires, or all waiting ones if it has dropped them.
        if (tick := made.fired) is not None and tick.reason is Reason.BACKFILL:
            backfill.fire(connection, row.id, Timeline.of(rules_of(row)), tick.first)
        if not made.backfill:
            backfill.withdraw(connection, row.id)
    ledger = [
        entry
        for row, made in plans
        for entry in _new_entries(connection, row, made, fired.get(row.id), node)
        if row.id not in repeated or entry["decision"] != Decision.FIRED
    ]
    if ledger:
        ticks.add(connection, ledger)
    for row, tick in fires:
        if row.id in repeated:
            ticks.note_retry(connection, row.id, tick.first, fired[row.id])
    return [
        AppliedPlan(row, fired.get(row.id), made.stop)
        for row, (_, made) in zip(after, plans, strict=True)
    ]


def _add_fired_jobs(
    connection: Connection,
    fires: Sequence[tuple[StoredSchedule, Ticks]],
    repeated: Mapping[int, JobId],
) -> dict[int, JobId]:
    """Create the jobs; `repeated`: the earlier, failed job of each time that is run again."""
    if not fires:
        return {}
    wanted = [
        {"id": row.id, "retry_of": repeated.get(row.id), **run_values(row, tick)}
        for row, tick in fires
    ]
    parameters = {
        "rows": writing.rows_as_json(connection, wanted),
        "ids": [row.id for row, _ in fires],
    }
    added = {row.schedule_id: JobId(row.id) for row in connection.execute(ADD_JOBS, parameters)}
    write_tags(connection, [(added[row.id], row) for row, _ in fires])
    return added


def write_tags(connection: Connection, added: Iterable[tuple[JobId, StoredSchedule]]) -> None:
    """Write the tags of new jobs of these schedules."""
    tagged = [(job_id, given) for job_id, row in added if (given := tags_of(row.tags))]
    if tagged:
        tags.write_each(connection, tagged)


def tags_of(stored: str | None) -> list[str]:
    """Return the tags of a schedule's jobs; none if they cannot be read, which must not keep other
    schedules from starting.
    """
    try:
        given = json.loads(stored or "[]")
    except (RecursionError, ValueError):
        return []
    is_list = isinstance(given, list) and all(isinstance(tag, str) for tag in given)
    return given if is_list else []


def run_values(row: StoredSchedule, tick: Ticks) -> dict[str, Any]:
    """Return the values of `ADD_JOBS` that differ between runs of a schedule."""
    runtime = rules_of(row).max_runtime
    return {
        "nominal": tick.first,
        "reason": tick.reason.value,
        "max_runtime": None if runtime is None else runtime.total_seconds(),
    }


def row_after(row: StoredSchedule, made: Plan, fired: JobId | None) -> StoredSchedule:
    """Return the row that a plan leads to; the caller has removed the token of a run that ended."""
    keeps_token = rules_of(row).overlap is not Overlap.ALLOW_ALL
    token = fired if fired is not None and keeps_token else row.run_token
    if token is None:
        state = ScheduleState.IDLE if made.disabled is None else ScheduleState.DISABLED
    elif made.stop is not None or (
        row.state == ScheduleState.TERMINATING and token == row.run_token
    ):
        state = ScheduleState.TERMINATING
    else:
        state = ScheduleState.EXECUTING
    return row._replace(
        state=state,
        run_token=token,
        started_at=None if token is None else row.now if fired is not None else row.started_at,
        enabled=made.disabled is None,
        disabled_reason=None if made.disabled is None else made.disabled.value,
        pause_note=None if made.disabled is None else row.pause_note,
        next_start=made.next_start,
        last_tick=made.last_tick,
        version=row.version + 1,
        skip_until=None if made.change is None else made.change.skip_until,
        skip_reason=None if made.change is None else made.change.reason.value,
        moved_start=None if made.change is None else made.change.start,
        backfill_next=made.backfill[0] if made.backfill else None,
        **statistics_values(made.statistics),
    )


def _new_entries(
    connection: Connection,
    row: StoredSchedule,
    made: Plan,
    fired: JobId | None,
    node: NodeId | None,
) -> list[dict[str, Any]]:
    """Return the ledger rows to insert; excluded times that continue a row only extend it."""
    entries: list[dict[str, Any]] = [
        {
            "schedule_id": row.id,
            "nominal_time": entry.first,
            "until": entry.last,
            "count": entry.count,
            "decision": entry.decision.value,
            "reason": entry.reason.value,
            "job_id": fired if entry.decision is Decision.FIRED else None,
            "decided_by": node,
        }
        for entry in made.ticks
    ]
    if not entries or entries[0]["reason"] != Reason.EXCLUDED or row.last_tick is None:
        return entries
    return entries[ticks.extend_excluded(connection, entries[0], row.last_tick) :]
