"""The rules of the soak: each turns measured values into a verdict with its figure and its bound.

Growth is the slope of a line through all values after the warm-up, times the length of that time. The slope is the
median of the slopes between pairs of values (Theil and Sen), so that a short peak under a fault does not count.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from operator import itemgetter
from typing import Any, Final, Self

from benchmarks.figures import percentile
from benchmarks.soak.measures import Measures, Point, Series

LEAST_POINTS: Final = 6
"""Values that a slope needs."""
MOST_POINTS: Final = 300
"""Values that are compared in pairs; more are thinned out evenly."""
LEAST_SHARE: Final = 0.5
"""Share of the measured time for which there must be values of a figure; processes that were soon killed have fewer."""
OF_PROCESSES: Final = frozenset({"memory", "descriptors", "threads", "child processes"})
LEAST_JOBS: Final = 20
"""Jobs that a percentile needs."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much a figure may grow: by an absolute value or by a share of its median, whichever is more."""

    absolute: float
    share: float

    def at(self, median: float) -> float:
        return max(self.absolute, self.share * median)

    def times(self, factor: float) -> Self:
        return replace(self, absolute=self.absolute * factor, share=self.share * factor)


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The bounds of all rules."""

    growth: dict[str, Allowance] = field(
        default_factory=lambda: {
            "memory": Allowance(16, 0.1),
            "descriptors": Allowance(16, 0.1),
            "threads": Allowance(8, 0.1),
            "child processes": Allowance(3, 0.0),
            "rows": Allowance(100, 0.15),
            "dead rows": Allowance(5000, 0.5),
            "size": Allowance(4, 0.3),
            "files": Allowance(10, 0.1),
            "backlog": Allowance(60, 0.0),
        }
    )
    """By figure: MB for memory and size, else numbers."""
    median_pick_up: Allowance = Allowance(0.02, 1.0)
    """How much the median of the pick-up may grow, in seconds."""
    late_pick_up: Allowance = Allowance(0.25, 2.0)
    """The same for the 99th percentile."""
    least_rate: float = 0.75
    """The share of created jobs that end in the last third, compared with that in the first."""
    rescued_within: float = 15.0
    """Seconds from the death of a node until none of its jobs names it."""
    ends_within: float = 10.0
    """Seconds from SIGTERM until a node has ended: its grace period and five seconds."""
    drained_within: float = 90.0
    """Seconds from the end of the load until no job is open."""

    def with_patience(self, factor: float) -> Self:
        """Return the same with longer times, for a machine that is busy with other work."""
        return replace(
            self,
            median_pick_up=self.median_pick_up.times(factor),
            late_pick_up=self.late_pick_up.times(factor),
            rescued_within=self.rescued_within * factor,
            ends_within=self.ends_within * factor,
            drained_within=self.drained_within * factor,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one rule about one subject. `kept`: None if there were too few values to judge."""

    rule: str
    subject: str
    figure: str
    bound: str
    kept: bool | None

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "subject": self.subject,
            "figure": self.figure,
            "bound": self.bound,
            "kept": self.kept,
        }


@dataclass(frozen=True, slots=True)
class Window:
    """The measured part of a run: after the warm-up, until the load ended; in seconds since the begin."""

    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start

    def third(self, number: int) -> tuple[float, float]:
        """Return the bounds of the third with this number, from 0."""
        return self.start + number * self.length / 3, self.start + (number + 1) * self.length / 3


@dataclass(frozen=True, slots=True)
class PickUp:
    """How long one job waited until its body began: at what time since the begin of the run, and how many seconds."""

    at: float
    seconds: float


