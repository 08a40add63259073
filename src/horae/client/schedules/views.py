"""Schedules as callers see them: with their open runs, and in pages."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final

from horae.client.schedules.definition import declared_values, revision_of
from horae.domain.schedules import (
    OneTimeChange,
    Overlap,
    Rules,
    Statistics,
    Ticks,
    Trigger,
    skips,
    upcoming,
)
from horae.domain.storable import is_storable
from horae.errors import InvalidRequest
from horae.guarded_log import guarded_log
from horae.quoting import quoted
from horae.storage.engine import Database, Reads, read, readable
from horae.storage.schedules import (
    OpenRuns,
    ScheduleFilter,
    StoredSchedule,
    UnreadableSchedule,
    change_of,
    reading,
    rules_of,
    statistics_of,
    waiting_reasons,
)

log = guarded_log("horae.schedules")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """A schedule as it was stored when it was read."""

    id: int
    name: str
    module: str
    """The module that declares it; empty for a schedule that was added at run time."""
    deployment_id: int | None
    job_type: str
    config: Any
    rules: Rules
    queue: str
    priority: int
    state: str
    enabled: bool
    disabled_reason: str | None
    pause_note: str | None
    partition: int
    job_id: int | None
    """The job of the executing run."""
    started_at: datetime | None
    next_start: datetime | None
    last_tick: datetime | None
    created_at: datetime
    version: int
    revision: str
    """Another text as soon as a caller has changed the definition, for `alter`."""
    overrides: Mapping[str, Any]
    """The declared value of each field of a declared schedule that was changed at run time."""
    wakes_at: datetime | None
    """When the next nominal time is decided; before `next_start` if that time will be skipped."""
    change: OneTimeChange | None
    """A change of the next start that is made once."""
    backfill_next: datetime | None
    """The first past time that waits to be run."""
    statistics: Statistics
    """Those of the ended runs."""
    open_runs: int
    """The number of runs that execute or wait to begin."""
    runs_wait: bool
    """Whether there are such runs, and all wait."""
    waiting_reason: str | None = None
    """Why the run of `job_id` has not started, if it is pending; only where one schedule is read.
    """
    read_at: datetime = field(compare=False)
    """When it was read, by the database's clock."""

    def upcoming(self, count: int) -> list[datetime]:
        """Return the next starts that are known; none for a disabled schedule."""
        if not self.enabled:
            return []
        running = self.started_at is not None
        return upcoming(
            self.rules, self.wakes_at, self.read_at, count, executing=running, change=self.change
        )

    def skips(self, until: datetime | None = None) -> list[Ticks]:
        """Return the nominal times up to a moment that will be skipped, with reasons; by default
        all known.
        """
        if not self.enabled:
            return []
        return skips(self.rules, self.last_tick, self.wakes_at, until, self.change)


_CONVERTED: Final = frozenset({"rules", "overrides", "next_start"})
_STORED: Final = tuple(
    field.name
    for field in fields(ScheduleView)
    if field.name in StoredSchedule._fields and field.name not in _CONVERTED
)


def view_of(row: StoredSchedule, open_runs: OpenRuns | None) -> ScheduleView:
    """Return the view of a stored schedule with its open runs."""
    if open_runs is None:
        open_runs = OpenRuns(0 if row.run_token is None else 1)
    stored: dict[str, Any] = {name: getattr(row, name) for name in _STORED}
    rules, change = rules_of(row), change_of(row)
    next_start = row.next_start
    if row.enabled and (rules.exclude or change):  # the next decision may skip a time
        next_start = next(iter(upcoming(rules, next_start, row.now, 1, change=change)), None)
    return ScheduleView(
        **stored,
        config=json.loads(row.params or "null"),
        rules=rules,
        next_start=next_start,
        wakes_at=row.next_start,
        change=change,
        overrides=declared_values(row),
        revision=revision_of(row),
        job_id=row.run_token,
        statistics=statistics_of(row).without_open(open_runs.count, open_runs.began),
        open_runs=open_runs.count,
        runs_wait=open_runs.wait,
        read_at=row.now,
    )


def read_view(database: Database, row: StoredSchedule) -> ScheduleView:
    """Return the view of a stored schedule. Raises `UnreadableSchedule` or `UnreadableRow`."""
    rules_of(row)  # its error names the schedule, which says more than the number of a row
    runs = _open_runs(database, [row])
    view = read("horae_schedules", row, lambda row: view_of(row, runs.get(row.id)))
    if row.run_token is None:
        return view
    reasons = database.autocommit(waiting_reasons, [row.run_token])
    return replace(view, waiting_reason=reasons.get(row.run_token))


def views_of(database: Reads, rows: Collection[StoredSchedule]) -> list[ScheduleView]:
    """Return the views of the readable schedules; unreadable ones are logged and must not hide
    others.
    """
    known: list[StoredSchedule] = []
    for row in rows:
        try:
            rules_of(row)
        except UnreadableSchedule as error:
            log.warning("%s", error)
        else:
            known.append(row)
    runs = _open_runs(database, known)
    return readable("horae_schedules", known, lambda row: view_of(row, runs.get(row.id)))


def _open_runs(database: Reads, rows: Collection[StoredSchedule]) -> Mapping[int, OpenRuns]:
    """Return the open runs of schedules; with `allow_all` each one is stored as a crash until its
    end.
    """
    tokens = [row.run_token for row in rows if row.run_token is not None]
    overlapping = [
        row.id
        for row in rows
        if row.consecutive_crashes and rules_of(row).overlap is Overlap.ALLOW_ALL
    ]
    if not tokens and not overlapping:
        return {}
    return database.autocommit(reading.open_runs, tokens, overlapping)


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """One page; `next` is the cursor of the following one, None on the last."""

    schedules: list[ScheduleView]
    next: str | None


def page_of(database: Reads, which: ScheduleFilter, cursor: str | None = None) -> SchedulePage:
    """Return a page of schedules by module and name, from the `cursor` of the page before on.

    A page may be shorter than the limit, because unreadable schedules are logged and left out.
    Raises `InvalidRequest`.
    """
    after = None if cursor is None else place_in(cursor)
    rows = database.autocommit(reading.page, replace(which, limit=which.limit + 1, after=after))
    shown = rows[: which.limit]
    following = cursor_of(reading.place_of(shown[-1])) if len(rows) > which.limit else None
    return SchedulePage(views_of(database, shown), following)


def cursor_of(place: tuple[int, str, str]) -> str:
    """Return a cursor; it stays valid if the schedule at its place is deleted."""
    return urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def place_in(cursor: str) -> tuple[int, str, str]:
    """Return the place of a cursor. Raises `InvalidRequest`."""
    try:
        match json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))):
            case [(0 | 1) as rank, str(module), str(name)] if is_storable(module) and is_storable(
                name
            ):
                return rank, module, name
            case _:
                pass
    except ValueError:
        pass
    raise InvalidRequest(f"cursor {quoted(cursor)} is not one that a list has given")


def trigger_in_line(trigger: Trigger) -> str:
    """Return a trigger in one line, such as `every 10m` or `0 3 * * * (Europe/Berlin)`."""
    zone = "" if trigger.timezone == "UTC" else f" ({trigger.timezone})"
    return f"{'every ' if trigger.kind == 'interval' else ''}{trigger.text}{zone}"
