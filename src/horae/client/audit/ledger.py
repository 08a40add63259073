"""Check the ledger: each nominal time has one decision, which fits the rules that made it.

Decisions that were made under rules that are no longer stored are only compared with each other.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from horae.client.audit.finding import SLACK, Audit, Invariant, show
from horae.client.audit.jobs import IN_ONE_TRANSACTION
from horae.client.audit.known_rules import ONE_CHANGE, KnownRules
from horae.domain.schedules import (
    OF_THEIR_OWN,
    ON_TIME_WITHIN,
    REASONS,
    CatchUp,
    Decision,
    Overlap,
    Reason,
    Rules,
    Timeline,
    calendars_in,
    is_excluded,
    spans_of,
)
from horae.domain.times import MICROSECOND

_ONE_BEFORE_OTHER: Final = {Overlap.BUFFER_ONE, Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER}


@dataclass
class Ledger:
    """The check of one schedule.

    `nothing_deleted`: all its jobs are kept, so the ledger must begin with the schedule. `fired`:
    decisions to run; `retries`: the newest retry of each run that was repeated; `complete`: whether
    none of the first decisions was deleted. `only_backfills`: whether all decisions so far are
    about backfilled times, between which others may be missing.
    """

    row: Any
    rules: KnownRules
    audit: Audit
    nothing_deleted: bool
    fired: int = 0
    retries: set[int] = field(default_factory=set[int])
    complete: bool = False
    only_backfills: bool = False

    def check(self, ticks: Iterable[Any]) -> None:
        """Check the decisions about a schedule, in the order of their nominal times."""
        from_begin = self.audit.begin is None
        latest, same = None, None
        for tick in ticks:
            self.audit.checked["decisions"] += 1
            self.fired += tick.decision == Decision.FIRED
            if tick.retried_as is not None:
                self.retries.add(tick.retried_as)
            if same is not None and same.nominal_time == tick.nominal_time:
                self._add(
                    f"{show(tick.nominal_time)} has two decisions, {same.decision} and"
                    f" {tick.decision}"
                )
                continue
            same = tick
            self._check_row(tick)
            if tick.reason in OF_THEIR_OWN:
                first = latest is None and from_begin
                self.complete |= first and tick.nominal_time <= self.row.created_at + SLACK
                continue
            self._check_place(latest, tick)
            latest = tick if latest is None or tick.until > latest.until else latest
        created = self.row.created_at + SLACK
        if same is None and from_begin:
            self.complete = True  # the clean-up keeps the last decision, so there has been none
            self._check_end(created)
        elif latest is not None:
            self._check_end(max(latest.until, created) if self.only_backfills else latest.until)

    def _check_place(self, latest: Any, tick: Any) -> None:
        """Compare a decision with the one before it, or with the creation of the schedule.

        No time is left out between two decisions, and none is in both. Backfilled times before all
        others may be older than the schedule, or the decisions after them may have been deleted.
        """
        backfilled, last = tick.reason == Reason.BACKFILL, tick.nominal_time - MICROSECOND
        if latest is None:
            self.only_backfills = backfilled
            if self.audit.begin is not None or backfilled:
                return
            created, rules = self.row.created_at, self.rules.at(tick.decided_at)
            finish = None if rules is None else rules.finish_trigger
            if rules is not None and finish is not None:
                first = max(created, finish.initial_start or created)
                self.complete = tick.nominal_time <= first + rules.jitter + SLACK
                return
            self.complete = self.rules.for_life and self._find_missing(created, last) is None
            if self.nothing_deleted:
                self._check_gap(created + SLACK, last)
            return
        if tick.nominal_time <= latest.until:
            self._add(
                f"{show(tick.nominal_time)} was decided twice, also with"
                f" {show(latest.nominal_time)}"
            )
        elif not self.only_backfills:
            self._check_gap(latest.until, last)
        elif self.nothing_deleted:
            self._check_gap(max(latest.until, self.row.created_at + SLACK), last)
        self.only_backfills &= backfilled

    def _check_end(self, decided: datetime) -> None:
        """Compare the last decision with the watermark: all times up to it are decided, and none
        after it.
        """
        mark, current = self.row.last_tick, self.rules.rules
        if mark is None or current is None or current.finish_trigger is not None:
            return
        if decided > mark + SLACK:
            self._add(f"{show(decided)} is decided, but the schedule stands at {show(mark)}")
        else:
            self._check_gap(decided, mark)

    def _check_gap(self, after: datetime, until: datetime) -> None:
        if (missing := self._find_missing(after, until)) is not None:
            self._add(missing)

    def _find_missing(self, after: datetime, until: datetime) -> str | None:
        """Describe the times of a range that have no decision; None if no such time is known."""
        after = max(after, self.rules.since + ONE_CHANGE)
        rules = self.rules.rules
        if until <= after or rules is None or rules.finish_trigger is not None:
            return None
        timeline = Timeline.of(rules)
        first = timeline.after(after)
        if first is None or first > until:
            return None
        if (number := timeline.count(after, until)) == 1:
            return f"{show(first)} has no decision"
        return f"{number} times from {show(first)} to {show(until)} have no decision"

    def _check_row(self, tick: Any) -> None:
        name = f"the decision about {show(tick.nominal_time)}"
        if (
            tick.decision not in list(Decision)
            or tick.reason not in REASONS[Decision(tick.decision)]
        ):
            self._add(f"{name} is {tick.decision} because of {tick.reason}, which is impossible")
            return
        if tick.decided_at > self.audit.now + SLACK:
            self._add(f"{name} was made at {show(tick.decided_at)}, which is in the future")
        elif tick.decided_at < tick.until - SLACK:
            self._add(f"{name} was made at {show(tick.decided_at)}, before the time had come")
        if (tick.decision == Decision.FIRED) != (tick.job_id is not None):
            self._add(
                f"{name} is {tick.decision}, but names"
                f" {f'job {tick.job_id}' if tick.job_id else 'no job'}"
            )
        rules = self.rules.at(tick.decided_at)
        if tick.reason in OF_THEIR_OWN:
            if (tick.until, tick.times) != (tick.nominal_time, 1):
                self._add(f"{name} is about {tick.times} times, a {tick.reason} run has one")
        elif rules is not None and (problem := _find_problem(tick, rules)) is not None:
            self._add(f"{name} {problem}")

    def _add(self, message: str) -> None:
        self.audit.add(
            Invariant.DECISIONS,
            f"schedule {self.row.id} ({self.row.name}): {message}",
            schedule=self.row.id,
        )


def _find_problem(tick: Any, rules: Rules) -> str | None:
    """Return why a decision does not follow from rules; None if it may."""
    reason = Reason(tick.reason)
    late = tick.decided_at - Timeline.of(rules).start_of(tick.nominal_time)
    if reason is Reason.ON_TIME and late > ON_TIME_WITHIN + IN_ONE_TRANSACTION:
        return (
            f"is fired because it was on_time, but was made {late.total_seconds():.0f} s after the"
            " time had come"
        )
    if rules.finish_trigger is not None:
        if tick.times == 1 or reason is Reason.EXCLUDED:
            return None
        return f"is about {tick.times} times, but there is one after each finish"
    return (
        _compare_with_times(tick, rules)
        or _compare_with_exclusion(tick, reason, rules)
        or _compare_with_policies(Decision(tick.decision), reason, rules)
    )


def _compare_with_times(tick: Any, rules: Rules) -> str | None:
    """Return why a decision is not about nominal times of rules; None if it is."""
    timeline = Timeline.of(rules)
    if timeline.after(tick.nominal_time - MICROSECOND) != tick.nominal_time:
        return f"is about no time of {rules.trigger.text!r}"
    if tick.until < tick.nominal_time or timeline.after(tick.until - MICROSECOND) != tick.until:
        return f"ends at {show(tick.until)}, which is no time of {rules.trigger.text!r}"
    if (count := timeline.count(tick.nominal_time - MICROSECOND, tick.until)) != tick.times:
        return f"counts {tick.times} times up to {show(tick.until)}, there are {count}"
    return None


def _compare_with_exclusion(tick: Any, reason: Reason, rules: Rules) -> str | None:
    """Return why a decision contradicts the exclusion calendar.

    None if it does not contradict it, or if days of calendar functions matter.
    """
    if calendars_in(rules.exclude):
        return None
    excluded = [is_excluded(spans_of(rules), moment) for moment in (tick.nominal_time, tick.until)]
    if reason is Reason.EXCLUDED and not all(excluded):
        return (
            "is skipped because it is excluded, but the calendar is"
            f" {', '.join(rules.exclude) or 'empty'}"
        )
    if tick.decision == Decision.FIRED and reason is not Reason.BACKFILL and any(excluded):
        return f"is fired, but excluded by {', '.join(rules.exclude)}"
    return None


def _compare_with_policies(decision: Decision, reason: Reason, rules: Rules) -> str | None:
    """Return why the policies do not allow a decision for this reason; None if they may."""
    allowed = {
        (Decision.COALESCED, Reason.OVERLAP): rules.overlap in _ONE_BEFORE_OTHER,
        (Decision.SKIPPED, Reason.OVERLAP): rules.overlap is Overlap.SKIP,
        (Decision.COALESCED, Reason.CATCH_UP): rules.catch_up is CatchUp.LAST,
        (Decision.COALESCED, Reason.LATE): rules.catch_up is CatchUp.NONE,
        (Decision.MISSED, Reason.CATCH_UP_NONE): rules.catch_up is CatchUp.NONE,
        (Decision.MISSED, Reason.LIMIT): (
            rules.catch_up is CatchUp.ALL or rules.overlap is Overlap.BUFFER_ALL
        ),
        (Decision.FIRED, Reason.CATCH_UP): rules.catch_up is CatchUp.ALL,
    }
    if allowed.get((decision, reason), True):
        return None
    return (
        f"is {decision} because of {reason}, but overlap is {rules.overlap}, catch_up"
        f" {rules.catch_up}"
    )
