"""The history for charts and tables: of everything, of queues and of types."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from horae.domain.history import (
    FINEST,
    LENGTHS,
    LONGEST_SPAN,
    MOST_POINTS,
    Course,
    Figures,
    HistoryBucket,
    Named,
    Point,
    StoredBucket,
    Window,
    courses_of,
    figures_of,
    percentile,
    points_of,
    window_of,
)
from horae.domain.times import Duration, parse_duration
from horae.errors import DeploymentDoesNotExist, InvalidRequest
from horae.storage.engine import Reads
from horae.storage.history import HistoryProgress, writing
from horae.storage.operations import RecentDeployment, failures

RECENT: Final = timedelta(minutes=5)
"""The time from which the rate is taken that says how long a queue needs to drain."""
STALE_AFTER: Final = timedelta(minutes=2)
"""How old the last bucket may be if it is to say which queues are behind."""


class Scope(StrEnum):
    """Of what a series is."""

    EVERYTHING = "everything"
    QUEUE = "queue"
    TYPE = "type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A time in steps of `step_seconds`; `until`: the end of what has been recorded of it."""

    scope: Scope
    name: str | None
    start: datetime
    until: datetime
    step_seconds: int
    points: Sequence[Point]


STEP_FIGURES: Final = (
    "waiting",
    "lateness_seconds",
    "finished",
    "failed",
    "cancelled",
    "slots",
    "slots_used",
    "wait_p50_seconds",
    "wait_p95_seconds",
    "run_p50_seconds",
    "run_p95_seconds",
)
"""The names of the figures of a step, in JSON of the command line and in responses."""


def figures_of_step(point: Point) -> Mapping[str, Any]:
    """Return the figures of a step by their names; None for what was not recorded."""
    values: dict[str, Any] = dict.fromkeys(STEP_FIGURES)
    figures = point.figures
    if figures is not None:
        values |= {
            "finished": figures.finished,
            "failed": figures.failed,
            "cancelled": figures.cancelled,
            "wait_p50_seconds": percentile(figures.waits, 0.5),
            "wait_p95_seconds": percentile(figures.waits, 0.95),
            "run_p50_seconds": percentile(figures.runs, 0.5),
            "run_p95_seconds": percentile(figures.runs, 0.95),
        }
        if figures.gauges is not None:
            values |= {
                "waiting": figures.gauges.waiting,
                "lateness_seconds": figures.gauges.lateness,
                "slots": figures.gauges.slots,
                "slots_used": figures.gauges.slots_used,
            }
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCourse:
    """The course of one queue.

    `waiting`: the highest number of due jobs in each step, None for a gap; `slots`: those that it
    last had, None if unknown; `totals`: of the whole time; `recent`: of the last minutes;
    `behind_since`: None if it is not behind.
    """

    name: str
    waiting: Sequence[int | None]
    slots: int | None
    totals: Course
    recent: Course
    behind_since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCourse:
    """The course of one job type.

    `ended`: how many jobs ended in each step, None for a gap; `before`, `after`: the totals before
    and after the deployment that was asked for.
    """

    name: str
    ended: Sequence[int | None]
    totals: Course
    before: Course | None = None
    after: Course | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHistory:
    """The courses of all queues, by name.

    `complete`: none was left out because others are busier.
    """

    start: datetime
    until: datetime
    step_seconds: int
    complete: bool
    queues: Sequence[QueueCourse]


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeHistory:
    """The courses of all job types, by name."""

    start: datetime
    until: datetime
    step_seconds: int
    complete: bool
    deployment: RecentDeployment | None
    types: Sequence[TypeCourse]


def series(
    reads: Reads,
    scope: Scope,
    name: str | None,
    *,
    span: Duration | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    points: int = 400,
) -> Series:
    """Return the figures of a time: the last `span` (1 hour by default), or from `since`.

    Raises `InvalidRequest`, also for a time longer than 30 days.
    """
    if (name is None) != (scope is Scope.EVERYTHING):
        raise InvalidRequest(
            f"name: expected the name of the {scope.value}"
            if name is None
            else "name: expected a scope of `queue` or `type` with it"
        )
    found = reads.autocommit(writing.progress)
    start, end = _time(found.now, span, since, until)
    window = window_of(start, end, found.now, min(points, MOST_POINTS))
    beside = {Scope.QUEUE: "queues", Scope.TYPE: "types"}.get(scope, "everything")
    stored = _read(reads, found, window, beside, name)

    def figures(bucket: HistoryBucket) -> Figures | None:
        if name is None:
            return bucket.everything
        named = bucket.queues if scope is Scope.QUEUE else bucket.types
        return figures_of(named, name, bucket.everything)

    return Series(
        scope=scope,
        name=name,
        start=window.start,
        until=_recorded(stored, window),
        step_seconds=window.step,
        points=points_of(stored, figures, window),
    )


