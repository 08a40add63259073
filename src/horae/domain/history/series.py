"""A time as a row of equal steps, for a chart or a table."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from horae.domain.history.buckets import LENGTHS, Length, floor
from horae.domain.history.durations import percentile
from horae.domain.history.figures import Figures, Gauges, HistoryBucket, Named, merged

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
class StoredBucket:
    """A bucket of `seconds` from `start`."""

    start: datetime
    seconds: int
    bucket: HistoryBucket


@dataclass(slots=True)
class Course:
    """What became of one queue or type: step by step, and in the whole time.

    `waiting`: the highest number of due jobs in each step, and `ended`: how many jobs ended in it;
    None for a gap. `seconds`: for how many seconds there are figures; `slots`: those that were seen
    last.
    """

    waiting: list[int | None]
    ended: list[int | None]
    seconds: int = 0
    finished: int = 0
    failed: int = 0
    cancelled: int = 0
    waits: Counter[int] = field(default_factory=Counter[int])
    runs: Counter[int] = field(default_factory=Counter[int])
    slots: int | None = None

    def add(self, step: int | None, seconds: int, figures: Figures, gauges: Gauges | None) -> None:
        """Add the figures of a bucket; `step`: None if it counts for the whole time only."""
        self.seconds += seconds
        self.finished += figures.finished
        self.failed += figures.failed
        self.cancelled += figures.cancelled
        self.waits.update(figures.waits)
        self.runs.update(figures.runs)
        if step is not None:
            self.ended[step] = (self.ended[step] or 0) + figures.ended
        if gauges is not None:
            if step is not None:
                self.waiting[step] = max(self.waiting[step] or 0, gauges.waiting)
            self.slots = self.slots if gauges.slots is None else gauges.slots

    @property
    def per_minute(self) -> float | None:
        """How many jobs ended in a minute; None if the time was not recorded."""
        ended = self.finished + self.failed + self.cancelled
        return ended * 60 / self.seconds if self.seconds else None

    @property
    def wait_p50(self) -> float | None:
        """The median of the waits in seconds; None if there were none."""
        return percentile(self.waits, 0.5)

    @property
    def wait_p95(self) -> float | None:
        """Their 95th percentile."""
        return percentile(self.waits, 0.95)

    @property
    def run_p50(self) -> float | None:
        """The median of the durations in seconds; None if there were none."""
        return percentile(self.runs, 0.5)

    @property
    def run_p95(self) -> float | None:
        """Their 95th percentile."""
        return percentile(self.runs, 0.95)


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


def without_overlaps(buckets: Sequence[StoredBucket]) -> list[StoredBucket]:
    """Return the buckets without those that lie in a longer one, in the order of time."""
    lengths = sorted({each.seconds for each in buckets}, reverse=True)
    taken: dict[int, set[datetime]] = {length: set() for length in lengths}
    for each in buckets:
        taken[each.seconds].add(each.start)
    return sorted(
        (
            each
            for each in buckets
            if not any(
                floor(each.start, length) in taken[length]
                for length in lengths
                if length > each.seconds
            )
        ),
        key=lambda each: each.start,
    )


_NOTHING: Final = Figures()
_NONE_SEEN: Final = Gauges()


def courses_of(
    buckets: Sequence[StoredBucket],
    parts: Callable[[HistoryBucket], Named],
    names: Iterable[str],
    window: Window | None = None,
) -> dict[str, Course]:
    """Return the courses of queues, or of types, by their names, in the steps of a window.

    A list shows all names at once, so each figure is looked at once, and none is merged into a
    point of its own.
    """
    step = None if window is None else timedelta(seconds=window.step)
    count = 0 if window is None or step is None else -((window.start - window.until) // step)
    courses = {name: Course([None] * count, [None] * count) for name in names}
    for each in buckets:
        named = parts(each.bucket)
        at = None if window is None or step is None else (each.start - window.start) // step
        is_seen = each.bucket.everything.gauges is not None
        for name, course in courses.items():
            figures = named.by_name.get(name)
            if figures is not None:
                course.add(at, each.seconds, figures, figures.gauges)
            elif named.other is None:  # else it may be among those that are not named
                course.add(at, each.seconds, _NOTHING, _NONE_SEEN if is_seen else None)
    return courses


def points_of(
    buckets: Iterable[StoredBucket],
    figures: Callable[[HistoryBucket], Figures | None],
    window: Window,
) -> list[Point]:
    """Return the steps of a window, the earliest first, with a point for each.

    `figures`: those to show; None: they are not known, because others were busier.
    """
    step = timedelta(seconds=window.step)
    count = -((window.start - window.until) // step)
    by_step: dict[int, list[tuple[int, Figures]]] = defaultdict(list)
    for each in buckets:
        if (known := figures(each.bucket)) is not None:
            by_step[(each.start - window.start) // step].append((each.seconds, known))
    points: list[Point] = []
    for n in range(count):
        parts = by_step[n]
        whole = merged([part for _, part in parts]) if parts else None
        points.append(Point(window.start + n * step, sum(seconds for seconds, _ in parts), whole))
    return points
