"""Decides each nominal time of a schedule: exactly one decision, with its reason.

A decision is `fired`, `coalesced` (another run replaces it), `skipped` (it was not meant to run) or
`missed` (it should have run, but no node could run it). Consecutive times with the same decision
are one `Ticks` with a count, so that a fast schedule after a long outage is one row.

`last_tick` of a schedule is a watermark: every nominal time up to it has a decision, no later one
has. Of the times that are due the oldest are dropped and the newest kept, so that one moment is
enough as a watermark; a kept time fires later, in its turn.

- `judge_late` decides times that passed while no node could run them, by `catch_up`.
- `judge_overlapped` decides times that came due while a run was executing, by `overlap`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from horae.domain.schedules.run_times import Times
from horae.domain.schedules.schedule import CatchUp, Overlap, Rules
from horae.domain.schedules.timeline import Timeline

ON_TIME_WITHIN: Final = timedelta(seconds=30)
"""A start this late still counts as on time; longer than it takes to detect a dead node."""


class Decision(StrEnum):
    """What was decided about a nominal time."""

    FIRED = "fired"
    COALESCED = "coalesced"
    SKIPPED = "skipped"
    MISSED = "missed"


class Reason(StrEnum):
    """The reason of a decision."""

    ON_TIME = "on_time"
    LATE = "late"
    CATCH_UP = "catch_up"
    BUFFERED = "buffered"
    BACKFILL = "backfill"
    MOVED = "moved"
    RETRY = "retry"
    MANUAL = "manual"
    OVERLAP = "overlap"
    LIMIT = "limit"
    WINDOW = "window"
    CATCH_UP_NONE = "catch_up_none"
    PAUSED = "paused"
    ALTERED = "altered"
    EXCLUDED = "excluded"
    REQUESTED = "requested"
    REPLACED = "replaced"
    DEPLOYMENT_GONE = "deployment_gone"


REASONS: Final = {
    Decision.FIRED: frozenset(
        {
            Reason.ON_TIME,
            Reason.LATE,
            Reason.CATCH_UP,
            Reason.BUFFERED,
            Reason.RETRY,
            Reason.MANUAL,
            Reason.BACKFILL,
            Reason.MOVED,
        }
    ),
    Decision.COALESCED: frozenset({Reason.LATE, Reason.CATCH_UP, Reason.OVERLAP}),
    Decision.SKIPPED: frozenset(
        {
            Reason.OVERLAP,
            Reason.PAUSED,
            Reason.ALTERED,
            Reason.DEPLOYMENT_GONE,
            Reason.EXCLUDED,
            Reason.REQUESTED,
            Reason.REPLACED,
        }
    ),
    Decision.MISSED: frozenset({Reason.LIMIT, Reason.WINDOW, Reason.CATCH_UP_NONE}),
}
"""The reasons that each decision may have."""


OF_THEIR_OWN: Final = frozenset({Reason.MANUAL, Reason.RETRY, Reason.MOVED})
"""The reasons of runs at times of their own, which are no nominal times of the trigger."""
BESIDE: Final = OF_THEIR_OWN | {Reason.BACKFILL}
"""The reasons of rows that may lie between the times of another row, such as that of a pause."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """`count` nominal times in a row, from `first` to `last`, with one decision."""

    first: datetime
    last: datetime
    count: int
    decision: Decision
    reason: Reason

    @classmethod
    def fired(cls, nominal: datetime, reason: Reason) -> "Ticks":
        """Return the decision that one nominal time runs now."""
        return cls(nominal, nominal, 1, Decision.FIRED, reason)


class Judgement(NamedTuple):
    """The times due, oldest first: the dropped ones, and the number of those kept to run."""

    dropped: tuple[Ticks, ...]
    kept: int

    def mark_after(self, mark: datetime) -> datetime:
        """Return the watermark after the dropped times are stored."""
        return self.dropped[-1].last if self.dropped else mark


class _Cut(NamedTuple):
    """A decision for all times up to number `until` that the cuts before it left."""

    until: int
    decision: Decision
    reason: Reason


def judge_late(rules: Rules, timeline: Times, mark: datetime, now: datetime) -> Judgement:
    """Judge the times that came due after `mark` and did not run, by `catch_up`.

    `last` keeps the newest if it is within the window; `all` keeps what is within the window, at
    most `catch_up_limit`; `none` keeps the newest if it is not late at all.
    """
    due = timeline.due(mark, now)
    match rules.catch_up:
        case CatchUp.LAST:
            kept = min(due - timeline.due(mark, now - rules.catch_up_window), 1)
            cuts = [_Cut(due - 1, Decision.COALESCED, Reason.CATCH_UP)] if kept else []
            cuts.append(_Cut(due - kept, Decision.MISSED, Reason.WINDOW))
        case CatchUp.NONE:
            late = timeline.due(mark, now - ON_TIME_WITHIN)
            kept = min(due - late, 1)
            cuts = [_Cut(late, Decision.MISSED, Reason.CATCH_UP_NONE)]
            cuts.append(_Cut(due - kept, Decision.COALESCED, Reason.LATE))
        case CatchUp.ALL:
            old = timeline.due(mark, now - rules.catch_up_window)
            kept = min(due - old, rules.catch_up_limit)
            cuts = [
                _Cut(old, Decision.MISSED, Reason.WINDOW),
                _Cut(due - kept, Decision.MISSED, Reason.LIMIT),
            ]
        case _:
            assert_never(rules.catch_up)
    return Judgement(tuple(_ticks(timeline, mark, now, cuts)), kept)


def judge_overlapped(
    rules: Rules, timeline: Times, mark: datetime, started: datetime, now: datetime, least: int = 0
) -> Judgement:
    """Judge the times that came due by the end of a run, by `overlap`.

    Times that waited before the run began (`catch_up=all`) are kept whatever the policy: as many as
    waited then. The newest are kept and the oldest dropped, so that a run that takes too long never
    lets the backlog grow. At `least` this many are kept.
    """
    due = timeline.due(mark, now)
    waiting = min(max(backlog(rules, timeline, mark, started), least), due)
    match rules.overlap:
        case Overlap.SKIP:
            kept, verdict = waiting, (Decision.SKIPPED, Reason.OVERLAP)
        case Overlap.BUFFER_ONE | Overlap.CANCEL_OTHER | Overlap.TERMINATE_OTHER:
            kept, verdict = max(waiting, min(due, 1)), (Decision.COALESCED, Reason.OVERLAP)
        case Overlap.BUFFER_ALL:
            kept, verdict = min(due, rules.catch_up_limit), (Decision.MISSED, Reason.LIMIT)
        case Overlap.ALLOW_ALL:
            # Nothing waits, so nothing is dropped.
            kept, verdict = due, (Decision.SKIPPED, Reason.OVERLAP)
        case _:
            assert_never(rules.overlap)
    return Judgement(tuple(_ticks(timeline, mark, now, [_Cut(due - kept, *verdict)])), kept)


def backlog(rules: Rules, timeline: Times, mark: datetime, started: datetime) -> int:
    """Count the times that already waited when a run began; only `catch_up=all` leaves any."""
    return timeline.due(mark, started) if rules.catch_up is CatchUp.ALL else 0


def passed_over(
    timeline: Timeline, mark: datetime, now: datetime, reason: Reason
) -> tuple[Ticks, ...]:
    """Skip every nominal time after the mark up to now, due or not."""
    count = timeline.count(mark, now)
    return tuple(_ticks(timeline, mark, now, [_Cut(count, Decision.SKIPPED, reason)]))


def _ticks(timeline: Times, mark: datetime, now: datetime, cuts: Iterable[_Cut]) -> Iterator[Ticks]:
    """Turn cuts into ranges of times; an empty cut yields none."""
    taken = 0
    for cut in cuts:
        count = cut.until - taken
        if count > 0:
            first = timeline.nth(mark, taken + 1, now)
            last = timeline.nth(first, count - 1, now)
            yield Ticks(first, last, count, cut.decision, cut.reason)
            taken = cut.until
