"""The tables, read with plain SQL into values that are the same for SQLite and PostgreSQL.

Moments are whole microseconds since 1970.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
COLUMNS: Final = {"times": "count"}
"""Columns whose name a tuple has already."""


class Cursor(Protocol):
    """As much of a DB-API cursor as is used here."""

    def fetchall(self) -> Sequence[Any]: ...


class Connection(Protocol):
    """A connection of sqlite3 or psycopg."""

    def execute(self, query: Any, /) -> Cursor: ...


class Job(NamedTuple):
    """A row of `horae_jobs`."""

    id: int
    type: str
    queue: str
    state: str
    attempt: int
    max_attempts: int
    lease: int
    node_id: str | None
    schedule_id: int | None
    nominal_time: int | None
    created_at: int
    finished_at: int | None
    run_at: int
    priority: int
    owner: str | None
    limits: Any
    unique_key: str | None
    key_is_shared: bool | None
    expires_at: int | None
    retry_of: int | None
    error: str | None

    def __str__(self) -> str:
        return f"job {self.id} ({self.type})"


class Attempt(NamedTuple):
    """A row of `horae_job_attempts`."""

    job_id: int
    lease: int
    attempt: int
    node_id: str | None
    started_at: int
    finished_at: int
    outcome: str


class Schedule(NamedTuple):
    """A row of `horae_schedules`, with the overlap policy of its rules."""

    id: int
    name: str
    module: str
    trigger_kind: str
    trigger: str
    timezone: str
    rules: Any
    enabled: bool
    state: str
    run_token: int | None
    next_start: int | None
    last_tick: int | None

    def __str__(self) -> str:
        return f"schedule {self.id} ({self.name})"

    @property
    def overlap(self) -> str:
        return str(parsed(self.rules)["overlap"])


class Statistics(NamedTuple):
    """The counts of a row of `horae_schedule_statistics`."""

    schedule_id: int
    total_runs: int
    total_successes: int
    total_failures: int
    total_crashes: int


class Tick(NamedTuple):
    """A row of `horae_ticks`."""

    schedule_id: int
    nominal_time: int
    until: int
    times: int
    decision: str
    reason: str
    job_id: int | None
    retried_as: int | None


class Queue(NamedTuple):
    """A row of `horae_queues`."""

    name: str
    concurrency_limit: int | None
    fair_by: str | None
    limits: Any


class Group(NamedTuple):
    """A row of `horae_groups`."""

    id: int
    then_id: int | None
    total: int
    finished: int
    failed: int
    cancelled: int
    cancelled_at: int | None
    inserting_at: int | None
    ended_at: int | None


class Change(NamedTuple):
    """A row of `horae_audit`: a change that a user made, not a finding."""

    at: int
    action: str
    target: str
    outcome: str
    after: Any


def parsed(value: Any) -> Any:
    """Return a JSON value, which SQLite returns as text."""
    return json.loads(value) if isinstance(value, str) else value


def moment(value: Any) -> Any:
    """Return microseconds for a moment of PostgreSQL, and any other value as it is."""
    return (value - EPOCH) // MICROSECOND if isinstance(value, datetime) else value


def shown(value: int | None) -> str:
    """Return a moment as text."""
    return "never" if value is None else (EPOCH + value * MICROSECOND).isoformat()


@dataclass
class Tables:
    """What the rules read, each table when it is first needed."""

    connection: Connection
    effects_table: str = "effects"
    _rows: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def rows(self, kind: Any, table: str) -> list[Any]:
        """Return all rows of a table as values of `kind`, whose fields name the columns."""
        columns = ", ".join(f'"{COLUMNS.get(name, name)}"' for name in kind._fields)
        found = self.connection.execute(f"SELECT {columns} FROM {table}").fetchall()
        return [kind(*(moment(value) for value in row)) for row in found]

    @cached_property
    def jobs(self) -> dict[int, Job]:
        """All jobs by id."""
        return {job.id: job for job in sorted(self.rows(Job, "horae_jobs"))}

    @cached_property
    def attempts(self) -> dict[int, list[Attempt]]:
        """The attempts of each job, in the order of their leases."""
        found: dict[int, list[Attempt]] = defaultdict(list)
        for attempt in sorted(self.rows(Attempt, "horae_job_attempts"), key=lambda each: each[:2]):
            found[attempt.job_id].append(attempt)
        return found

    @cached_property
    def schedules(self) -> dict[int, Schedule]:
        """All schedules by id."""
        return {schedule.id: schedule for schedule in self.rows(Schedule, "horae_schedules")}

    @cached_property
    def statistics(self) -> dict[int, Statistics]:
        """The statistics of each schedule."""
        return {row.schedule_id: row for row in self.rows(Statistics, "horae_schedule_statistics")}

    @cached_property
    def ticks(self) -> dict[int, list[Tick]]:
        """The decisions about each schedule, by nominal time."""
        found: dict[int, list[Tick]] = defaultdict(list)
        for tick in sorted(self.rows(Tick, "horae_ticks"), key=lambda each: each[:2]):
            found[tick.schedule_id].append(tick)
        return found

    @cached_property
    def all_queues(self) -> list[Queue]:
        """The queues that have a row, because something was declared or changed for them."""
        return self.rows(Queue, "horae_queues")

    @cached_property
    def queues(self) -> list[Queue]:
        """The queues that have a limit."""
        return [queue for queue in self.all_queues if queue.concurrency_limit is not None]

    @cached_property
    def groups(self) -> list[Group]:
        """All groups, oldest first."""
        return sorted(self.rows(Group, "horae_groups"))

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """The jobs of each group."""
        found: dict[int, list[int]] = defaultdict(list)
        query = "SELECT group_id, id FROM horae_jobs WHERE group_id IS NOT NULL ORDER BY id"
        for group_id, job_id in self.connection.execute(query).fetchall():
            found[group_id].append(job_id)
        return found

    @cached_property
    def dependencies(self) -> list[tuple[int, int]]:
        """Pairs of jobs: one that must end before the other begins."""
        query = "SELECT after_id, job_id FROM horae_dependencies ORDER BY after_id, job_id"
        return [(row[0], row[1]) for row in self.connection.execute(query).fetchall()]

    @cached_property
    def changes(self) -> list[Change]:
        """The changes that users made, oldest first."""
        return sorted(self.rows(Change, "horae_audit"), key=lambda each: each.at)

    @cached_property
    def effects(self) -> list[tuple[int, int]]:
        """Job and attempt number of each effect; none if the application has no table of effects."""
        if not self._has_effects():
            return []
        return [
            (row[0], row[1])
            for row in self.connection.execute(
                f"SELECT job, attempt FROM {self.effects_table}"
            ).fetchall()
        ]

    def runs(self) -> Iterator[tuple[Schedule, list[Job]]]:
        """Yield each schedule with its jobs, oldest first."""
        found: dict[int, list[Job]] = defaultdict(list)
        for job in self.jobs.values():
            if job.schedule_id is not None:
                found[job.schedule_id].append(job)
        for schedule in self.schedules.values():
            yield schedule, found[schedule.id]

    def _has_effects(self) -> bool:
        catalogue = "sqlite_master" if _is_sqlite(self.connection) else "information_schema.tables"
        column = "name" if _is_sqlite(self.connection) else "table_name"
        names = self.connection.execute(f"SELECT {column} FROM {catalogue}").fetchall()
        return self.effects_table in {row[0] for row in names}


def _is_sqlite(connection: Connection) -> bool:
    return type(connection).__module__.partition(".")[0] == "sqlite3"
