"""Compares two forecasts: which runs a change of the schedules adds, moves or drops."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from horae.domain.forecast.result import Forecast, PlannedRun, ScheduleForecast


class Effect(StrEnum):
    """The effect of a change on one run."""

    ADDED = "added"
    MOVED = "moved"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class RunChange:
    """A run that a change adds, moves or drops: when it is due before and after the change."""

    effect: Effect
    before: datetime | None
    after: datetime | None

    @property
    def moment(self) -> datetime:
        """The moment by which changes are sorted."""
        moment = self.before or self.after
        assert moment is not None  # noqa: S101 - one of them is set
        return moment


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleComparison:
    """The difference for one schedule; `changes` are its runs that differ, oldest first.

    `texts`: how its definition differs, such as `trigger: 0 3 * * * → 0 4 * * *`. `same`: how many
    runs stay.
    """

    name: str
    texts: tuple[str, ...] = ()
    changes: tuple[RunChange, ...] = ()
    same: int = 0

    def count(self, effect: Effect) -> int:
        """Count the runs with this effect."""
        return sum(change.effect is effect for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two forecasts of the same period, and the schedules that differ, by definition or by their
    runs.
    """

    before: Forecast
    after: Forecast
    schedules: tuple[ScheduleComparison, ...]

    @property
    def different(self) -> bool:
        """Whether any run is added, moved or dropped."""
        return any(schedule.changes for schedule in self.schedules)

    def count(self, effect: Effect) -> int:
        """Count the runs of all schedules with this effect."""
        return sum(schedule.count(effect) for schedule in self.schedules)


def compare(before: Forecast, after: Forecast, texts: Mapping[str, Sequence[str]]) -> Comparison:
    """Compare two forecasts that list all their runs; `texts` tells how definitions differ, by
    name.
    """
    earlier = {schedule.name: schedule for schedule in before.schedules}
    later = {schedule.name: schedule for schedule in after.schedules}
    found: list[ScheduleComparison] = []
    for name in sorted(earlier.keys() | later.keys()):
        old, new = _runs(earlier.get(name)), _runs(later.get(name))
        changes = tuple(sorted(_changes(old, new), key=lambda change: change.moment))
        if changes or name in texts:
            same = len(new) - sum(change.effect is not Effect.DROPPED for change in changes)
            found.append(
                ScheduleComparison(
                    name=name, texts=tuple(texts.get(name, ())), changes=changes, same=same
                )
            )
    return Comparison(before=before, after=after, schedules=tuple(found))


def _runs(schedule: ScheduleForecast | None) -> Sequence[PlannedRun]:
    return () if schedule is None else schedule.runs


def _changes(before: Sequence[PlannedRun], after: Sequence[PlannedRun]) -> Iterator[RunChange]:
    """Yield the differences of two lists of runs.

    A run with the same nominal time is the same one, and moved if it is due at another moment. Of
    the others, a dropped and an added run are one that is moved if each is the nearest to the
    other.
    """
    later = {run.nominal: run.due for run in after}
    nominals = {run.nominal for run in before}
    for run in before:
        if (due := later.get(run.nominal)) is not None and due != run.due:
            yield RunChange(Effect.MOVED, run.due, due)
    dropped = sorted(run.due for run in before if run.nominal not in later)
    added = sorted(run.due for run in after if run.nominal not in nominals)
    moved = dict(_pairs(dropped, added))
    yield from (RunChange(Effect.MOVED, old, new) for old, new in moved.items())
    yield from (
        RunChange(Effect.DROPPED, moment, None) for moment in dropped if moment not in moved
    )
    arrived = set(moved.values())
    yield from (RunChange(Effect.ADDED, None, moment) for moment in added if moment not in arrived)


def _pairs(
    dropped: Sequence[datetime], added: Sequence[datetime]
) -> Iterator[tuple[datetime, datetime]]:
    """Pair those that are nearest to each other; of two at the same distance, a run is moved to the
    later moment.
    """
    for moment in dropped:
        near = _nearest(added, moment, later=True)
        if near is not None and _nearest(dropped, near, later=False) == moment:
            yield moment, near


def _nearest(moments: Sequence[datetime], moment: datetime, *, later: bool) -> datetime | None:
    at = bisect_left(moments, moment)
    before, after = moments[at - 1] if at else None, moments[at] if at < len(moments) else None
    if before is None or after is None:
        return before or after
    if after - moment == moment - before:
        return after if later else before
    return after if after - moment < moment - before else before
