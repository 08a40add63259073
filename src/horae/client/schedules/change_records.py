"""The values of a schedule in audit entries."""

import json
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection

from horae.client.changes import LoggedChange, Values
from horae.client.shown_parameters import shown_parameters
from horae.storage.schedules import reading
from horae.types import Registry

_COLUMNS: Final = (
    "name",
    "job_type",
    "trigger",
    "timezone",
    "queue",
    "priority",
    "enabled",
    "disabled_reason",
    "pause_note",
    "next_start",
    "skip_until",
    "skip_reason",
    "moved_start",
)


def change_of(action: str, reference: int | str, registry: Registry) -> LoggedChange:
    """Return the audited change of a schedule."""
    return LoggedChange.of(
        action, str(reference), partial(snapshot, reference=reference, registry=registry)
    )


def run_of(reference: int | str) -> LoggedChange:
    """Return the audited change of a run by hand."""
    return LoggedChange(
        "schedule.run", str(reference), after=lambda _, decided: {"job": decided.fired}
    )


def snapshot(connection: Connection, reference: int | str, registry: Registry) -> Values:
    """Return the definition of a schedule and its next start; secret parameters are masked."""
    row = reading.get(connection, reference)
    if row is None:
        return None
    rules: dict[str, Any] = json.loads(row.rules)
    rules.pop("key", None)
    columns: dict[str, Any] = {name: getattr(row, name) for name in _COLUMNS}
    params = None if row.params is None else json.loads(row.params)
    return {**columns, **rules, "params": shown_parameters(registry, row.job_type, params)}
