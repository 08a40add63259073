"""Check the ledger: each nominal time has exactly one decision, which fits the rules of that
time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from horae.client.invariants.finding import TOLERANCE, Findings, Invariant, shown
from horae.client.invariants.history import RulesOverTime
from horae.client.invariants.jobs import IN_ONE_TRANSACTION
from horae.domain.schedules.exclusion import calendars_in, is_excluded
from horae.domain.schedules.schedule import CatchUp, Overlap, Rules
from horae.domain.schedules.skipping import spans_of
from horae.domain.schedules.tick import OF_THEIR_OWN, ON_TIME_WITHIN, REASONS, Decision, Reason
from horae.domain.schedules.timeline import MICROSECOND, Timeline

SLACK: Final = timedelta(seconds=TOLERANCE)
_ONE_BEFORE_OTHER: Final = {Overlap.BUFFER_ONE, Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER}


@dataclass
class Ledger:
    """The check of one schedule.

    `fired`: decisions to run; `retries`: the newest retry of each run that was repeated;
    `complete`: whether none of the first decisions was deleted. `only_backfills`: whether all
    decisions so far are about backfilled times, between which others may be missing.
    """

    row: Any
    rules: RulesOverTime
    findings: Findings
    now: datetime
    fired: int = 0
    retries: set[int] = field(default_factory=set[int])
    complete: bool = False
    only_backfills: bool = False

    def check(self, ticks: Iterable[Any], *, since: datetime | None, nothing_deleted: bool) -> None:
        """Check the decisions about a schedule, in the order of their nominal times.

        `nothing_deleted`: all its jobs are kept, so the ledger must begin with the schedule.
        """
        latest, same = None, None
        for tick in ticks:
            self.findings.checked["decisions"] += 1
            self.fired += tick.decision == Decision.FIRED
            if tick.retried_as is not None:
                self.retries.add(tick.retried_as)
            if same is not None and same.nominal_time == tick.nominal_time:
                self._add(
                    f"{shown(tick.nominal_time)} has two decisions, {same.decision} and"
                    f" {tick.decision}"
                )
                continue
            same = tick
            self._check_row(tick)
            if tick.reason in OF_THEIR_OWN:
                first = latest is None and since is None
                self.complete |= first and tick.nominal_time <= self.row.created_at + SLACK
                continue
            self._check_place(
                latest, tick, from_begin=since is None, nothing_deleted=nothing_deleted
            )
            latest = tick if latest is None or tick.until > latest.until else latest
        if same is None and since is None:
            self.complete = True  # the clean-up keeps the last decision, so there has been none
            self._check_end(self.row.created_at + SLACK)
        elif latest is not None:
            created = self.row.created_at + SLACK
            self._check_end(max(latest.until, created) if self.only_backfills else latest.until)

    def _check_after(self, latest: Any, tick: Any) -> None:
        """Compare a decision with the one before it: no time is left out between them, and none is
        in both.
        """
        if tick.nominal_time <= latest.until:
            self._add(
                f"{shown(tick.nominal_time)} was decided twice, also with"
                f" {shown(latest.nominal_time)}"
            )
        else:
            self._check_gap(latest.until, tick.nominal_time - MICROSECOND, tick.decided_at)

    def _check_place(
        self, latest: Any, tick: Any, *, from_begin: bool, nothing_deleted: bool
    ) -> None:
        """Compare a decision with the one before it, or with the creation of the schedule."""
        backfilled = tick.reason == Reason.BACKFILL
        if latest is None:
            self.only_backfills = backfilled
            if from_begin and not backfilled:
                self._check_begin(tick, nothing_deleted=nothing_deleted)
        elif self.only_backfills:
            self._check_after_backfill(latest, tick, nothing_deleted=nothing_deleted)
            self.only_backfills = backfilled
        else:
            self._check_after(latest, tick)

    def _check_after_backfill(self, latest: Any, tick: Any, *, nothing_deleted: bool) -> None:
        """Compare a decision with backfilled times before all others: older than the schedule, or
        deleted since.
        """
        if tick.nominal_time <= latest.until:
            self._add(
                f"{shown(tick.nominal_time)} was decided twice, also with"
                f" {shown(latest.nominal_time)}"
            )
        elif nothing_deleted:
            begin = max(latest.until, self.row.created_at + SLACK)
            self._check_gap(begin, tick.nominal_time - MICROSECOND, tick.decided_at)

    def _check_begin(self, tick: Any, *, nothing_deleted: bool) -> None:
        """Compare the first decision with the creation of the schedule."""
        rules = self.rules.around(tick.decided_at)
        finish = None if None in rules or not rules[0] else rules[0].finish_trigger
        if finish is not None and rules[0] is not None:
            first = max(self.row.created_at, finish.initial_start or self.row.created_at)
            self.complete = tick.nominal_time <= first + rules[0].jitter + SLACK
            return
        created, last = self.row.created_at, tick.nominal_time - MICROSECOND
        parts = self.rules.between(created, tick.nominal_time)
        known = None not in {*rules, *(rules for _, _, rules in parts)}
        self.complete = known and self._missing(created, last, tick.decided_at) is None
        missing = self._missing(created + SLACK, last, tick.decided_at)
        if missing is not None and nothing_deleted:
            self._add(missing)

    def _check_gap(self, after: datetime, until: datetime, decided_at: datetime) -> None:
        if (missing := self._missing(after, until, decided_at)) is not None:
            self._add(missing)

    def _check_end(self, decided: datetime) -> None:
        """Compare the last decision with the watermark, up to which all times are decided, and none
        after it.
        """
        mark, current = self.row.last_tick, self.rules.current
        if mark is None or current is None or current.finish_trigger is not None:
            return
        if decided > mark + SLACK:
            self._add(f"{shown(decided)} is decided, but the schedule stands at {shown(mark)}")
        else:
            self._check_gap(decided, mark, self.now)

    def _missing(self, after: datetime, until: datetime, decided_at: datetime) -> str | None:
        """Return the times without a decision in a range as a text; None if there are none, or none
        for certain.
        """
        if until <= after:
            return None
        whole = [list(self._times(after, until, rules)) for rules in self.rules.around(decided_at)]
        parts = self.rules.between(after, until)
        if len(parts) > 1:
            # Decided by the rules of each part, unless the schedule was disabled when it was altered  # noqa: E501
            whole.append(
                [found for start, end, rules in parts for found in self._times(start, end, rules)]
            )
        if not all(whole):
            return None
        number, first = min((sum(count for count, _ in found), found[0][1]) for found in whole)
        if number == 1:
            return f"{shown(first)} has no decision"
        return f"{number} times from {shown(first)} to {shown(until)} have no decision"

    def _times(
        self, after: datetime, until: datetime, rules: Rules | None
    ) -> Iterator[tuple[int, datetime]]:
        """Yield the number of nominal times in a range and the first one; nothing if there are none
        or none known.
        """
        if rules is None or rules.finish_trigger is not None:
            return
        timeline = Timeline.of(rules)
        first = timeline.after(after)
        if first is not None and first <= until:
            yield timeline.count(after, until), first

    def _check_row(self, tick: Any) -> None:
        name = f"the decision about {shown(tick.nominal_time)}"
        if (
            tick.decision not in list(Decision)
            or tick.reason not in REASONS[Decision(tick.decision)]
        ):
            self._add(f"{name} is {tick.decision} because of {tick.reason}, which is impossible")
            return
        self._check_moment(tick, name)
        if (tick.decision == Decision.FIRED) != (tick.job_id is not None):
            self._add(
                f"{name} is {tick.decision}, but names"
                f" {f'job {tick.job_id}' if tick.job_id else 'no job'}"
            )
        if tick.reason in OF_THEIR_OWN:
            if (tick.until, tick.times) != (tick.nominal_time, 1):
                self._add(f"{name} is about {tick.times} times, a {tick.reason} run has one")
            return
        problems = [
            None if rules is None else _problem(tick, rules)
            for rules in self.rules.around(tick.decided_at)
        ]
        if all(problems):
            self._add(f"{name} {problems[0]}")

    def _check_moment(self, tick: Any, name: str) -> None:
        if tick.decided_at > self.now + SLACK:
            self._add(f"{name} was made at {shown(tick.decided_at)}, which is in the future")
        elif tick.decided_at < tick.until - SLACK:
            self._add(f"{name} was made at {shown(tick.decided_at)}, before the time had come")

    def _add(self, message: str) -> None:
        self.findings.add(
            Invariant.DECISIONS,
            f"schedule {self.row.id} ({self.row.name}): {message}",
            schedule=self.row.id,
        )


def _problem(tick: Any, rules: Rules) -> str | None:
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
        _problem_of_times(tick, rules)
        or _problem_of_exclusion(tick, reason, rules)
        or _misfit(tick, reason, rules)
    )


def _problem_of_times(tick: Any, rules: Rules) -> str | None:
    """Return why a decision is not about nominal times of rules; None if it is."""
    timeline = Timeline.of(rules)
    if timeline.after(tick.nominal_time - MICROSECOND) != tick.nominal_time:
        return f"is about no time of {rules.trigger.text!r}"
    if tick.until < tick.nominal_time or timeline.after(tick.until - MICROSECOND) != tick.until:
        return f"ends at {shown(tick.until)}, which is no time of {rules.trigger.text!r}"
    if (count := timeline.count(tick.nominal_time - MICROSECOND, tick.until)) != tick.times:
        return f"counts {tick.times} times up to {shown(tick.until)}, there are {count}"
    return None


def _misfit(tick: Any, reason: Reason, rules: Rules) -> str | None:
    """Return why the policies do not allow a decision; None if they may."""
    if not _fits(Decision(tick.decision), reason, rules):
        return (
            f"is {tick.decision} because of {reason}, but overlap is {rules.overlap}, catch_up"
            f" {rules.catch_up}"
        )
    return None


def _problem_of_exclusion(tick: Any, reason: Reason, rules: Rules) -> str | None:
    """Return why a decision contradicts the exclusion calendar; None if it does not, or days of
    functions matter.
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


def _fits(decision: Decision, reason: Reason, rules: Rules) -> bool:
    """Return whether the policies allow a decision for this reason."""
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
    return allowed.get((decision, reason), True)
