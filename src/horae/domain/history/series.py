"""A time as a row of equal steps, for a chart or a table."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from horae.domain.history.buckets import LENGTHS, Length, floor
from horae.domain.history.figures import Figures, Gauges, Named, merged

STEPS: Final = (
    *(10, 20, 30, 60, 120, 300, 600, 1200, 1800),
    *(3600, 7200, 14_400, 21_600, 43_200, 86_400),
)
"""The lengths of a step in seconds: those at which people would put the marks of an axis."""
FINEST: Final = timedelta(minutes=10)
"""The shortest time that is shown."""
LONGEST_SPAN: Final = timedelta(days=30)
MOST_POINTS: Final = 1000
"""Maximum number of steps of one answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time that is shown in steps.

    `step`: their length in seconds; `stored`: the length of the stored buckets that are read.
    """

    start: datetime
    until: datetime
    step: int
    stored: Length


@dataclass(frozen=True, slots=True)
class StepPart:
    """The figures of one stored bucket; None: they are not known, because others were busier."""

    start: datetime
    seconds: int
    figures: Figures | None


@dataclass(frozen=True, slots=True)
class Point:
    """One step. `seconds`: for how many of its seconds there are figures.

    `figures`: None for a gap: nobody recorded this time, or not these figures.
    """

    at: datetime
    seconds: int
    figures: Figures | None


def window_of(start: datetime, until: datetime, now: datetime, points: int) -> Window:
    """Return the window with the shortest steps of which at most `points` are needed, and for which
    there are buckets still.
    """
    age = (now - start).total_seconds()
    for step in STEPS:
        first = floor(start, step)
        usable = [each for each in LENGTHS if step % each.seconds == 0 and age <= each.kept]
        if usable and (until - first) <= points * timedelta(seconds=step):
            return Window(start=first, until=until, step=step, stored=usable[-1])
    return Window(start=floor(start, STEPS[-1]), until=until, step=STEPS[-1], stored=LENGTHS[-1])


def figures_of(parts: Named, name: str, everything: Figures) -> Figures | None:
    """Return the figures of a queue or a type in one bucket; None if they are not known."""
    if (found := parts.by_name.get(name)) is not None:
        return found
    if parts.other is not None:
        return None
    return Figures(gauges=None if everything.gauges is None else Gauges())


def points_of(parts: Iterable[StepPart], window: Window) -> list[Point]:
    """Return the steps of a window, the earliest first, with a point for each."""
    step = timedelta(seconds=window.step)
    count = -((window.start - window.until) // step)
    by_step: dict[int, list[StepPart]] = defaultdict(list)
    for part in parts:
        by_step[(part.start - window.start) // step].append(part)
    return [_point(window.start + n * step, by_step.get(n, ())) for n in range(count)]


def _point(at: datetime, parts: Sequence[StepPart]) -> Point:
    known = [part.figures for part in parts if part.figures is not None]
    seconds = sum(part.seconds for part in parts if part.figures is not None)
    return Point(at, seconds, merged(known) if known else None)
