"""Where a schedule stands, what can happen to it, and what is to be stored then: values around `plan`."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self, TypeAlias

from horae.domain.schedules.schedule import DisabledReason, Overlap, Rules
from horae.domain.schedules.statistics import RunOutcome, Statistics
from horae.domain.schedules.tick import Ticks


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleSnapshot:
    """What is stored about a schedule.

    `last_tick` is the watermark (see `tick.py`), None before the first activation. `started` is the
    start of the run that is going on, None if it is idle, and always with `allow_all`. `disabled` is
    why no run is to follow, also while one still goes on.
    """

    rules: Rules
    statistics: Statistics = field(default_factory=Statistics)
    last_tick: datetime | None = None
    next_start: datetime | None = None
    started: datetime | None = None
    disabled: DisabledReason | None = None

    @property
    def executing(self) -> bool:
        """Whether a run keeps others from starting."""
        return self.started is not None and self.rules.overlap is not Overlap.ALLOW_ALL


@dataclass(frozen=True, slots=True)
class Activated:
    """It was created, or its deployment went live (again). Nothing is made up for.

    A schedule that is disabled for a reason of its own stays disabled.
    """


@dataclass(frozen=True, slots=True)
class Resumed:
    """Somebody enabled it, whatever had disabled it. Clears its streaks; nothing is made up for."""


@dataclass(frozen=True, slots=True)
class Altered:
    """Its rules were replaced; the snapshot has the new ones already."""

    before: Rules


@dataclass(frozen=True, slots=True)
class NextStartSet:
    """Somebody says when an interval counted from the finish is to start next; a moment that is over means now."""

    next_start: datetime


@dataclass(frozen=True, slots=True)
class Due:
    """A scheduler believes that its next start has come, whether it is idle or executing."""


@dataclass(frozen=True, slots=True)
class RunByHand:
    """Somebody wants a run now, besides the schedule; refused (no `fire`) while another executes.

    `decided`: the latest nominal time that has a decision, up to `MAX_CLOCK_STEP_BACK` from now.
    """

    decided: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """A run has ended, at the `now` that becomes `last_finish`.

    `started` is the run's start, from which on others were kept waiting; `took` how long its body
    ran, None if that is not known; `others` how many other runs of the schedule go on (`allow_all`).
    A crash names the start of the scheduler that found it.
    """

    outcome: RunOutcome
    started: datetime
    by_hand: bool = False
    others: int = 0
    took: timedelta | None = None
    scheduler_started: datetime | None = None


Change: TypeAlias = Activated | Resumed | Altered | NextStartSet
Event: TypeAlias = Change | Due | RunByHand | RunEnded


class Stop(StrEnum):
    """How a run is to be stopped for the sake of the next one."""

    CANCEL = "cancel"
    TERMINATE = "terminate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is to be stored in place of a snapshot, in one transaction.

    `ticks` are the new decisions, oldest first, among them that of `fire`, the nominal time of the
    job to make now. `stop` orders the run that is going on to end. `disabled` is None if it is enabled.
    """

    next_start: datetime | None
    last_tick: datetime | None
    statistics: Statistics
    ticks: tuple[Ticks, ...] = ()
    fire: datetime | None = None
    stop: Stop | None = None
    disabled: DisabledReason | None = None

    @classmethod
    def unchanged(cls, snapshot: ScheduleSnapshot) -> Self:
        """Leave everything as it is."""
        return cls(
            next_start=snapshot.next_start,
            last_tick=snapshot.last_tick,
            statistics=snapshot.statistics,
            disabled=snapshot.disabled,
        )

    def unless_exhausted(self) -> Self:
        """End the schedule if nothing is to come; for one that does not execute."""
        if self.next_start is not None or self.disabled is not None:
            return self
        return replace(self, disabled=DisabledReason.EXHAUSTED)