def slope(points: Sequence[Point]) -> float:
    """Return the median growth per second between pairs of points."""
    step = max(1, len(points) // MOST_POINTS)
    pairs = combinations(points[::step], 2)
    return statistics.median(
        (later.value - point.value) / (later.at - point.at) for point, later in pairs
    )


def growth(series: Series, window: Window, allowance: Allowance) -> Verdict:
    """Judge how much a figure grows over the window."""
    points = series.within(window.start, window.end)
    if series.figure in OF_PROCESSES:  # each process has a warm-up of its own
        points = [point for point in points if point.at >= series.points[0].at + window.start]
    lived = points[-1].at - points[0].at if points else 0.0
    rule = f"growth of {series.figure}"
    if len(points) < LEAST_POINTS or lived < LEAST_SHARE * window.length:
        return Verdict(
            rule, series.subject, f"{len(points)} values in {lived:.0f} s", "too few to judge", None
        )
    median = statistics.median(point.value for point in points)
    per_second = slope(points)
    grown, allowed = per_second * window.length, allowance.at(median)
    figure = f"{_short(median)}{_unit(series)} {grown:+.1f} ({per_second * 3600:+.0f} an hour)"
    return Verdict(
        rule, series.subject, figure, f"≤ +{_short(allowed)}{_unit(series)}", grown <= allowed
    )


def growths(
    measures: Measures, window: Window, bounds: Bounds, changes: dict[str, int]
) -> Iterator[Verdict]:
    """Judge all figures; `changes`: tables that keep one row for each change for good, and the changes made."""
    for figure, allowance in bounds.growth.items():
        for series in measures.of(figure):
            if figure == "rows" and series.subject in changes:
                yield at_most(series, changes[series.subject])
                continue
            verdict = growth(series, window, allowance)
            if verdict.kept is not None or figure not in OF_PROCESSES:
                yield verdict


def at_most(series: Series, rows: int) -> Verdict:
    """Judge whether a table has no more rows than changes were made."""
    latest = series.points[-1].value if series.points else 0
    return Verdict(
        "one row for each change", series.subject, _short(latest), f"≤ {rows}", latest <= rows
    )


def pick_ups(found: Sequence[PickUp], window: Window, bounds: Bounds) -> Iterator[Verdict]:
    """Compare how long jobs waited in the first and in the last third, outside of faults."""
    for name, share, allowance in (
        ("p50", 0.5, bounds.median_pick_up),
        ("p99", 0.99, bounds.late_pick_up),
    ):
        first, last = (_within(found, *window.third(number)) for number in (0, 2))
        rule, subject = "growth of pick-up", f"{name} without faults"
        if min(len(first), len(last)) < LEAST_JOBS:
            yield Verdict(
                rule, subject, f"{len(first)} and {len(last)} jobs", "too few to judge", None
            )
            continue
        before, after = percentile(first, share), percentile(last, share)
        allowed = before + allowance.at(before)
        figure = f"{before * 1000:.0f} ms, then {after * 1000:.0f} ms"
        yield Verdict(rule, subject, figure, f"≤ {allowed * 1000:.0f} ms", after <= allowed)


def rate(
    created: Sequence[float], ended: Sequence[float], window: Window, bounds: Bounds
) -> Verdict:
    """Compare which share of the created jobs ended at the time, in the first and in the last third.

    The load itself may slow down with the machine, so the rates alone would not tell whether the nodes keep up.
    """
    spans = window.third(0), window.third(2)
    came, went = (
        [sum(start <= at < end for at in moments) for start, end in spans]
        for moments in (created, ended)
    )
    first, last = (ends / max(1, starts) for starts, ends in zip(came, went, strict=True))
    seconds = window.length / 3
    figure = f"{went[0] / seconds:.1f}/s of {came[0] / seconds:.1f}/s, then {went[1] / seconds:.1f}/s of {came[1] / seconds:.1f}/s"
    allowed = bounds.least_rate * first
    return Verdict(
        "rate", "ended of created jobs", figure, f"≥ {allowed:.0%}", went[1] > 0 and last >= allowed
    )


def longest(rule: str, durations: Sequence[tuple[str, float]], bound: float) -> Verdict:
    """Judge the longest of some durations, each with its subject."""
    if not durations:
        return Verdict(rule, "", "none", f"≤ {bound:g} s", None)
    subject, worst = max(durations, key=itemgetter(1))
    median = percentile([seconds for _, seconds in durations], 0.5)
    figure = f"p50 {median:.2f} s, max {worst:.2f} s, of {len(durations)}"
    return Verdict(rule, subject, figure, f"≤ {bound:g} s", worst <= bound)


def none_of(rule: str, problems: Sequence[str]) -> Verdict:
    """Judge that a list of problems is empty; the figure has the first ones."""
    figure = "none" if not problems else f"{len(problems)}: {'; '.join(problems[:3])}"
    return Verdict(rule, "", figure, "none", not problems)


def _within(found: Sequence[PickUp], start: float, end: float) -> list[float]:
    return [each.seconds for each in found if start <= each.at < end]


def _unit(series: Series) -> str:
    return f" {series.unit}" if series.unit else ""


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