def of_queues(reads: Reads, span: Duration) -> QueueHistory:
    """Return the courses of all queues that had jobs in the last `span`.

    Raises `InvalidRequest`.
    """
    found, window, stored = _read_last(reads, span, "queues")
    until = _recorded(stored, window)
    names = _names(each.bucket.queues for each in stored)
    recent: Sequence[StoredBucket] = ()
    if found.reached is not None:  # whatever the lengths of the buckets of the window are
        start, end = found.reached - RECENT, found.reached
        recent = reads.autocommit(writing.read, LENGTHS[0], start, end, end, "queues")
    latest = courses_of(recent, _queues, names)
    is_fresh = found.reached is not None and found.now - found.reached <= STALE_AFTER
    courses = [
        QueueCourse(
            name=name,
            waiting=course.waiting,
            slots=course.slots,
            totals=course,
            recent=latest[name],
            behind_since=found.behind.get(name) if is_fresh else None,
        )
        for name, course in courses_of(stored, _queues, names, window).items()
    ]
    return QueueHistory(
        start=window.start,
        until=until,
        step_seconds=window.step,
        complete=all(each.bucket.queues.other is None for each in stored),
        queues=courses,
    )


def of_types(
    reads: Reads, span: Duration, deployment: str | None, known: Collection[str]
) -> TypeHistory:
    """Return the courses of all job types that had jobs in the last `span`, and of the known ones.

    `deployment`: the key of a deployment of the last 30 days; compares the last `span` before it
    with the first `span` after it. Raises `InvalidRequest` and `DeploymentDoesNotExist`.
    """
    found, window, stored = _read_last(reads, span, "types")
    chosen = None
    if deployment is not None:
        recent = reads.autocommit(failures.deployed, LONGEST_SPAN.total_seconds())
        chosen = next((each for each in recent if each.key == deployment), None)
        if chosen is None:
            raise DeploymentDoesNotExist(deployment)
    before: Sequence[StoredBucket] = ()
    after: Sequence[StoredBucket] = ()
    if chosen is not None:
        length = parse_duration("span", span)
        before = _compared(reads, found, chosen.at - length, chosen.at)
        after = _compared(reads, found, chosen.at, min(found.now, chosen.at + length))
    seen = _names(each.bucket.types for each in (*stored, *before, *after))
    names = sorted({*seen, *known})
    earlier, later = courses_of(before, _types, names), courses_of(after, _types, names)
    courses = [
        TypeCourse(
            name=name,
            ended=course.ended,
            totals=course,
            before=None if chosen is None else earlier[name],
            after=None if chosen is None else later[name],
        )
        for name, course in courses_of(stored, _types, names, window).items()
    ]
    return TypeHistory(
        start=window.start,
        until=_recorded(stored, window),
        step_seconds=window.step,
        complete=all(each.bucket.types.other is None for each in stored),
        deployment=chosen,
        types=courses,
    )


def _compared(
    reads: Reads, found: HistoryProgress, start: datetime, until: datetime
) -> list[StoredBucket]:
    """Return the buckets that lie wholly within a time."""
    if start >= until:
        return []
    # Short steps: one in which the deployment lies counts neither as before nor as after.
    window = window_of(start, until, found.now, 200)
    return [
        each
        for each in _read(reads, found, window, "types")
        if each.start >= start and each.start + timedelta(seconds=each.seconds) <= until
    ]


def _time(
    now: datetime, span: Duration | None, since: datetime | None, until: datetime | None
) -> tuple[datetime, datetime]:
    if since is None and until is None:
        length = parse_duration("span", timedelta(hours=1) if span is None else span)
        if not FINEST <= length <= LONGEST_SPAN:
            raise InvalidRequest("span: expected at least 10 minutes and at most 30 days")
        return now - length, now
    if since is None or span is not None:
        raise InvalidRequest("expected either `span`, or `from`, with or without `until`")
    end = min(now, until or now)
    if not timedelta() < end - since <= LONGEST_SPAN:
        raise InvalidRequest("from: expected a time before `until`, by at most 30 days")
    return since, end


def _read(
    reads: Reads, found: HistoryProgress, window: Window, beside: str, only: str | None = None
) -> list[StoredBucket]:
    if found.reached is None:
        return []
    return reads.autocommit(
        writing.read, window.stored, window.start, window.until, found.reached, beside, only
    )


def _read_last(
    reads: Reads, span: Duration, beside: str
) -> tuple[HistoryProgress, Window, list[StoredBucket]]:
    """Return the last `span` in a few steps. Raises `InvalidRequest`."""
    found = reads.autocommit(writing.progress)
    start, end = _time(found.now, span, None, None)
    window = window_of(start, end, found.now, 60)
    return found, window, _read(reads, found, window, beside)


def _recorded(stored: Sequence[StoredBucket], window: Window) -> datetime:
    """Return the end of the last bucket; the start of the window if there is none."""
    last = stored[-1] if stored else None
    return window.start if last is None else last.start + timedelta(seconds=last.seconds)


def _names(parts: Iterable[Named]) -> list[str]:
    return sorted({name for part in parts for name in part.by_name})


def _queues(bucket: HistoryBucket) -> Named:
    return bucket.queues


def _types(bucket: HistoryBucket) -> Named:
    return bucket.types
