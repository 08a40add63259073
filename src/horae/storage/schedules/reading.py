"""Read schedules: one by id or name, pages, recent changes, their runs and errors."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    not_,
    or_,
    select,
    tuple_,
)

from horae.domain.jobs import FAILED_OUTCOMES, JobId, JobState
from horae.domain.schedules import CALENDAR, DisabledReason, Overlap
from horae.domain.storable import LARGEST_ID, is_storable
from horae.quoting import did_you_mean
from horae.storage.engine import (
    LONGEST_TOTAL_DURATION,
    MOST_CONSECUTIVE,
    MOST_RUNS,
    MOST_VERSIONS,
    check_kinds,
    database_now,
    kinds_of,
    member_of,
    read,
    readable,
    readable_page,
    seconds_ago,
)
from horae.storage.jobs import IS_OPEN, job_attempts, jobs
from horae.storage.schedules.rows import FailedRun, StoredSchedule
from horae.storage.schedules.tables import schedule_statistics, schedules

_AS_TEXT: Final = frozenset({"params", "rules", "overrides", "calendar_days", "limits", "tags"})
_COLUMNS: Final = (
    *(
        cast(schedules.c[name], Text()).label(name) if name in _AS_TEXT else schedules.c[name]
        for name in StoredSchedule._fields
        if name in schedules.c
    ),
    *(
        schedule_statistics.c[name]
        for name in StoredSchedule._fields
        if name in schedule_statistics.c and name not in schedules.c
    ),
    database_now().label("now"),
)
ALL: Final = select(*_COLUMNS).select_from(
    schedules.join(schedule_statistics, schedule_statistics.c.schedule_id == schedules.c.id)
)
"""Schedules with their statistics, as `stored` reads them."""
_KINDS: Final = kinds_of(ALL.selected_columns)
_KINDS_IN_ORDER: Final = [_KINDS.get(name, object) for name in StoredSchedule._fields]
BY_IDS: Final = ALL.where(member_of(schedules.c.id, "ids"))
WITH_OPTIONS: Final = ALL.where(
    or_(
        schedules.c.limits.is_not(None),
        schedules.c.tags.is_not(None),
        schedules.c.max_attempts.is_not(None),
    )
)
OF_TYPES: Final = ALL.where(member_of(schedules.c.job_type, "types"))
_is_open: Final = case((schedules.c.run_token.is_not(None), 1), else_=0)
_overlaps: Final = cast(schedules.c.rules, Text()).contains(f'"{Overlap.ALLOW_ALL.value}"')
_is_failing: Final = or_(
    schedules.c.disabled_reason == DisabledReason.RETRIES_USED_UP.value,
    schedule_statistics.c.consecutive_failures > 0,
    # An open run counts as a crash until it ends; where runs overlap, their number is not stored.
    and_(schedule_statistics.c.consecutive_crashes > _is_open, not_(_overlaps)),
)
_rank: Final = case((_is_failing, 0), else_=1)
_module_and_name: Final = (schedules.c.module, schedules.c.name)
CHANGED: Final = (
    select(schedules.c.id, schedules.c.version)
    .where(schedules.c.updated_at > seconds_ago("within"))
    .order_by(schedules.c.updated_at)
    .limit(bindparam("limit"))
)
COUNT_BY_PARTITION: Final = (
    select(schedules.c.partition, func.count().label("schedules"))
    .where(schedules.c.enabled)
    .group_by(schedules.c.partition)
)
FIND_BY_NAME: Final = (
    select(schedules.c.id)
    .where(schedules.c.name == bindparam("name"))
    .order_by(schedules.c.module, schedules.c.id)
)
IDS_BY_NAME: Final = select(schedules.c.name, schedules.c.id).where(
    member_of(schedules.c.name, "names")
)
NAMES_OF: Final = select(schedules.c.id, schedules.c.name).where(member_of(schedules.c.id, "ids"))
# There may be a million schedules.
NAMES: Final = select(schedules.c.name).limit(1000)
GET: Final = ALL.where(schedules.c.id == bindparam("schedule_id"))
FAILED_RUNS: Final = (
    select(
        jobs.c.schedule_id,
        jobs.c.id.label("job_id"),
        jobs.c.nominal_time,
        *(
            job_attempts.c[name]
            for name in ("started_at", "finished_at", "outcome", "error", "traceback")
        ),
    )
    .join(job_attempts, job_attempts.c.job_id == jobs.c.id)
    .where(
        jobs.c.schedule_id.is_not(None),
        job_attempts.c.outcome.in_(sorted(FAILED_OUTCOMES)),
    )
    .order_by(jobs.c.id.desc(), job_attempts.c.lease.desc())
    .limit(bindparam("limit"))
)

_has_begun: Final = case((jobs.c.state == JobState.PENDING, 0), else_=1)
OPEN_RUNS: Final = (
    select(jobs.c.schedule_id, func.count(), func.max(jobs.c.started_at), func.max(_has_begun) == 0)
    .where(IS_OPEN, member_of(jobs.c.schedule_id, "ids"))
    .group_by(jobs.c.schedule_id)
)
ONE_RUN: Final = select(jobs.c.schedule_id, 1, jobs.c.started_at, _has_begun == 0).where(
    jobs.c.schedule_id.is_not(None), member_of(jobs.c.id, "ids")
)
LIVE_RUNS: Final = (
    select(jobs.c.id, jobs.c.created_at)
    .where(jobs.c.schedule_id == bindparam("schedule_id"), IS_OPEN)
    .order_by(jobs.c.id)
)

_BOUNDS: Final[Mapping[str, float]] = {
    "version": MOST_VERSIONS,
    **dict.fromkeys(
        ("total_runs", "total_successes", "total_failures", "total_crashes"), MOST_RUNS
    ),
    **dict.fromkeys(("total_duration", "total_duration_failures"), LONGEST_TOTAL_DURATION),
    **dict.fromkeys(("consecutive_failures", "consecutive_crashes"), MOST_CONSECUTIVE),
}
_bounded: Final = attrgetter(*_BOUNDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFilter:
    """Which schedules to list; None means any.

    `name`: part of it. `failing_first`: those that fail come first (see `is_failing`). `after`: the
    place of the one before, as `place_of` returns it.
    """

    module: str | None = None
    job_type: str | None = None
    name: str | None = None
    enabled: bool | None = None
    failing_first: bool = False
    after: tuple[int, str, str] | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """The number of a schedule's open runs, when the last one that has begun did so, and whether
    none has begun.
    """

    count: int
    began: datetime | None = None
    wait: bool = False


def stored(row: Row[Any]) -> StoredSchedule:
    """Return a row of `ALL` as a value; raises ValueError for a value that it cannot have."""
    if not all(map(isinstance, row, _KINDS_IN_ORDER)):  # thousands may be read at once
        check_kinds(row._mapping, _KINDS)  # pyright: ignore[reportPrivateUsage]
    made = StoredSchedule._make(row)
    if not all(
        abs(value) < most for value, most in zip(_bounded(made), _BOUNDS.values(), strict=True)
    ):
        raise ValueError("its version, or a count or duration of its statistics, is too large")
    return made


def schedules_in(
    connection: Connection, statement: Select[Any], **values: Any
) -> list[StoredSchedule]:
    """Return the schedules that a statement finds, one like `ALL`; unreadable ones are left out."""
    return readable(schedules.name, connection.execute(statement, values), stored)


def find(connection: Connection, reference: int | str) -> int | None:
    """Return the id of the schedule of this name, or the given id; None if it cannot exist.

    If two schedules have this name, the one that was added at run time is preferred to the declared
    one.
    """
    if isinstance(reference, int):
        return reference if abs(reference) <= LARGEST_ID else None
    if not is_storable(reference):
        return None
    return connection.scalars(FIND_BY_NAME, {"name": reference}).first()


def ids_by_name(connection: Connection, names: Sequence[str]) -> dict[str, list[int]]:
    """Return the ids of the schedules with these names, which several modules may have."""
    found: dict[str, list[int]] = {}
    for row in connection.execute(IDS_BY_NAME, {"names": names}):
        found.setdefault(row.name, []).append(row.id)
    return found


def names_of(connection: Connection, ids: Collection[int]) -> dict[int, str]:
    """Return the names of the schedules with these ids that exist."""
    return {row.id: row.name for row in connection.execute(NAMES_OF, {"ids": ids})}


def similar_to(connection: Connection, reference: int | str) -> str:
    """Return a question that suggests a schedule of similar name; empty if there is none."""
    return "" if isinstance(reference, int) else did_you_mean(reference, connection.scalars(NAMES))


def get(connection: Connection, reference: int | str) -> StoredSchedule | None:
    """Return the schedule of this id or name."""
    row = connection.execute(GET, {"schedule_id": find(connection, reference)}).one_or_none()
    return None if row is None else read(schedules.name, row, stored)


def of_module(connection: Connection, module: str, name: str) -> StoredSchedule | None:
    """Return the schedule of this name that a module declares."""
    found = ALL.where(schedules.c.module == module, schedules.c.name == name)
    rows = schedules_in(connection, found)
    return rows[0] if rows else None


def with_calendar(connection: Connection) -> list[StoredSchedule]:
    """Return the schedules whose exclusion calendar has a calendar function."""
    found = ALL.where(cast(schedules.c.rules, Text()).contains(f'"{CALENDAR}', autoescape=True))
    return schedules_in(connection, found)


def with_job_options(connection: Connection, job_types: Collection[str]) -> list[StoredSchedule]:
    """Return the schedules of these job types, and those with limits, tags or several attempts."""
    found = schedules_in(connection, WITH_OPTIONS)
    if not job_types:
        return found  # an index has found these; the rest reads all schedules
    rows = schedules_in(connection, OF_TYPES, types=sorted(job_types))
    return list({row.id: row for row in (*found, *rows)}.values())


def by_ids(connection: Connection, ids: Collection[int]) -> list[StoredSchedule]:
    """Return these schedules, in any order and without locks; missing ones are left out."""
    return schedules_in(connection, BY_IDS, ids=sorted(ids))


def all_of(connection: Connection, module: str | None = None) -> list[StoredSchedule]:
    """Return all schedules, or all of one module, by module and name."""
    if module is not None and not is_storable(module):
        return []
    chosen = ALL if module is None else ALL.where(schedules.c.module == module)
    return schedules_in(connection, chosen.order_by(schedules.c.module, schedules.c.name))


def is_failing(row: Any) -> bool:
    """Return whether the last runs of a schedule failed or crashed, or it gave up after failures.

    The list that shows these first has the same rule in SQL.
    """
    if row.disabled_reason == DisabledReason.RETRIES_USED_UP or row.consecutive_failures:
        return True
    overlaps = f'"{Overlap.ALLOW_ALL.value}"' in row.rules
    return row.consecutive_crashes > int(row.run_token is not None) and not overlaps


def place_of(row: Any) -> tuple[int, str, str]:
    """Return the place of a schedule in both orders of a list."""
    return int(not is_failing(row)), row.module, row.name


def page(connection: Connection, wanted: ScheduleFilter) -> list[StoredSchedule]:
    """Return a page by module and name; those that fail may come first."""
    order = (_rank, *_module_and_name) if wanted.failing_first else _module_and_name
    chosen = ALL.order_by(*order).limit(wanted.limit)
    for column in (schedules.c.module, schedules.c.job_type, schedules.c.enabled):
        if (value := getattr(wanted, column.name)) is not None:
            chosen = chosen.where(column == value)
    if wanted.name is not None:
        chosen = chosen.where(schedules.c.name.icontains(wanted.name, autoescape=True))

    def fetch(after: tuple[int, str, str] | None) -> Sequence[Row[Any]]:
        if after is None:
            return connection.execute(chosen).all()
        place = after if wanted.failing_first else after[1:]
        return connection.execute(chosen.where(tuple_(*order) > tuple_(*place))).all()

    return readable_page(
        schedules.name,
        fetch,
        stored,
        start=wanted.after,
        place=place_of,
        limit=wanted.limit,
    )


def find_changed(connection: Connection, within: float, limit: int) -> dict[int, int]:
    """Return id and version of schedules changed in the last `within` seconds, oldest first."""
    rows = connection.execute(CHANGED, {"within": within, "limit": limit})
    return {row.id: row.version for row in rows}


def count_by_partition(connection: Connection) -> dict[int, int]:
    """Return the number of enabled schedules in each partition that has any."""
    rows = connection.execute(COUNT_BY_PARTITION)
    return {row.partition: row.schedules for row in rows}


def open_runs(
    connection: Connection, tokens: Collection[int], overlapping: Collection[int]
) -> dict[int, OpenRuns]:
    """Return open runs by schedule id.

    `tokens`: the ids of jobs that may be open; `overlapping`: the schedules all of whose open runs
    are counted.
    """
    asked = ((ONE_RUN, tokens), (OPEN_RUNS, overlapping))
    rows = (connection.execute(each, {"ids": sorted(ids)}) for each, ids in asked if ids)
    return {
        schedule_id: OpenRuns(count, began, bool(wait))
        for schedule_id, count, began, wait in chain.from_iterable(rows)
    }


def live_runs(connection: Connection, schedule_id: int) -> list[tuple[JobId, datetime]]:
    """Return the open jobs of a schedule and when each was created, the oldest first."""
    return [
        (JobId(row.id), row.created_at)
        for row in connection.execute(LIVE_RUNS, {"schedule_id": schedule_id})
    ]


def failed_runs(connection: Connection, schedule_id: int | None, limit: int) -> list[FailedRun]:
    """Return the runs that failed or crashed, of one schedule or of all, the newest first."""
    chosen = (
        FAILED_RUNS if schedule_id is None else FAILED_RUNS.where(jobs.c.schedule_id == schedule_id)
    )
    return readable(
        jobs.name,
        connection.execute(chosen, {"limit": limit}).mappings(),
        lambda row: FailedRun(**row),
    )
