"""Why a schedule did or did not run at a moment: one reason, from what is stored about it.

The ledger answers for every nominal time that has been decided. For all other moments the reason
follows from the rules and the state of the schedule, by the same functions that `plan` uses, so
that the answer for a time that is still to come is what the plan will do if nothing changes.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from horae.domain.schedules.planning_state import ScheduleSnapshot
from horae.domain.schedules.schedule import DisabledReason, Rules
from horae.domain.schedules.skipping import reason_to_skip
from horae.domain.schedules.tick import Reason, Ticks
from horae.domain.schedules.timeline import Timeline
from horae.domain.times import MICROSECOND

_WINDOWS: Final = tuple(timedelta(hours=hours) for hours in (1, 24, 24 * 40, 24 * 400, 24 * 3_000))
"""How far back the nominal time before a moment is looked for, one after the other."""


class WhyKind(StrEnum):
    """What the answer is made of."""

    DECIDED = "decided"
    """A row of the ledger has the decision and its reason."""
    TO_COME = "to_come"
    """It is a time of the schedule, or a retry, that has not come yet."""
    WILL_BE_SKIPPED = "will_be_skipped"
    """Its turn comes, but no run will start: see `reason`."""
    WAIT_AFTER_CRASH = "wait_after_crash"
    """It comes during the wait after a crash, and is decided at `start`, when that ends."""
    RUN_IN_PROGRESS = "run_in_progress"
    """It came during a run that still executes, and is decided when that ends."""
    OVERDUE = "overdue"
    """It has come, and no node has decided it yet."""
    EVERYTHING_PAUSED = "everything_paused"
    """It has come, and all queues and schedules are paused."""
    DISABLED = "disabled"
    """The schedule is disabled: see `disabled`."""
    NOT_A_TIME = "not_a_time"
    """The expression does not name this moment: see `before` and `after`."""
    NO_FIXED_TIMES = "no_fixed_times"
    """The interval counts from the end of each run, so the schedule has no times of its own."""
    NOT_CREATED_YET = "not_created_yet"
    """The schedule did not exist."""
    OTHER_RULES = "other_rules"
    """The schedule had other times then, or was not enabled yet."""
    FORGOTTEN = "forgotten"
    """The ledger no longer goes back so far: it is deleted with the jobs of its runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownSchedule:
    """What is stored about a schedule, with the rows of the ledger around a moment.

    `at`: the row that stands for the moment, or else the last one that begins before it;
    `following`: the first one after it; `oldest`: the first nominal time in the ledger.
    `everything_paused`: whether all schedules are.
    """

    snapshot: ScheduleSnapshot
    created_at: datetime
    now: datetime
    everything_paused: bool = False
    oldest: datetime | None = None
    at: Ticks | None = None
    following: Ticks | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeExplanation:
    """The one reason.

    `ticks`: the row of the ledger that stands for the moment. `reason`: why it will be skipped.
    `start`: when a time that is due or to come starts, after its jitter, or is decided. `before`
    and `after`: the nearest times that the schedule has, or had.
    """

    kind: WhyKind
    moment: datetime
    ticks: Ticks | None = None
    reason: Reason | None = None
    disabled: DisabledReason | None = None
    start: datetime | None = None
    before: datetime | None = None
    after: datetime | None = None


def explain(known: KnownSchedule, moment: datetime) -> TimeExplanation:
    """Say why the schedule did or did not run at a moment, or whether it will."""
    at, snapshot = known.at, known.snapshot
    timeline = Timeline.of(snapshot.rules)
    # The times between the first and the last one of a row are those of the rules that held then;
    # where the rules have changed since, only the two are certain.
    if at is not None and (
        moment in {at.first, at.last}
        or (at.first < moment < at.last and _is_nominal(timeline, moment))
    ):
        return TimeExplanation(kind=WhyKind.DECIDED, moment=moment, ticks=at)
    if moment == snapshot.next_start and snapshot.disabled is None and not snapshot.executing:
        return _undecided(known, timeline, moment)
    if timeline.source is None:
        return _between_runs(known, moment)
    if not _is_nominal(timeline, moment):
        return _beside(known, timeline, moment)
    if snapshot.last_tick is not None and moment > snapshot.last_tick:
        return _undecided(known, timeline, moment)
    return _without_a_row(known, moment)


