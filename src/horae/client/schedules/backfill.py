"""Backfills: runs of a schedule for past nominal times, each at most once."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Final, NamedTuple

from sqlalchemy import Connection

from horae.client.schedules import changes
from horae.domain.schedules import BackfillChanged, Timeline, gaps_of
from horae.domain.schedules.run_times import run_times
from horae.domain.times import MICROSECOND
from horae.errors import InvalidRequest
from horae.sentences import SentenceCode
from horae.storage.schedules import (
    AppliedPlan,
    StoredSchedule,
    backfill,
    plan_writing,
    rules_of,
    writing,
)

DEFAULT_LIMIT: Final = 1_000
"""Maximum number of nominal times of one backfill, unless the caller allows more."""
LARGEST_LIMIT: Final = 100_000
"""Largest number of nominal times that a caller may allow."""
BATCH: Final = 1_000
"""Number of times that one transaction stores; more would lock the schedule for long."""


@dataclass(frozen=True, slots=True)
class Backfill:
    """The result of a backfill, or of a dry run, which adds nothing.

    `times`: the number of nominal times in the range to run. `added`: those that were added, or
    would be; `known`: those that were run before, or wait already; `excluded`: further times, which
    the exclusion calendar leaves out.
    """

    times: int
    added: int
    known: int
    excluded: int
    first: datetime | None
    last: datetime | None


class Range(NamedTuple):
    """A range of past times, `start <= time < end`, and the number of times it may have.

    `excluded`: the days in it that calendar functions exclude. `failed`: include times whose run
    has failed.
    """

    start: datetime
    end: datetime
    limit: int
    excluded: frozenset[date]
    failed: bool


def preview(connection: Connection, reference: int | str, wanted: Range) -> Backfill:
    """Count the times of a backfill and change nothing."""
    return _find_times(connection, changes.lock(connection, reference), wanted)[0]


def add_batch(
    connection: Connection, reference: int | str, wanted: Range
) -> tuple[Backfill, AppliedPlan | None]:
    """Store the next unknown times of a backfill; `added` is less than `BATCH` if none are left."""
    row = changes.lock(connection, reference)
    found, times = _find_times(connection, row, wanted)
    batch = times[:BATCH]
    if not batch:
        return replace(found, added=0), None
    backfill.add(connection, row.id, batch)
    first = min(filter(None, (row.backfill_next, batch[0])))
    decided = plan_writing.apply_event(
        connection, row._replace(backfill_next=first), BackfillChanged()
    )
    writing.write_one_time(connection, [decided.schedule])
    return replace(found, added=len(batch)), decided


def withdraw(connection: Connection, reference: int | str) -> tuple[AppliedPlan, int]:
    """Remove the times of a schedule that still wait; return their number with the applied plan."""
    row = changes.lock(connection, reference)
    if row.backfill_next is None:
        return AppliedPlan(row), 0
    number = backfill.withdraw(connection, row.id)
    decided = plan_writing.apply_event(
        connection, row._replace(backfill_next=None), BackfillChanged()
    )
    writing.write_one_time(connection, [decided.schedule])
    return decided, number


def _find_times(
    connection: Connection, row: StoredSchedule, wanted: Range
) -> tuple[Backfill, list[datetime]]:
    rules = rules_of(row)
    if wanted.excluded:
        rules = replace(
            rules, calendar_days=tuple(sorted({*rules.calendar_days, *wanted.excluded}))
        )
    if rules.finish_trigger is not None:
        raise InvalidRequest(
            "an interval counted from the finish has no past times to backfill; or set fixed",
            SentenceCode.VALUE_BACKFILL_NEEDS_FIXED,
        )
    start, end = wanted.start.astimezone(UTC), wanted.end.astimezone(UTC)
    if start >= end:
        raise InvalidRequest(
            f"the range ends at {end}, which is not after its start, {start}",
            SentenceCode.VALUE_BACKFILL_REVERSED,
        )
    if end > row.now:
        raise InvalidRequest(
            f"the range ends at {end}, in the future: the schedule itself runs the times to come",
            SentenceCode.VALUE_BACKFILL_LATER,
        )
    # The schedule itself is about to decide later times that have come.
    end = min(end, (row.last_tick or row.created_at) + MICROSECOND)
    timeline = Timeline.of(rules)
    runs = run_times(timeline, gaps_of(rules, None))
    after, until = start - MICROSECOND, end - MICROSECOND
    number = runs.count(after, until) if after < until else 0
    if number > wanted.limit:
        raise InvalidRequest(
            f"{number:,} nominal times from {start} to {end} are more than the limit of"
            f" {wanted.limit:,}: choose a shorter range, or a limit of up to {LARGEST_LIMIT:,}",
            SentenceCode.VALUE_BACKFILL_TOO_MANY,
            count=number,
            most=wanted.limit,
        )
    times: list[datetime] = []
    while len(times) < number and (moment := runs.after(times[-1] if times else after)):
        times.append(moment)
    known = backfill.known_times(connection, row.id, start, end, failed=wanted.failed)
    # Rows of the ledger that cannot be split, because they are not about times of these rules.
    other = [
        entry
        for entry in backfill.not_fired(connection, row.id, start, end)
        if timeline.after(entry.nominal_time - MICROSECOND) != entry.nominal_time
        or timeline.count(entry.nominal_time - MICROSECOND, entry.until) != entry.count
    ]
    new = [
        moment
        for moment in times
        if moment not in known
        and not any(entry.nominal_time <= moment <= entry.until for entry in other)
    ]
    found = Backfill(
        times=number,
        added=len(new),
        known=number - len(new),
        excluded=(timeline.count(after, until) if after < until else 0) - number,
        first=times[0] if times else None,
        last=times[-1] if times else None,
    )
    return found, new
