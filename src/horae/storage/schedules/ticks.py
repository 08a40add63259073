"""The ledger of nominal times: each decision and its reason, written together with its effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    RowMapping,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    tuple_,
    update,
)

from horae.domain.jobs import JobId
from horae.domain.schedules import BESIDE, Decision, Reason
from horae.domain.times import MICROSECOND
from horae.storage.engine import (
    Instant,
    database_now,
    json_rows,
    member_of,
    readable,
    readable_page,
)
from horae.storage.jobs import jobs
from horae.storage.schedules.tables import ticks
from horae.storage.schedules.writing import rows_as_json


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTicks:
    """A row of the ledger; `until` and `count` tell which nominal times it stands for, and how
    many.

    `retried_as`: the newest job that repeats its run; `waiting_reason`: why the newest job has not
    started, if it is pending.
    """

    schedule_id: int
    nominal_time: datetime
    until: datetime
    count: int
    decision: str
    reason: str
    job_id: int | None
    decided_at: datetime
    decided_by: str | None
    retried_as: int | None = None
    waiting_reason: str | None = None

    @property
    def newest_job(self) -> int | None:
        """The job that ran last for this time, or runs now."""
        return self.retried_as or self.job_id


_LATER: Final = frozenset({"decided_at", "retried_as"})
_GIVEN: Final = tuple(column.name for column in ticks.c if column.name not in _LATER)


_row = json_rows("rows", **{name: ticks.c[name].type for name in _GIVEN})
ADD: Final = insert(ticks).from_select(
    [*_GIVEN, "decided_at"],
    select(*(_row.c[name] for name in _GIVEN), database_now()),
    include_defaults=False,
)
_upto = json_rows(
    "upto", schedule_id=ticks.c.schedule_id.type, nominal_time=ticks.c.nominal_time.type
)
_old, _newer = ticks.alias("old"), ticks.alias("newer")
_kept = select(func.min(jobs.c.nominal_time)).where(
    jobs.c.schedule_id == _upto.c.schedule_id, jobs.c.nominal_time.is_not(None)
)
# These are two queries, because there is an index for each.
_first_run = _kept.where(jobs.c.retry_of.is_(None)).correlate(_upto).scalar_subquery()
_first_retry = _kept.where(jobs.c.retry_of.is_not(None)).correlate(_upto).scalar_subquery()
_last = (
    select(func.max(_newer.c.nominal_time))
    .where(_newer.c.schedule_id == _upto.c.schedule_id)
    .correlate(_upto)
    .scalar_subquery()
)
_forgotten = (
    select(_old.c.schedule_id, _old.c.nominal_time)
    .join(
        _upto,
        and_(
            _old.c.schedule_id == _upto.c.schedule_id, _old.c.nominal_time <= _upto.c.nominal_time
        ),
    )
    .where(
        _first_run.is_(None) | (_old.c.nominal_time < _first_run),
        _first_retry.is_(None) | (_old.c.nominal_time < _first_retry),
        _old.c.nominal_time < _last,
    )
)
FORGET: Final = delete(ticks).where(
    tuple_(ticks.c.schedule_id, ticks.c.nominal_time).in_(_forgotten)
)
_before = ticks.alias("before")
EXTEND: Final = (
    update(ticks)
    .where(
        ticks.c.schedule_id == bindparam("schedule"),
        ticks.c.nominal_time
        == select(func.max(_before.c.nominal_time))
        .where(
            _before.c.schedule_id == bindparam("schedule"),
            _before.c.nominal_time <= bindparam("last_tick"),
        )
        .scalar_subquery(),
        ticks.c.until == bindparam("last_tick"),
        ticks.c.decision == Decision.SKIPPED.value,
        ticks.c.reason == Reason.EXCLUDED.value,
    )
    .values(
        until=bindparam("upto"),
        count=ticks.c.count + bindparam("more", type_=BigInteger()),
        decided_at=database_now(),
        decided_by=bindparam("by"),
    )
)
_of_schedule: Final = ticks.c.schedule_id == bindparam("schedule_id")
NEWEST_FIRST: Final = select(ticks).where(_of_schedule).order_by(ticks.c.nominal_time.desc())
"""The ledger of a schedule."""
PAGE: Final = NEWEST_FIRST.limit(bindparam("limit"))
MOST_SEARCHED: Final = 20_000
"""The number of rows that one request searches for certain decisions: a fast schedule has many."""
SEARCHED: Final = (
    NEWEST_FIRST.with_only_columns(ticks.c.nominal_time).offset(MOST_SEARCHED).limit(1)
)
_moment: Final = bindparam("moment", type_=Instant())
AT: Final = NEWEST_FIRST.where(ticks.c.nominal_time <= _moment).limit(1)
AT_NOT_BESIDE: Final = AT.where(ticks.c.reason.not_in([each.value for each in BESIDE]))
FOLLOWING: Final = (
    select(ticks)
    .where(_of_schedule, ticks.c.nominal_time > _moment)
    .order_by(ticks.c.nominal_time)
    .limit(1)
)
_before_moment = (
    NEWEST_FIRST.where(ticks.c.nominal_time < _moment).limit(1_000).subquery("before_moment")
)
PREVIOUS_RUN: Final = (
    select(_before_moment)
    .where(_before_moment.c.decision == Decision.FIRED.value)
    .order_by(_before_moment.c.nominal_time.desc())
    .limit(1)
)
OLDEST: Final = select(func.min(ticks.c.nominal_time)).where(_of_schedule)


def newest_job(row: Any) -> Any:
    """Select the job that ran last for a time that was fired, or runs now."""
    return func.coalesce(row.retried_as, row.job_id)


NEWEST_JOB: Final = newest_job(ticks.c)
_at_time: Final = (
    ticks.c.schedule_id == bindparam("schedule"),
    ticks.c.nominal_time == bindparam("moment"),
)
_fired_time: Final = (*_at_time, ticks.c.decision == Decision.FIRED.value)
IS_DECIDED: Final = select(exists().where(*_at_time))
RUN_OF: Final = select(NEWEST_JOB).where(*_fired_time)
NOTE_RETRY: Final = update(ticks).where(*_fired_time).values(retried_as=bindparam("retry"))
LATEST: Final = select(func.max(ticks.c.nominal_time)).where(
    _of_schedule, ticks.c.nominal_time < bindparam("before")
)


def extend_excluded(connection: Connection, entry: Mapping[str, Any], last_tick: datetime) -> bool:
    """Add excluded times to the row of those before them, and return whether there is one.

    In this way a schedule that is excluded for ever has one row, however long it goes on.
    """
    changed = connection.execute(
        EXTEND,
        {
            "schedule": entry["schedule_id"],
            "last_tick": last_tick,
            "upto": entry["until"],
            "more": entry["count"],
            "by": entry["decided_by"],
        },
    )
    return changed.rowcount == 1


def add(connection: Connection, decided: Sequence[Mapping[str, Any]]) -> None:
    """Write decisions, given by all columns except `decided_at`.

    The primary key rejects a second decision about the same nominal time, and thereby the
    transaction.
    """
    connection.execute(ADD, {"rows": rows_as_json(connection, decided)})


def is_decided(connection: Connection, schedule_id: int, moment: datetime) -> bool:
    """Return whether a row of the ledger begins at a nominal time."""
    found: bool = connection.execute(
        IS_DECIDED, {"schedule": schedule_id, "moment": moment}
    ).scalar_one()
    return found


def run_of(connection: Connection, schedule_id: int, moment: datetime) -> JobId | None:
    """Return the job that ran last for a nominal time; None if none did."""
    found = connection.scalar(RUN_OF, {"schedule": schedule_id, "moment": moment})
    return None if found is None else JobId(found)


def note_retry(connection: Connection, schedule_id: int, moment: datetime, retry: JobId) -> None:
    """Note that a job repeats the run of a nominal time; the decision about it does not change."""
    connection.execute(NOTE_RETRY, {"schedule": schedule_id, "moment": moment, "retry": retry})


def forget(connection: Connection, upto: Mapping[int, datetime]) -> None:
    """Delete decisions about nominal times up to a moment, whose jobs are deleted.

    A schedule's ledger goes back as far as its jobs do, without gaps: decisions from its oldest job
    on are kept, and so is its last decision.
    """
    given = [
        {"schedule_id": schedule_id, "nominal_time": moment} for schedule_id, moment in upto.items()
    ]
    connection.execute(FORGET, {"upto": rows_as_json(connection, given)})


def latest(connection: Connection, schedule_id: int, before: datetime) -> datetime | None:
    """Return the latest nominal time before a moment that has a decision."""
    moment: datetime | None = connection.execute(
        LATEST, {"schedule_id": schedule_id, "before": before}
    ).scalar_one()
    return moment


@dataclass(frozen=True, slots=True)
class LedgerPage:
    """A part of the ledger, the newest first; `next` is `before` of the following part, None on the
    last.
    """

    ticks: list[StoredTicks]
    next: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRows:
    """The rows of a ledger around a moment.

    `at`: the one that stands for it, or else the last one that begins before it; `following`: the
    first one after it; `previous_run`: the last run before it. `oldest`: the first nominal time of
    the ledger.
    """

    at: StoredTicks | None
    following: StoredTicks | None
    previous_run: StoredTicks | None
    oldest: datetime | None


def around(connection: Connection, schedule_id: int, moment: datetime) -> LedgerRows:
    """Return the rows around a moment."""
    values = {"schedule_id": schedule_id, "moment": moment}

    def one(statement: Any) -> StoredTicks | None:
        rows = readable(
            ticks.name,
            connection.execute(statement, values).mappings(),
            lambda row: StoredTicks(**row),
        )
        return next(iter(rows), None)

    at = one(AT)
    if at is not None and at.until < moment and at.reason in BESIDE:
        around_it = one(AT_NOT_BESIDE)
        if around_it is not None and around_it.until >= moment:
            at = around_it
    return LedgerRows(
        at=at,
        following=one(FOLLOWING),
        previous_run=one(PREVIOUS_RUN),
        oldest=connection.execute(OLDEST, values).scalar_one(),
    )


def page(
    connection: Connection,
    schedule_id: int,
    limit: int,
    before: datetime | None = None,
    decisions: Sequence[str] = (),
) -> LedgerPage:
    """Return decisions about the nominal times before a moment, the newest first.

    With `decisions` only those; then a page may be short, or empty, and be followed by another one.
    """
    chosen, floor = PAGE, None
    values: dict[str, Any] = {"schedule_id": schedule_id, "limit": limit + 1}
    if decisions:
        searched = SEARCHED if before is None else SEARCHED.where(ticks.c.nominal_time < before)
        floor = connection.scalar(searched, values)
        chosen = chosen.where(member_of(ticks.c.decision, "decisions"))
        values["decisions"] = list(decisions)
    if floor is not None:
        chosen = chosen.where(ticks.c.nominal_time > floor)

    def fetch(before: datetime | None) -> Sequence[RowMapping]:
        statement = chosen if before is None else chosen.where(ticks.c.nominal_time < before)
        return connection.execute(statement, values).mappings().all()

    found = readable_page(
        ticks.name,
        fetch,
        lambda row: StoredTicks(**row),
        start=before,
        place=lambda row: row["nominal_time"],
        limit=limit + 1,
    )
    if len(found) > limit:
        return LedgerPage(found[:limit], found[limit - 1].nominal_time)
    return LedgerPage(found, None if floor is None else floor + MICROSECOND)
