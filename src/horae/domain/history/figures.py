"""The figures of one bucket, and how figures are merged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self

from horae.domain.history.durations import Durations, added

MOST_NAMES: Final = 100
"""Maximum number of queues, and of types, that one bucket names: the busiest."""
BEHIND_AFTER: Final = 30.0
"""Seconds: a queue is behind while its oldest job that may start has waited for so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """What was seen at the end of a bucket; merged over a time, the highest of each.

    `waiting`: due jobs; `lateness`: for how many seconds the oldest one that may start has been
    due; `slots`: slots of the living nodes for them, None if nobody looked; `slots_used`: jobs that
    nodes hold.
    """

    waiting: int = 0
    lateness: float = 0.0
    slots: int | None = None
    slots_used: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What happened in a time to the jobs of one queue, of one type, or to all.

    `finished`, `failed`, `cancelled`: how many jobs ended so; `waits`: from due to started, and
    `runs`: from started to ended, of those that began, and empty for a queue; `gauges`: None if
    nobody looked.
    """

    finished: int = 0
    failed: int = 0
    cancelled: int = 0
    waits: Durations = field(default_factory=dict[int, int])
    runs: Durations = field(default_factory=dict[int, int])
    gauges: Gauges | None = None

    @property
    def ended(self) -> int:
        """The number of jobs that ended."""
        return self.finished + self.failed + self.cancelled

    def as_json(self) -> dict[str, Any]:
        """Return what is stored; zeros are left out."""
        stored: dict[str, Any] = {
            "finished": self.finished,
            "failed": self.failed,
            "cancelled": self.cancelled,
            "waits": [[*each] for each in sorted(self.waits.items())],
            "runs": [[*each] for each in sorted(self.runs.items())],
        }
        if (seen := self.gauges) is not None:
            late = round(seen.lateness, 3)
            stored["gauges"] = [seen.waiting, late, seen.slots, seen.slots_used]
        return {name: value for name, value in stored.items() if value}

    @classmethod
    def from_json(cls, stored: Any) -> Self:
        """Return stored figures; raises LookupError, TypeError or ValueError for anything else."""
        gauges = None
        if (seen := stored.get("gauges")) is not None:
            waiting, lateness, slots, used = seen
            gauges = Gauges(
                waiting=int(waiting),
                lateness=float(lateness),
                slots=None if slots is None else int(slots),
                slots_used=int(used),
            )
        return cls(
            finished=int(stored.get("finished", 0)),
            failed=int(stored.get("failed", 0)),
            cancelled=int(stored.get("cancelled", 0)),
            waits=_durations(stored.get("waits")),
            runs=_durations(stored.get("runs")),
            gauges=gauges,
        )


def _durations(stored: Any) -> Durations:
    return {int(slot): int(count) for slot, count in stored} if stored else {}


@dataclass(frozen=True, slots=True)
class Named:
    """Figures by the names of queues or of types; `other`: of those that are not named, if any.

    A name that is missing while nothing is counted as other had no jobs.
    """

    by_name: Mapping[str, Figures]
    other: Figures | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what is stored."""
        names = {name: figures.as_json() for name, figures in self.by_name.items()}
        return {"names": names} | ({} if self.other is None else {"other": self.other.as_json()})

    @classmethod
    def from_json(cls, stored: Any, only: str | None = None) -> Self:
        """Return stored figures, or those of one name only.

        Raises LookupError, TypeError or ValueError for anything else.
        """
        other = stored.get("other")
        names = stored["names"]
        if only is not None:
            found = names.get(only)
            names = {} if found is None else {only: found}
        return cls(
            {name: Figures.from_json(each) for name, each in names.items()},
            None if other is None else Figures.from_json(other),
        )


@dataclass(frozen=True, slots=True)
class HistoryBucket:
    """The figures of one time."""

    everything: Figures
    queues: Named
    types: Named


