"""The ledger of nominal times: what was decided about each, and why. Written in the transaction that acts on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict

from sqlalchemy import BigInteger, Connection, Insert, RowMapping, String, bindparam, func, insert, select
from sqlalchemy.types import TypeEngine

from horae.storage.engine.dialect import Instant, PerDialect, database_now, json_rows
from horae.storage.engine.unreadable import readable_page
from horae.storage.schedules.repository import rows_as_json
from horae.storage.schedules.tables import ticks


class NewTicks(TypedDict):
    """One decision about one nominal time, or about a run of them."""

    schedule_id: int
    nominal_time: datetime
    until: datetime
    count: int
    decision: str
    reason: str
    job_id: int | None
    decided_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTicks:
    """A row of the ledger; `until` and `count` where it stands for several nominal times."""

    schedule_id: int
    nominal_time: datetime
    until: datetime
    count: int
    decision: str
    reason: str
    job_id: int | None
    decided_at: datetime
    decided_by: str | None


_TICK: Final[Mapping[str, TypeEngine[Any]]] = {
    "schedule_id": BigInteger(),
    "nominal_time": Instant(),
    "until": Instant(),
    "count": BigInteger(),
    "decision": String(),
    "reason": String(),
    "job_id": BigInteger(),
    "decided_by": String(),
}


def _add(dialect: str) -> Insert:
    row = json_rows(dialect, "rows", **_TICK)
    source = select(*(row.c[name] for name in _TICK), database_now())
    return insert(ticks).from_select([*_TICK, "decided_at"], source, include_defaults=False)


ADD: Final = PerDialect(_add)
PAGE: Final = (
    select(ticks)
    .where(ticks.c.schedule_id == bindparam("schedule_id"))
    .order_by(ticks.c.nominal_time.desc())
    .limit(bindparam("limit"))
)
LATEST: Final = select(func.max(ticks.c.nominal_time)).where(
    ticks.c.schedule_id == bindparam("schedule_id"), ticks.c.nominal_time < bindparam("before", type_=Instant())
)


def add(connection: Connection, decided: Sequence[NewTicks]) -> None:
    """Write decisions. A nominal time that has one already is refused by its key, and the transaction with it."""
    connection.execute(ADD.on(connection), {"rows": rows_as_json(connection, decided)})


def latest(connection: Connection, schedule_id: int, before: datetime) -> datetime | None:
    """The latest nominal time that has a decision, from before a moment."""
    moment: datetime | None = connection.execute(LATEST, {"schedule_id": schedule_id, "before": before}).scalar_one()
    return moment


def page(connection: Connection, schedule_id: int, limit: int, before: datetime | None = None) -> list[StoredTicks]:
    """The newest decisions first, from before a moment."""

    def fetch(before: datetime | None) -> Sequence[RowMapping]:
        statement = PAGE if before is None else PAGE.where(ticks.c.nominal_time < before)
        return connection.execute(statement, {"schedule_id": schedule_id, "limit": limit}).mappings().all()

    return readable_page(
        ticks.name,
        fetch,
        lambda row: StoredTicks(**row),
        start=before,
        place=lambda row: row["nominal_time"],
        limit=limit,
    )
