"""Check all schedules with their decisions and runs, read as three streams in the same order."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from horae.client.audit import runs
from horae.client.audit.finding import Audit, Invariant, show
from horae.client.audit.known_rules import RuleChanges
from horae.client.audit.ledger import Ledger
from horae.domain.schedules import Rules, ScheduleState, Timeline
from horae.storage.operations import invariants


def check(audit: Audit) -> None:
    """Check every schedule with its decisions and runs."""
    changes = RuleChanges.read(audit)
    changed: list[str] = []
    since = audit.since
    ticks = _BySchedule(audit.stream(invariants.TICKS, since=since))
    runs_by_schedule = _BySchedule(audit.stream(invariants.RUNS))
    for row in audit.stream(invariants.SCHEDULES):
        name = f"{row.id} ({row.name})"
        rules = changes.rules_of(row)
        if rules.rules is None:
            audit.notes.append(f"the rules of schedule {name} cannot be read here")
        if rules.since > max(since, row.created_at):
            changed.append(name)
        kept = runs.check(row, rules, runs_by_schedule.of(row.id), audit)
        young = row.created_at > audit.now - audit.keep
        counted = row.counted is not None and row.total_runs == kept.counted
        ledger = Ledger(row, rules, audit, young and counted and not kept.unreported)
        ledger.check(ticks.of(row.id))
        all_kept = ledger.complete and ledger.fired == kept.jobs and ledger.retries <= kept.retries
        runs.check_statistics(row, kept, audit, all_kept=all_kept)
        for problem in _check_plan(row, rules.rules, audit.now):
            audit.add(Invariant.STUCK, f"schedule {name}: {problem}", schedule=row.id)
    if changed:
        more = "" if len(changed) == 1 else f" and of {len(changed) - 1} others"
        audit.notes.append(
            f"the rules of schedule {changed[0]}{more} are known since their last change:"
            " earlier decisions are only compared with each other"
        )


def check_pairs(audit: Audit) -> None:
    """Check that decisions and jobs name each other."""

    def pair(row: Any, message: str) -> None:
        audit.add(
            Invariant.RUNS, f"schedule {row.schedule_id}: {message}", schedule=row.schedule_id
        )

    deleted = {row.target for row in audit.stream(invariants.DELETIONS)}
    clean_ups = [(audit.now, audit.keep.total_seconds())]
    clean_ups += [
        (row.at, row.after["kept_seconds"])
        for row in audit.stream(invariants.CLEAN_UPS)
        if isinstance(row.after, dict)
    ]
    for row in audit.stream(invariants.WRONG_JOBS, since=audit.since):
        pair(
            row,
            f"the decision about {show(row.nominal_time)} names job {row.job_id}, which is"
            " another run",
        )
    for row in audit.stream(invariants.GONE_JOBS, since=audit.since):
        # The last decision stays when its job is deleted, so it may be the first one now.
        stayed = row.is_first and any(
            (at - row.decided_at).total_seconds() > kept for at, kept in clean_ups
        )
        uneven = row.job_type in audit.unevenly_kept
        if str(row.job_id) not in deleted and not stayed and not uneven:
            decision = f"the decision about {show(row.nominal_time)}"
            pair(row, f"job {row.job_id} of {decision} is gone, but what is older is kept")
    for row in audit.stream(invariants.UNDECIDED_JOBS, since=audit.since):
        pair(row, f"job {row.id} runs for {show(row.nominal_time)}, but no decision names it")
    for row in audit.stream(invariants.DOUBLE_RUNS, since=audit.since):
        pair(row, f"{row.number} jobs run for {show(row.nominal_time)}")


class _BySchedule:
    """The rows of a stream that is ordered by schedules, taken one after another in this order."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows
        self._next: Any = next(rows, None)

    def of(self, wanted: int) -> Iterator[Any]:
        """Yield the rows of a schedule; those of smaller ids belong to deleted ones, and are
        skipped.
        """
        while self._next is not None and self._next.schedule_id <= wanted:
            row, self._next = self._next, next(self._rows, None)
            if row.schedule_id == wanted:
                yield row


def _check_plan(row: Any, rules: Rules | None, now: datetime) -> Iterator[str]:
    """Yield what keeps a schedule from running, or makes it miss times."""
    if row.enabled and row.next_start is None and row.run_token is None:
        yield "it is enabled, but has no next start"
    if not row.enabled and row.next_start is not None:
        yield f"it is disabled ({row.disabled_reason}), but has a next start"
    if (row.run_token is not None) != (
        row.state in {ScheduleState.EXECUTING, ScheduleState.TERMINATING}
    ):
        yield (
            f"it is {row.state}, but"
            f" {'waits for a run' if row.run_token is not None else 'waits for no run'}"
        )
    waits = row.state == ScheduleState.IDLE and row.enabled
    start: datetime | None = row.next_start
    mark: datetime | None = row.last_tick
    if (
        not waits
        or start is None
        or mark is None
        or rules is None
        or rules.finish_trigger is not None
    ):
        return
    expected = Timeline.of(rules).next_start(mark)
    # A crash may postpone the next start.
    if row.consecutive_crashes == 0 and expected is not None and start > max(expected, now):
        yield f"its next start is {show(start)}, which passes over {show(expected)}"
