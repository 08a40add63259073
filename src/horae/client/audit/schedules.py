"""Check all schedules with their decisions and runs, read as three streams in the same order."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from horae.client.audit import statistics
from horae.client.audit.finding import Findings, Invariant, shown
from horae.client.audit.known_rules import RuleChanges
from horae.client.audit.ledger import Ledger
from horae.client.audit.runs import RunCheck
from horae.domain.schedules import Rules, ScheduleState, Timeline
from horae.storage.engine import EARLIEST
from horae.storage.operations import invariants


@dataclass
class ScheduleAudit:
    """One pass over all schedules.

    `unevenly_kept`: types that set for how long their jobs are kept, so that a newer job may be
    deleted before older ones while its decision stays.
    """

    connection: Connection
    findings: Findings
    changes: RuleChanges
    since: datetime | None
    keep: timedelta
    unevenly_kept: Collection[str] = ()
    _changed: list[str] = field(default_factory=list[str], init=False)

    def check(self) -> None:
        """Check every schedule, then the pairs of decisions and jobs."""
        ticks = Grouped(self._stream(invariants.TICKS), lambda row: row.schedule_id)
        runs = Grouped(self._stream(invariants.RUNS), lambda row: row.schedule_id)
        for row in self._stream(invariants.SCHEDULES):
            self._check(row, ticks.of(row.id), runs.of(row.id))
        if self._changed:
            more = "" if len(self._changed) == 1 else f" and of {len(self._changed) - 1} others"
            self.findings.notes.append(
                f"the rules of schedule {self._changed[0]}{more} are known since their last change:"
                " earlier decisions are only compared with each other"
            )
        self._check_pairs()

    def _stream(self, statement: Any) -> Iterator[Any]:
        given = {"since": self.since or EARLIEST} if "since" in statement.compile().params else {}
        return invariants.stream(self.connection, statement, **given)

    def _check(self, row: Any, ticks: Iterable[Any], rows: Iterable[Any]) -> None:
        rules = self.changes.rules_of(row)
        now = self.changes.now
        if rules.rules is None:
            self.findings.notes.append(
                f"the rules of schedule {row.id} ({row.name}) cannot be read here"
            )
        if rules.since > max(self.since or EARLIEST, row.created_at):
            self._changed.append(f"{row.id} ({row.name})")
        runs = RunCheck(row, rules, self.findings, self.since or EARLIEST).check(rows)
        young = row.created_at > now - self.keep
        counted = row.counted is not None and row.total_runs == runs.counted
        ledger = Ledger(row, rules, self.findings, now)
        ledger.check(
            ticks, since=self.since, nothing_deleted=young and counted and not runs.unreported
        )
        all_kept = ledger.complete and ledger.fired == runs.jobs and ledger.retries <= runs.retries
        statistics.check(row, runs, self.findings, all_kept=all_kept)
        for problem in _plan(row, rules.rules, now):
            self.findings.add(
                Invariant.STUCK, f"schedule {row.id} ({row.name}): {problem}", schedule=row.id
            )

    def _check_pairs(self) -> None:
        """Check that decisions and jobs name each other."""
        deleted = {row.target for row in self._stream(invariants.DELETIONS)}
        for row in self._stream(invariants.WRONG_JOBS):
            self._pair(
                row,
                f"the decision about {shown(row.nominal_time)} names job {row.job_id}, which is"
                " another run",
            )
        for row in self._stream(invariants.GONE_JOBS):
            # The last decision stays when its job is deleted, so it may be the first one now.
            stayed = row.is_first and row.decided_at < self.changes.now - self.keep
            if (
                str(row.job_id) not in deleted
                and not stayed
                and row.job_type not in self.unevenly_kept
            ):
                decision = f"the decision about {shown(row.nominal_time)}"
                self._pair(
                    row, f"job {row.job_id} of {decision} is gone, but what is older is kept"
                )
        for row in self._stream(invariants.UNDECIDED_JOBS):
            self._pair(
                row, f"job {row.id} runs for {shown(row.nominal_time)}, but no decision names it"
            )
        for row in self._stream(invariants.DOUBLE_RUNS):
            self._pair(row, f"{row.number} jobs run for {shown(row.nominal_time)}")

    def _pair(self, row: Any, message: str) -> None:
        self.findings.add(
            Invariant.RUNS, f"schedule {row.schedule_id}: {message}", schedule=row.schedule_id
        )


class Grouped:
    """The rows of a stream that is ordered by a key, taken key by key in the same order."""

    def __init__(self, rows: Iterator[Any], key: Callable[[Any], int]) -> None:
        self._rows, self._key = rows, key
        self._next: Any = next(rows, None)

    def of(self, wanted: int) -> Iterator[Any]:
        """Yield the rows of a key; rows of smaller keys belong to deleted schedules and are
        skipped.
        """
        while self._next is not None and self._key(self._next) <= wanted:
            row, self._next = self._next, next(self._rows, None)
            if self._key(row) == wanted:
                yield row


def _plan(row: Any, rules: Rules | None, now: datetime) -> Iterator[str]:
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
    if (
        row.consecutive_crashes == 0 and expected is not None and start > max(expected, now)
    ):  # a crash may postpone the next start
        yield f"its next start is {shown(start)}, which passes over {shown(expected)}"
