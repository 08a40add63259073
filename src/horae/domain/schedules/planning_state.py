"""The values that `plan` maps: the stored state of a schedule, an event, and the new state."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self, TypeAlias

from horae.domain.schedules.schedule import DisabledReason, Overlap, Rules
from horae.domain.schedules.statistics import RunOutcome, Statistics
from horae.domain.schedules.tick import Decision, Reason, Ticks


@dataclass(frozen=True, kw_only=True, slots=True)
class OneTimeChange:
    """A change of the next start that is made once; after it the schedule goes on by its rules.

    `reason` is `REQUESTED`: the nominal time `skip_until` is skipped. Or it is `REPLACED`: the next
    run begins at `start` instead of at the nominal times up to `skip_until`. `start` is None once
    that run has begun.
    """

    skip_until: datetime
    reason: Reason
    start: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleSnapshot:
    """The stored state of a schedule.

    `last_tick` is the watermark (see `tick.py`), None before the first activation. `started` is the
    start of the executing run, None if there is none, and always with `allow_all`. `disabled` is
    why no further run follows; it may be set while a run still executes. `change`: a change of the
    next start that is made once. `backfill`: the first two past nominal times that a caller wants
    to run and that have not been fired yet.
    """

    rules: Rules
    statistics: Statistics = field(default_factory=Statistics)
    last_tick: datetime | None = None
    next_start: datetime | None = None
    started: datetime | None = None
    disabled: DisabledReason | None = None
    change: OneTimeChange | None = None
    backfill: tuple[datetime, ...] = ()

    @property
    def executing(self) -> bool:
        """Return whether a run blocks further runs."""
        return self.started is not None and self.rules.overlap is not Overlap.ALLOW_ALL


@dataclass(frozen=True, slots=True)
class Activated:
    """The schedule was created, or its deployment went live (again).

    Missed times are not caught up.

    A schedule that is disabled for a reason of its own stays disabled.
    """


@dataclass(frozen=True, slots=True)
class Resumed:
    """A caller enabled the schedule. Clears its streaks; missed times are not caught up."""


@dataclass(frozen=True, slots=True)
class Altered:
    """The rules were replaced; the snapshot has the new ones already, `before` are the old ones."""

    before: Rules


@dataclass(frozen=True, slots=True)
class NextStartSet:
    """A caller set the next start, once; a moment in the past means now.

    For an interval counted from the finish this is its next nominal time. Otherwise the next run
    begins then, and the nominal times up to then, at least the next one, are skipped.
    """

    next_start: datetime


@dataclass(frozen=True, slots=True)
class SkipRequested:
    """A caller wants to skip the next nominal time; nothing changes if it is skipped already."""


@dataclass(frozen=True, slots=True)
class ChangeWithdrawn:
    """A caller takes back a one-time change of the next start."""


@dataclass(frozen=True, slots=True)
class BackfillChanged:
    """A caller wants past nominal times to be run, or no longer; the snapshot has the first of
    them, if any.
    """


@dataclass(frozen=True, slots=True)
class ClockSetBack:
    """The clock may have been set back, so that an interval waits for a time that the clock had
    shown before.
    """


@dataclass(frozen=True, slots=True)
class Due:
    """A scheduler found the next start due; the schedule may be idle or executing."""


@dataclass(frozen=True, slots=True)
class RunByHand:
    """A caller wants a run now, in addition to the schedule; refused (no `fire`) while another run
    executes.

    `decided`: the latest nominal time with a decision, at most `MAX_CLOCK_STEP_BACK` after now.
    """

    decided: datetime | None = None


@dataclass(frozen=True, slots=True)
class RunRetried:
    """A caller repeats an ended run, for the same nominal time; nothing changes while another run
    executes.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """A run has ended, at the `now` that becomes `last_finish`.

    `started`: when the run began to block others. `took`: how long its body ran, None if unknown.
    `others`: the number of other runs of the schedule that still execute (`allow_all`).
    `scheduler_started`: for a crash, the start of the scheduler that found it. `backfill`: the run
    was for a past nominal time, besides the schedule.
    """

    outcome: RunOutcome
    started: datetime
    by_hand: bool = False
    backfill: bool = False
    others: int = 0
    took: timedelta | None = None
    scheduler_started: datetime | None = None


StartChange: TypeAlias = NextStartSet | SkipRequested | ChangeWithdrawn | BackfillChanged
Event: TypeAlias = (
    Activated
    | Resumed
    | Altered
    | StartChange
    | ClockSetBack
    | Due
    | RunByHand
    | RunRetried
    | RunEnded
)


class Stop(StrEnum):
    """How the executing run is stopped to make way for the next one."""

    CANCEL = "cancel"
    TERMINATE = "terminate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The state to store in place of a snapshot, in one transaction.

    `ticks` are the new decisions, oldest first; for a time that was fired a job is created now.
    `stop` tells the executing run to end. `disabled` is None if the schedule is enabled. `change`
    and `backfill` are those of the snapshot after the event.
    """

    next_start: datetime | None
    last_tick: datetime | None
    statistics: Statistics
    ticks: tuple[Ticks, ...] = ()
    stop: Stop | None = None
    disabled: DisabledReason | None = None
    change: OneTimeChange | None = None
    backfill: tuple[datetime, ...] = ()

    @property
    def fired(self) -> Ticks | None:
        """The nominal time of the job to create now, with its decision."""
        return next((entry for entry in self.ticks if entry.decision is Decision.FIRED), None)

    @property
    def fire(self) -> datetime | None:
        """The nominal time of the job to create now."""
        return None if self.fired is None else self.fired.first

    @classmethod
    def unchanged(cls, snapshot: ScheduleSnapshot) -> Self:
        """Return the plan that leaves everything as it is."""
        return cls(
            next_start=snapshot.next_start,
            last_tick=snapshot.last_tick,
            statistics=snapshot.statistics,
            disabled=snapshot.disabled,
            change=snapshot.change,
            backfill=snapshot.backfill,
        )
