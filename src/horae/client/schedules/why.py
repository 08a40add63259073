"""Why a schedule did or did not run at a moment: the reason, and what was known around it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from horae.client.schedules.why_answer import ScheduleWhy, in_words
from horae.domain.jobs import Job, JobId
from horae.domain.schedules import (
    MICROSECOND,
    Decision,
    DisabledReason,
    Reason,
    Ticks,
    Timeline,
)
from horae.domain.schedules.why import KnownSchedule, WhyKind, explain, latest_before
from horae.storage.engine import Reads
from horae.storage.jobs import reading as job_reading
from horae.storage.nodes import NodesThen, nodes
from horae.storage.operations import ChangeEntry, ChangeFilter, change_log
from horae.storage.queues import Pause, everything
from horae.storage.schedules import (
    LedgerRows,
    StoredSchedule,
    StoredTicks,
    change_of,
    rules_of,
    ticks,
    waiting_reasons,
)

_MOST_PAUSES: Final = 10
"""The number of requests for a pause that are read; the newest may have been refused."""
_NOT_RUN: Final = frozenset({Decision.COALESCED, Decision.SKIPPED, Decision.MISSED})


def why_of(reads: Reads, row: StoredSchedule, moment: datetime | None) -> ScheduleWhy:
    """Explain a moment; by default the last time that the schedule had."""
    rules = rules_of(row)
    if moment is None:
        moment = _last_time(reads, row)
    found = reads.autocommit(ticks.around, row.id, moment)
    everything_paused = reads.autocommit(everything.read_pause)
    known = KnownSchedule(
        rules=rules,
        created_at=row.created_at,
        now=row.now,
        last_tick=row.last_tick,
        next_start=row.next_start,
        executing=row.run_token is not None,
        disabled=None if row.disabled_reason is None else DisabledReason(row.disabled_reason),
        change=change_of(row),
        everything_paused=everything_paused is not None,
        oldest=found.oldest,
        at=None if found.at is None else _ticks_of(found.at),
        following=None if found.following is None else _ticks_of(found.following),
    )
    reason = explain(known, moment)
    entry = found.at if reason.kind is WhyKind.DECIDED else None
    job = _job_of(reads, entry)
    pause = _pause_of(reads, row, reason.disabled, entry, moment)
    lives = reads.autocommit(nodes.up_at, moment) if _concerns_nodes(reason.kind, entry) else None
    values: dict[str, Any] = {
        "schedule_id": row.id,
        "name": row.name,
        "timezone": row.timezone,
        "moment": moment,
        "kind": reason.kind,
        "disabled_reason": reason.disabled,
        "start": reason.start,
        "before": reason.before,
        "after": reason.after,
        "reason": reason.reason,
        "blocked_by": _blocked_by(row, reason.kind, entry, found),
        **_of_entry(entry),
        **_of_job(reads, entry, job),
        **_of_pause(row, reason.disabled, pause),
        **_of_everything(reason.kind, everything_paused),
        **_of_nodes(lives),
    }
    answer = ScheduleWhy(**values, text="")
    return replace(answer, text=in_words(answer, row.now))


def _last_time(reads: Reads, row: StoredSchedule) -> datetime:
    """Return the last time that a schedule had; without one its next start, or now."""
    nominal = latest_before(Timeline.of(rules_of(row)), row.now + MICROSECOND)
    if nominal is not None and nominal > row.created_at:
        return nominal
    newest = reads.autocommit(ticks.around, row.id, row.now).at
    if newest is not None:
        return newest.nominal_time
    return row.next_start or row.now


def _ticks_of(entry: StoredTicks) -> Ticks:
    return Ticks(
        entry.nominal_time,
        entry.until,
        entry.count,
        Decision(entry.decision),
        Reason(entry.reason),
    )


def _job_of(reads: Reads, entry: StoredTicks | None) -> Job | None:
    if entry is None or entry.newest_job is None:
        return None
    found = reads.autocommit(job_reading.get_many, [JobId(entry.newest_job)])
    return found[0] if found else None


def _pause_of(
    reads: Reads,
    row: StoredSchedule,
    disabled: DisabledReason | None,
    entry: StoredTicks | None,
    moment: datetime,
) -> ChangeEntry | None:
    """Return the change that paused the schedule, if the moment fell into a pause."""
    is_paused = disabled is DisabledReason.PAUSED
    was_paused = entry is not None and entry.reason == Reason.PAUSED
    if not is_paused and not was_paused:
        return None
    until = row.now if is_paused else (moment if entry is None else entry.decided_at)
    which = ChangeFilter(
        targets=[str(row.id), row.name], actions=["schedule.pause"], until=until + MICROSECOND
    )
    found = reads.autocommit(change_log.page, which, before=None, limit=_MOST_PAUSES)
    return next((each for each in found if each.outcome == "done"), None)


def _concerns_nodes(kind: WhyKind, entry: StoredTicks | None) -> bool:
    """Return whether the answer depends on the nodes that were up."""
    if entry is None:
        return kind in {WhyKind.OVERDUE, WhyKind.TO_COME}
    is_late = entry.reason in {Reason.LATE, Reason.CATCH_UP}
    return entry.decision in _NOT_RUN or is_late


def _blocked_by(
    row: StoredSchedule, kind: WhyKind, entry: StoredTicks | None, found: LedgerRows
) -> int | None:
    """Return the job of the run that was in progress at a time."""
    if kind is WhyKind.RUN_IN_PROGRESS:
        return row.run_token
    overlapped = entry is not None and entry.reason in {Reason.OVERLAP, Reason.BUFFERED}
    previous = found.previous_run
    return previous.newest_job if overlapped and previous is not None else None


def _of_entry(entry: StoredTicks | None) -> Mapping[str, Any]:
    if entry is None:
        return {}
    return {
        "nominal_time": entry.nominal_time,
        "until": entry.until,
        "count": entry.count,
        "decision": entry.decision,
        "reason": entry.reason,
        "decided_at": entry.decided_at,
        "decided_by": entry.decided_by,
        "job_id": entry.newest_job,
    }


def _of_job(reads: Reads, entry: StoredTicks | None, job: Job | None) -> Mapping[str, Any]:
    if job is None or entry is None:
        return {}
    reasons = reads.autocommit(waiting_reasons, [job.id])
    return {
        "job_state": job.state.value,
        "job_error": job.human_readable_error,
        "waiting_reason": reasons.get(job.id),
    }


def _of_pause(
    row: StoredSchedule, disabled: DisabledReason | None, pause: ChangeEntry | None
) -> Mapping[str, Any]:
    note = row.pause_note if disabled is not None else None
    if pause is None:
        return {"note": note}
    after = pause.after if isinstance(pause.after, Mapping) else {}
    return {
        "paused_by": pause.actor,
        "paused_at": pause.at,
        "note": note or pause.note or after.get("pause_note"),
    }


def _of_everything(kind: WhyKind, pause: Pause | None) -> Mapping[str, Any]:
    if kind is not WhyKind.EVERYTHING_PAUSED or pause is None:
        return {}
    return {"paused_by": pause.by, "paused_at": pause.since, "note": pause.note}


def _of_nodes(then: NodesThen | None) -> Mapping[str, Any]:
    if then is None:
        return {}
    if then.up:
        return {"nodes": then.up}
    return {"no_node_from": then.left_before, "no_node_until": then.came_after}