@dataclass(frozen=True, slots=True)
class Ended:
    """What ended in a bucket: of all jobs, by queue and by type."""

    everything: Figures
    queues: Mapping[str, Figures]
    types: Mapping[str, Figures]


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen at the end of a bucket: of all jobs, by queue and by type."""

    everything: Gauges
    queues: Mapping[str, Gauges]
    types: Mapping[str, Gauges]


def bucket_of(ended: Ended, seen: Seen | None) -> HistoryBucket:
    """Return the bucket in which this ended and was seen; `seen`: None if nobody looked."""
    if seen is None:
        return HistoryBucket(
            ended.everything, busiest(Named(ended.queues)), busiest(Named(ended.types))
        )

    def together(figures: Mapping[str, Figures], gauges: Mapping[str, Gauges]) -> Named:
        names = sorted({*figures, *gauges})
        return busiest(
            Named(
                {
                    name: replace(figures.get(name, Figures()), gauges=gauges.get(name, Gauges()))
                    for name in names
                }
            )
        )

    return HistoryBucket(
        replace(ended.everything, gauges=seen.everything),
        together(ended.queues, seen.queues),
        together(ended.types, seen.types),
    )


def merged(parts: Sequence[Figures]) -> Figures:
    """Return the figures of consecutive times as those of one time."""
    return _combined(parts, max)


def all_together(parts: Sequence[Figures]) -> Figures:
    """Return the figures of several queues, or types, at one time as those of one."""
    return _combined(parts, sum)


def _combined(parts: Sequence[Figures], combine: Callable[[Iterable[int]], int]) -> Figures:
    """Return figures as one; `combine`: makes one number of the jobs that were seen in each."""
    seen = [each.gauges for each in parts if each.gauges is not None]
    gauges = None
    if seen:
        gauges = Gauges(
            waiting=combine(each.waiting for each in seen),
            lateness=max(each.lateness for each in seen),
            # A slot that serves several queues or types is one slot.
            slots=max((each.slots for each in seen if each.slots is not None), default=None),
            slots_used=combine(each.slots_used for each in seen),
        )
    return Figures(
        finished=sum(each.finished for each in parts),
        failed=sum(each.failed for each in parts),
        cancelled=sum(each.cancelled for each in parts),
        waits=added(each.waits for each in parts),
        runs=added(each.runs for each in parts),
        gauges=gauges,
    )


def busiest(parts: Named, most: int = MOST_NAMES) -> Named:
    """Name the busiest only, and count the others together."""
    if len(parts.by_name) <= most:
        return parts

    def activity(name: str) -> tuple[int, str]:
        figures = parts.by_name[name]
        seen = figures.gauges or Gauges()
        return -(figures.ended + seen.waiting + seen.slots_used), name

    order = sorted(parts.by_name, key=activity)
    rest = [parts.by_name[name] for name in order[most:]]
    if parts.other is not None:
        rest.append(parts.other)
    return Named({name: parts.by_name[name] for name in order[:most]}, all_together(rest))


def merged_buckets(buckets: Sequence[HistoryBucket]) -> HistoryBucket:
    """Return consecutive buckets as one."""
    return HistoryBucket(
        merged([each.everything for each in buckets]),
        _merged_names([each.queues for each in buckets]),
        _merged_names([each.types for each in buckets]),
    )


def _merged_names(parts: Sequence[Named]) -> Named:
    names = sorted({name for part in parts for name in part.by_name})
    others = [part.other for part in parts if part.other is not None]
    return busiest(
        Named(
            {
                name: merged([part.by_name[name] for part in parts if name in part.by_name])
                for name in names
            },
            merged(others) if others else None,
        )
    )


def behind_since(
    before: Mapping[str, datetime], queues: Mapping[str, Figures], at: datetime
) -> dict[str, datetime]:
    """Return since when each queue has been behind, of those that are at the moment `at`.

    A queue falls behind when the oldest job that still waits became due.
    """
    found: dict[str, datetime] = {}
    for name, figures in queues.items():
        if figures.gauges is not None and figures.gauges.lateness >= BEHIND_AFTER:
            fell = at - timedelta(seconds=figures.gauges.lateness)
            found[name] = min(before.get(name, fell), fell)
    return found
