"""Why a schedule did or did not run at a moment: the reason, and what was known around it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from horae.client.schedules.why_answer import ScheduleWhy, in_words
from horae.domain.jobs import JobId
from horae.domain.schedules import (
    Decision,
    DisabledReason,
    Reason,
    Ticks,
    Timeline,
)
from horae.domain.schedules.why import KnownSchedule, WhyKind, explain, latest_before
from horae.domain.times import MICROSECOND
from horae.storage.engine import Reads
from horae.storage.jobs import reading as job_reading
from horae.storage.nodes import nodes
from horae.storage.operations import ChangeEntry, ChangeFilter, change_log
from horae.storage.queues import everything
from horae.storage.schedules import (
    StoredSchedule,
    StoredTicks,
    rules_of,
    snapshot_of,
    ticks,
    waiting_reasons,
)

_NOT_RUN: Final = frozenset({Decision.COALESCED, Decision.SKIPPED, Decision.MISSED})
_LATE: Final = frozenset({Reason.LATE, Reason.CATCH_UP})
_BLOCKED: Final = frozenset({Reason.OVERLAP, Reason.BUFFERED})


def why_of(reads: Reads, row: StoredSchedule, moment: datetime | None) -> ScheduleWhy:
    """Explain a moment; by default the last time that the schedule had."""
    if moment is None:
        moment = _last_time(reads, row)
    found = reads.autocommit(ticks.around, row.id, moment)
    everything_paused = reads.autocommit(everything.read_pause)
    known = KnownSchedule(
        snapshot=snapshot_of(row),
        created_at=row.created_at,
        now=row.now,
        everything_paused=everything_paused is not None,
        oldest=found.oldest,
        at=None if found.at is None else _ticks_of(found.at),
        following=None if found.following is None else _ticks_of(found.following),
    )
    reason = explain(known, moment)
    entry = found.at if reason.kind is WhyKind.DECIDED else None
    answer = ScheduleWhy(
        schedule_id=row.id,
        name=row.name,
        timezone=row.timezone,
        moment=moment,
        kind=reason.kind,
        text="",
        disabled_reason=reason.disabled,
        note=None if reason.disabled is None else row.pause_note,
        start=reason.start,
        before=reason.before,
        after=reason.after,
        reason=reason.reason,
        blocked_by=row.run_token if reason.kind is WhyKind.RUN_IN_PROGRESS else None,
    )
    concerns_nodes = reason.kind in {WhyKind.OVERDUE, WhyKind.TO_COME}
    if entry is not None:
        concerns_nodes = entry.decision in _NOT_RUN or entry.reason in _LATE
        previous = found.previous_run if entry.reason in _BLOCKED else None
        answer = replace(
            answer,
            nominal_time=entry.nominal_time,
            until=entry.until,
            count=entry.count,
            decision=entry.decision,
            reason=entry.reason,
            decided_at=entry.decided_at,
            decided_by=entry.decided_by,
            job_id=entry.newest_job,
            blocked_by=None if previous is None else previous.newest_job,
        )
    if answer.job_id is not None:
        for job in reads.autocommit(job_reading.get_many, [JobId(answer.job_id)]):
            answer = replace(
                answer,
                job_state=job.state.value,
                job_error=job.human_readable_error,
                waiting_reason=reads.autocommit(waiting_reasons, [job.id]).get(job.id),
            )
    if reason.kind is WhyKind.EVERYTHING_PAUSED and everything_paused is not None:
        answer = replace(
            answer,
            paused_by=everything_paused.by,
            paused_at=everything_paused.since,
            note=everything_paused.note,
        )
    elif (pause := _pause_of(reads, row, reason.disabled, entry, moment)) is not None:
        after = pause.after if isinstance(pause.after, Mapping) else {}
        answer = replace(
            answer,
            paused_by=pause.actor,
            paused_at=pause.at,
            note=answer.note or pause.note or after.get("pause_note") or after.get("note"),
        )
    if concerns_nodes:
        then = reads.autocommit(nodes.up_at, moment)
        answer = replace(
            answer,
            nodes=then.up,
            no_node_from=None if then.up else then.left_before,
            no_node_until=None if then.up else then.came_after,
        )
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


def _pause_of(
    reads: Reads,
    row: StoredSchedule,
    disabled: DisabledReason | None,
    entry: StoredTicks | None,
    moment: datetime,
) -> ChangeEntry | None:
    """Return the change that paused the schedule or everything, if it was paused then."""
    is_paused = disabled is DisabledReason.PAUSED
    was_paused = entry is not None and entry.reason == Reason.PAUSED
    if is_paused or was_paused:
        until = row.now if is_paused else (moment if entry is None else entry.decided_at)
        which = ChangeFilter(targets=[str(row.id), row.name], actions=["schedule.pause"])
        return _last_change(reads, which, until)
    if entry is None or (entry.decision != Decision.MISSED and entry.reason not in _LATE):
        return None
    last = _last_change(reads, ChangeFilter(targets=["everything"]), moment)
    return None if last is None or last.action != everything.PAUSE_ACTION else last


def _last_change(reads: Reads, which: ChangeFilter, until: datetime) -> ChangeEntry | None:
    """Return the last change up to a moment that was made; the newest requests may be refused."""
    up_to = replace(which, until=until + MICROSECOND)
    found = reads.autocommit(change_log.page, up_to, before=None, limit=10)
    return next((each for each in found if each.outcome == "done"), None)
