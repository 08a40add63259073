"""The nominal times of a schedule that are run: those of its timeline that lie in no gap.

A gap is a stretch of time that an exclusion calendar, or a caller for once, keeps free of runs. The
nominal times in it are skipped when they come. Like those of a timeline, times are counted and not
listed: a gap of a year in a schedule of every second costs two counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from horae.domain.schedules.exclusion import Gap
from horae.domain.schedules.timeline import Timeline
from horae.domain.times import MICROSECOND


@dataclass(frozen=True, slots=True)
class RunTimes:
    """A timeline without the times in its gaps, which are disjoint and in order."""

    timeline: Timeline
    gaps: Sequence[Gap]

    def after(self, moment: datetime) -> datetime | None:
        """Find the first time strictly after a moment that is run; None if there is none."""
        found = self.timeline.after(moment)
        for gap in self.gaps:
            if found is None or found < gap.start:
                break
            if found < gap.end:
                found = self.timeline.after(gap.end - MICROSECOND)
        return found

    def due(self, mark: datetime, now: datetime) -> int:
        """Count the times after a mark that are run and are due by now."""
        count = self.timeline.due(mark, now)
        return self.count(mark, self.timeline.nth(mark, count, now)) if count else 0

    def count(self, after: datetime, until: datetime) -> int:
        """Count the times that are run with `after < time <= until`."""
        return sum(self.timeline.count(start, end) for start, end in self._between(after, until))

    def nth(self, after: datetime, index: int, until: datetime) -> datetime:
        """Find time number `index` (from 1) after a moment that is run; it must lie by `until`."""
        for start, end in self._between(after, until):
            if index <= (count := self.timeline.count(start, end)):
                return self.timeline.nth(start, index, end)
            index -= count
        return self.timeline.nth(after, index, until)

    def _between(self, after: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the ranges, each after its start and up to its end, that lie between the gaps."""
        for gap in self.gaps:
            if gap.end <= after:
                continue
            if gap.start > until:
                break
            if after < gap.start - MICROSECOND:
                yield after, gap.start - MICROSECOND
            after = max(after, gap.end - MICROSECOND)
        if after < until:
            yield after, until


Times: TypeAlias = Timeline | RunTimes


def run_times(timeline: Timeline, gaps: Sequence[Gap]) -> Times:
    """Return the times of a timeline that are run."""
    return RunTimes(timeline, gaps) if gaps else timeline