def latest_before(timeline: Timeline, moment: datetime) -> datetime | None:
    """Find the last nominal time before a moment, in the last eight years; None without one."""
    until = moment - MICROSECOND
    for window in _WINDOWS:
        if count := timeline.count(moment - window, until):
            return timeline.nth(moment - window, count, until)
    return None


def undecided(
    rules: Rules, last_tick: datetime | None, now: datetime
) -> tuple[datetime, datetime, int] | None:
    """Return the nominal times up to now without a decision: the first, the last, their number."""
    timeline = Timeline.of(rules)
    if last_tick is None or not (count := timeline.count(last_tick, now)):
        return None
    return timeline.nth(last_tick, 1, now), timeline.nth(last_tick, count, now), count


def _is_nominal(timeline: Timeline, moment: datetime) -> bool:
    return timeline.after(moment - MICROSECOND) == moment


def _undecided(known: KnownSchedule, timeline: Timeline, moment: datetime) -> TimeExplanation:
    """Explain a time after the watermark."""
    snapshot = known.snapshot
    if snapshot.disabled is not None:
        return TimeExplanation(kind=WhyKind.DISABLED, moment=moment, disabled=snapshot.disabled)
    if (reason := reason_to_skip(snapshot.rules, snapshot.change, moment)) is not None:
        return TimeExplanation(kind=WhyKind.WILL_BE_SKIPPED, moment=moment, reason=reason)
    planned = snapshot.next_start
    start = moment if moment == planned else timeline.start_of(moment)
    if planned is not None and not snapshot.executing and start < planned:
        kind, start = WhyKind.WAIT_AFTER_CRASH, planned
    elif start > known.now:
        kind = WhyKind.TO_COME
    elif snapshot.executing:
        kind = WhyKind.RUN_IN_PROGRESS
    else:
        kind = WhyKind.EVERYTHING_PAUSED if known.everything_paused else WhyKind.OVERDUE
    return TimeExplanation(kind=kind, moment=moment, start=start)


def _not_created_yet(known: KnownSchedule, moment: datetime) -> TimeExplanation:
    return TimeExplanation(kind=WhyKind.NOT_CREATED_YET, moment=moment, after=known.created_at)


def _without_a_row(known: KnownSchedule, moment: datetime) -> TimeExplanation:
    """Explain a time of the expression up to the watermark that the ledger does not know."""
    if moment <= known.created_at:
        return _not_created_yet(known, moment)
    disabled = known.snapshot.disabled
    if known.snapshot.last_tick is None and disabled is not None:
        return TimeExplanation(kind=WhyKind.DISABLED, moment=moment, disabled=disabled)
    is_forgotten = known.oldest is not None and moment < known.oldest
    kind = WhyKind.FORGOTTEN if is_forgotten else WhyKind.OTHER_RULES
    return TimeExplanation(kind=kind, moment=moment)


def _between_runs(known: KnownSchedule, moment: datetime) -> TimeExplanation:
    """Explain a moment of an interval that counts from the end of each run."""
    if moment <= known.created_at:
        return _not_created_yet(known, moment)
    before = None if known.at is None else known.at.last
    after = known.snapshot.next_start if known.following is None else known.following.first
    disabled = known.snapshot.disabled if after is None else None
    kind = WhyKind.NO_FIXED_TIMES if disabled is None else WhyKind.DISABLED
    return TimeExplanation(kind=kind, moment=moment, disabled=disabled, before=before, after=after)


def _beside(known: KnownSchedule, timeline: Timeline, moment: datetime) -> TimeExplanation:
    """Explain a moment that the expression does not name, by the times nearest to it.

    A row of the ledger may be nearer than the times of the expression: a run by hand, a retry, or
    a time of an earlier expression.
    """
    if moment < known.created_at:
        return _not_created_yet(known, moment)
    befores = [latest_before(timeline, moment), None if known.at is None else known.at.last]
    afters = [timeline.after(moment), None if known.following is None else known.following.first]
    earlier = [each for each in befores if each is not None and each < moment]
    later = [each for each in afters if each is not None and each > moment]
    return TimeExplanation(
        kind=WhyKind.NOT_A_TIME,
        moment=moment,
        before=max(earlier, default=None),
        after=min(later, default=None),
    )
