"""Limits by key: their numbers, as declared and as changed at run time, and what they hold back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Text, bindparam, case, cast, func, null, select, update

from horae.domain.limits import LimitNumbers
from horae.storage.engine import (
    Json,
    check_kinds,
    database_now,
    insert,
    kinds_of,
    microseconds_now,
    readable,
)
from horae.storage.jobs import WAITS_IN_LANE, buckets, jobs, lanes, queues
from horae.storage.jobs.limit_tables import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitView:
    """A limit by key.

    `declared`: the numbers in the code that created the latest job; `changed`: those that replace
    them, set at run time. `held_back`: due jobs that wait only because of this limit, as far as
    nodes have looked; `held_back_since`: since when the one is due that has waited longest. `keys`:
    how many keys hold jobs back.
    """

    name: str
    declared: LimitNumbers | None
    changed: LimitNumbers | None
    held_back: int = 0
    held_back_since: datetime | None = None
    keys: int = 0

    @property
    def numbers(self) -> LimitNumbers | None:
        """The numbers in force."""
        return self.changed or self.declared


_held = (
    select(
        buckets.c.limit_name.label("name"),
        func.count().label("held_back"),
        func.min(jobs.c.run_at).label("held_back_since"),
        func.count(buckets.c.id.distinct()).label("keys"),
    )
    .select_from(
        buckets.join(lanes, lanes.c.held_by == buckets.c.id).join(
            jobs, jobs.c.lane_id == lanes.c.id
        )
    )
    .where(WAITS_IN_LANE, jobs.c.run_at <= database_now())
    .group_by(buckets.c.limit_name)
    .subquery("held")
)
VIEW: Final = (
    select(
        limits.c.name,
        limits.c.declared,
        limits.c.changed,
        func.coalesce(_held.c.held_back, 0).label("held_back"),
        _held.c.held_back_since,
        func.coalesce(_held.c["keys"], 0).label("keys"),
    )
    .select_from(limits.outerjoin(_held, _held.c.name == limits.c.name))
    .order_by(limits.c.name)
)
_KINDS: Final = kinds_of(VIEW.selected_columns)
OF_QUEUES: Final = select(queues.c.name, queues.c.limits).where(queues.c.limits.is_not(None))
SETTINGS: Final = select(limits.c.declared, limits.c.changed).where(
    limits.c.name == bindparam("limit_name")
)


DECLARE: Final = (
    insert(limits)
    .values(
        name=bindparam("name"),
        declared=cast(bindparam("numbers", type_=Text()), Json()),
        concurrency=bindparam("most"),
    )
    .on_conflict_do_nothing(index_elements=[limits.c.name])
)
CHANGE: Final = (
    update(limits)
    .where(limits.c.name == bindparam("limit_name"))
    .values(
        changed=cast(bindparam("numbers", type_=Text()), Json()),
        concurrency=bindparam("most"),
    )
)
# With this the next claim reads again what the old numbers held back until later.
REOPEN: Final = (
    update(buckets)
    .where(buckets.c.limit_name == bindparam("of_limit"), buckets.c.opens_at.is_not(None))
    .values(opens_at=case((buckets.c.waiting, microseconds_now()), else_=null()))
)


def view(connection: Connection) -> list[LimitView]:
    """Return every limit that a job was created under, or that was changed, by name."""

    def limit(row: Mapping[str, Any]) -> LimitView:
        check_kinds(row, _KINDS)
        given: dict[str, Any] = dict(row)
        for name in ("declared", "changed"):
            given[name] = None if row[name] is None else LimitNumbers.from_json(row[name])
        return LimitView(**given)

    return readable(limits.name, connection.execute(VIEW).mappings(), limit)


def of_queues(connection: Connection) -> dict[str, LimitNumbers]:
    """Return the numbers of the limits by key that queues have, also before their first job."""

    def numbers(row: Mapping[str, Any]) -> dict[str, LimitNumbers]:
        return {
            name: LimitNumbers.from_json(each["numbers"]) for name, each in row["limits"].items()
        }

    found = readable(queues.name, connection.execute(OF_QUEUES).mappings(), numbers)
    return {name: each for queue in found for name, each in queue.items()}


def settings(connection: Connection, name: str) -> Mapping[str, Any] | None:
    """Return the stored numbers of a limit, None if it has no row."""
    row = connection.execute(SETTINGS, {"limit_name": name}).mappings().one_or_none()
    return None if row is None else dict(row)


def change(
    connection: Connection, name: str, changed: LimitNumbers | None, declared: LimitNumbers | None
) -> None:
    """Replace the numbers of a limit; None restores the declared ones.

    `declared`: the numbers to store if it has no row.
    """
    if declared is not None:
        values = {
            "name": name,
            "numbers": json.dumps(declared.to_json()),
            "most": declared.concurrency,
        }
        connection.execute(DECLARE, values)
    stored = settings(connection, name) or {}
    in_force = changed or (
        LimitNumbers.from_json(stored["declared"]) if stored.get("declared") else declared
    )
    numbers = None if changed is None else json.dumps(changed.to_json())
    most = None if in_force is None else in_force.concurrency
    connection.execute(CHANGE, {"limit_name": name, "numbers": numbers, "most": most})
    connection.execute(REOPEN, {"of_limit": name})
