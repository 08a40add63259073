"""Changes to schedules as functions of a Connection: each locks the row, plans and writes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection

from horae.client.schedules.definition import Definition, fields_of, is_outdated, restore
from horae.domain.cluster import partition_of
from horae.domain.schedules import (
    MAX_CLOCK_STEP_BACK,
    Activated,
    Altered,
    CronTrigger,
    DisabledReason,
    Event,
    NextStartSet,
    Overlap,
    Plan,
    Resumed,
    Rules,
    RunByHand,
)
from horae.errors import (
    InvalidRequest,
    ScheduleAlreadyExists,
    ScheduleDoesNotExist,
    ScheduleIsDeclared,
    ScheduleIsRunning,
)
from horae.storage.schedules import (
    AppliedPlan,
    StoredSchedule,
    UnreadableSchedule,
    deployments,
    plan_writing,
    reading,
    rules_of,
    snapshot_of,
    ticks,
    writing,
)
from horae.types import Registry

PutOutcome: TypeAlias = Literal["created", "changed", "unchanged"]
_COMPUTED_FROM: Final = ("rules", "job_type", "params")


def add(connection: Connection, wanted: Definition, *, enabled: bool = True) -> AppliedPlan:
    """Insert a schedule and plan its first start.

    Raises `ScheduleAlreadyExists`, and `CronSyntaxError` if it has none. A schedule that is
    declared in code may have no further times: that must not keep a program from starting.
    """
    partition = partition_of(wanted.rules.key)
    schedule_id = writing.add(connection, wanted.module, wanted.name, partition, wanted.columns)
    if schedule_id is None:
        raise ScheduleAlreadyExists(wanted.name)
    row = writing.lock(connection, [schedule_id])[0]
    if wanted.deployment_id is None:
        _refuse_if_over(wanted.rules, row.now)
    added = AppliedPlan(row)
    if enabled:
        inactive = row._replace(disabled_reason=DisabledReason.DEPLOYMENT_GONE)
        added = plan_writing.apply_event(connection, inactive, Activated())
    return _move(connection, added, wanted.next_start)


def alter_from(
    connection: Connection, seen: StoredSchedule, wanted: Definition
) -> AppliedPlan | None:
    """Change the definition of a schedule; return None if it was changed after it was read as
    `seen`.
    """
    row = lock(connection, seen.id)
    if any(getattr(row, name) != getattr(seen, name) for name in wanted.columns):
        return None
    if (row.trigger, row.timezone) != (wanted.rules.trigger.text, wanted.rules.trigger.timezone):
        _refuse_if_over(wanted.rules, row.now)
    return _move(connection, alter(connection, row, wanted), wanted.next_start)


def put(
    connection: Connection, wanted: Definition, *, enabled: bool | None
) -> tuple[AppliedPlan, PutOutcome]:
    """Add a schedule, or give the added one of this name this definition.

    Raises `ScheduleIsDeclared` if the only schedule of this name is declared by a module. `enabled`
    None leaves a paused schedule paused.
    """
    # Other callers may add and delete a schedule of this name meanwhile.
    for _ in range(5):
        found = reading.find(connection, wanted.name)
        rows = [] if found is None else writing.lock(connection, [found])
        if rows and rows[0].module:
            raise ScheduleIsDeclared(wanted.name, rows[0].module)
        if rows:
            return _put_on(connection, rows[0], wanted, enabled=enabled)
        try:
            return add(connection, wanted, enabled=enabled is not False), "created"
        except ScheduleAlreadyExists:
            # Another caller has just added it; it is found now unless it is deleted again.
            continue
    raise ScheduleAlreadyExists(wanted.name)


def _put_on(
    connection: Connection, row: StoredSchedule, wanted: Definition, *, enabled: bool | None
) -> tuple[AppliedPlan, PutOutcome]:
    decided = AppliedPlan(row)
    outcome: PutOutcome = "unchanged"
    before, after = fields_of(row._asdict()), fields_of(wanted.columns)
    if (before, row.job_type) != (after, wanted.job_type):
        if before["trigger"] != after["trigger"]:
            _refuse_if_over(wanted.rules, row.now)
        decided, outcome = alter(connection, row, wanted), "changed"
    elif is_outdated(row, wanted.computed):
        writing.set_computed(connection, row.id, wanted.computed)
        decided = AppliedPlan(writing.lock(connection, [row.id])[0])
    has_times_again = (
        row.disabled_reason == DisabledReason.EXHAUSTED and before["trigger"] != after["trigger"]
    )
    if not row.enabled and (enabled or (enabled is None and has_times_again)):
        decided, outcome = apply(connection, row.id, Resumed()), "changed"
    elif row.enabled and enabled is False:
        decided, outcome = pause(connection, row.id, None, DisabledReason.PAUSED), "changed"
    return decided, outcome


def reset(
    connection: Connection, reference: int | str, registry: Registry
) -> tuple[AppliedPlan, bool]:
    """Undo all changes of a declared schedule at run time; return whether there were any."""
    row = lock(connection, reference)
    if not row.module:
        raise InvalidRequest(
            f"schedule {row.name!r} was added at run time, so no module declares what it could have"
        )
    if row.overrides is None:
        return AppliedPlan(row), False
    return alter(connection, row, restore(row, registry)), True


def alter(connection: Connection, row: StoredSchedule, wanted: Definition) -> AppliedPlan:
    """Change the definition of a locked schedule; its next start stays if the new rules give the
    same times.

    Raises `ScheduleIsRunning` if several runs execute and the new rules allow only one.
    """
    try:
        before = rules_of(row)
    except UnreadableSchedule:
        before = None
    writing.redefine(connection, row.id, wanted.columns)
    changed = writing.lock(connection, [row.id])[0]
    if before is None:  # the former times of the schedule are unknown
        return plan_writing.apply_event(connection, changed, Resumed())
    # The policy `allow_all` keeps no executing run in the row, the others do.
    tracked = before.overlap is not Overlap.ALLOW_ALL
    tracks = wanted.rules.overlap is not Overlap.ALLOW_ALL
    if tracked and not tracks:
        changed = changed._replace(run_token=None, started_at=None)
    if tracks and not tracked and (live := reading.live_runs(connection, row.id)):
        if len(live) > 1:
            raise ScheduleIsRunning(row.name, live[-1][0])
        job_id, made = live[0]
        changed = changed._replace(run_token=job_id, started_at=made)
    return plan_writing.apply_event(connection, changed, Altered(before))


def _refuse_if_over(rules: Rules, now: datetime) -> None:
    if isinstance(rules.trigger, CronTrigger):
        rules.trigger.expression.refuse_if_over(now)


def _move(connection: Connection, decided: AppliedPlan, next_start: datetime | None) -> AppliedPlan:
    """Set the next start that the caller wants.

    Raises `ScheduleIsRunning` while the end of a run is going to set it.
    """
    row = decided.schedule
    if next_start is None:
        return decided
    if row.run_token is not None:
        raise ScheduleIsRunning(row.name, row.run_token)
    return plan_writing.apply_event(connection, row, NextStartSet(next_start))


def pause(
    connection: Connection, reference: int | str, note: str | None, reason: DisabledReason
) -> AppliedPlan:
    """Disable the schedule; an executing run continues."""
    row = lock(connection, reference)
    snapshot = snapshot_of(row)
    paused = replace(Plan.unchanged(snapshot), next_start=None, disabled=reason)
    return plan_writing.apply_plans(connection, [(row._replace(pause_note=note), paused)], None)[0]


def apply(connection: Connection, reference: int | str, event: Event) -> AppliedPlan:
    """Plan what follows from an event of a schedule, and carry it out."""
    return plan_writing.apply_event(connection, lock(connection, reference), event)


def set_computed(
    connection: Connection, seen: StoredSchedule, computed: Mapping[str, str | int | None]
) -> None:
    """Store what the application's code computes, unless the definition changed since `seen`."""
    rows = writing.lock(connection, [seen.id])
    if rows and all(getattr(rows[0], name) == getattr(seen, name) for name in _COMPUTED_FROM):
        writing.set_computed(connection, seen.id, computed)


