"""What code declares about queues, and how it comes into force.

A deployment changes only the fields whose declaration differs from the one that was deployed
before. So what was changed at run time stays in force until the code declares something else for
the same field (as with schedules, ADR 26).
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Text, bindparam, cast, select, update

from horae.storage.engine import Json
from horae.storage.jobs import queues
from horae.storage.queues.queues import PUT, file_again

DECLARABLE: Final = ("concurrency_limit", "fair_by", "limits")
"""The columns that code may declare."""
_name: Final[Any] = bindparam("queue")
LOCK: Final = (
    select(queues.c.name, queues.c.declared, *(queues.c[name] for name in DECLARABLE))
    .where(queues.c.name == _name)
    .with_for_update()
)
DECLARED: Final = select(queues.c.name, queues.c.declared).where(queues.c.declared.is_not(None))


def _new_value(field: str) -> Any:
    column = queues.c[field].type
    if isinstance(column, Json):
        return cast(bindparam(f"new_{field}", type_=Text()), Json())
    return bindparam(f"new_{field}", type_=column)


WRITE: Final = (
    update(queues)
    .where(queues.c.name == _name)
    .values({field: _new_value(field) for field in (*DECLARABLE, "declared")})
)


class QueueChange(NamedTuple):
    """A queue whose settings were changed, with the fields that differ, before and after."""

    name: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]


def declare(
    connection: Connection, module: str, declared: Mapping[str, Mapping[str, Any]]
) -> list[QueueChange]:
    """Replace what a module declares about queues; return those whose settings have changed.

    The declared fields are given by queue name; rows are locked in one order.
    """
    changes: list[QueueChange] = []
    before = {
        row.name for row in connection.execute(DECLARED) if row.declared.get("module") == module
    }
    for name in sorted(before | declared.keys()):
        connection.execute(PUT, {"name": name})
        row = connection.execute(LOCK, {"queue": name}).one()
        old, new = row.declared or {}, declared.get(name, {})
        if name not in declared and old.get("module") != module:
            continue  # another module declares it now
        differing = [field for field in DECLARABLE if new.get(field) != old.get(field)]
        # What is no longer declared goes, unless it was changed at run time.
        changed = {
            field: new.get(field)
            for field in differing
            if field in new or getattr(row, field) == old[field]
        }
        _write(connection, row, changed, {**new, "module": module} if name in declared else None)
        if after := {
            field: value for field, value in changed.items() if value != getattr(row, field)
        }:
            changes.append(
                QueueChange(name, {field: getattr(row, field) for field in after}, after)
            )
    return changes


def reset(connection: Connection, name: str) -> bool:
    """Reset a queue to what is declared for it; return False if nothing is declared."""
    row = connection.execute(LOCK, {"queue": name}).one_or_none()
    if row is None or row.declared is None:
        return False
    _write(connection, row, {field: row.declared.get(field) for field in DECLARABLE}, row.declared)
    return True


def _write(
    connection: Connection, row: Any, changed: Mapping[str, Any], declared: Mapping[str, Any] | None
) -> None:
    after = {field: changed.get(field, getattr(row, field)) for field in DECLARABLE}
    given = {**after, "declared": declared}
    values = {
        f"new_{field}": json.dumps(value) if isinstance(value, Mapping) else value
        for field, value in given.items()
    }
    connection.execute(WRITE, {"queue": row.name, **values})
    if any(after[field] != getattr(row, field) for field in ("fair_by", "limits")):
        file_again(connection, row.name)