def run_now(connection: Connection, reference: int | str) -> AppliedPlan:
    """Start a run in addition to the schedule.

    Raises `ScheduleIsRunning` if another one blocks it.
    """
    row = lock(connection, reference)
    latest = ticks.latest(connection, row.id, plan_writing.moment_of(row) + MAX_CLOCK_STEP_BACK)
    decided = plan_writing.apply_event(connection, row, RunByHand(latest))
    if decided.fired is None:
        raise ScheduleIsRunning(row.name, row.run_token or 0)
    return decided


def delete(connection: Connection, reference: int | str) -> StoredSchedule:
    """Delete a schedule and its ticks, unless a current deployment declares it; a running job
    continues.
    """
    row = lock(connection, reference)
    current = deployments.current(connection, row.module)
    if current is not None and current.id == row.deployment_id:
        raise ScheduleIsDeclared(row.name, row.module)
    writing.remove(connection, row.id)
    return row


def lock(connection: Connection, reference: int | str) -> StoredSchedule:
    """Return and lock the schedule of this id or name. Raises `ScheduleDoesNotExist`."""
    schedule_id = reading.find(connection, reference)
    rows = [] if schedule_id is None else writing.lock(connection, [schedule_id])
    if not rows:
        raise ScheduleDoesNotExist(reference, reading.similar_to(connection, reference))
    return rows[0]
