"""What a database knows that a forecast needs: deployed schedules, measured runs, pauses and limits
of queues.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection

from horae.domain.forecast.scenario import Bodies, Body, ForecastQueue
from horae.domain.limits.numbers import LimitNumbers
from horae.domain.schedules.schedule import DisabledReason
from horae.storage.engine.database import Database
from horae.storage.migrations import runner
from horae.storage.operations import limits
from horae.storage.queues import queues
from horae.storage.queues.queues import QueueView
from horae.storage.schedules import deployments, measured, reading
from horae.storage.schedules.rows import StoredSchedule

MOST_MEASURED: Final = 100
"""Runs of each schedule that are read: enough to see how durations vary, few enough to be recent.
"""


@dataclass(frozen=True, slots=True)
class Known:
    """The deployed schedules of one module by name, the bodies of their latest runs, and the rules
    of all queues.

    `changed_limits`: the numbers of limits by key that were set at run time, by the name of the
    limit. `schema_hash` is that of the current deployment, None if the module is not deployed.
    """

    schedules: Mapping[str, StoredSchedule] = field(default_factory=dict[str, StoredSchedule])
    bodies: Mapping[str, Bodies] = field(default_factory=dict[str, Bodies])
    queues: Mapping[str, ForecastQueue] = field(default_factory=dict[str, ForecastQueue])
    changed_limits: Mapping[str, LimitNumbers] = field(default_factory=dict[str, LimitNumbers])
    schema_hash: str | None = None


NOTHING: Final = Known()


def known_to(database: Database, module: str) -> Known:
    """Read what the database knows about a module; changes nothing.

    Raises `SchemaMismatch` for other tables.
    """
    status = runner.status(database)
    if status.current is None:
        return NOTHING
    if not status.usable:
        raise runner.mismatch(status.current)
    return database.autocommit(_read, module)


def _read(connection: Connection, module: str) -> Known:
    current = deployments.current(connection, module)
    rows = {row.name: row for row in reading.all_of(connection, module) if _is_deployed(row)}
    found = measured.measured_runs(connection, [row.id for row in rows.values()], MOST_MEASURED)
    samples = {
        name: tuple(Body(run.took, succeeds=run.succeeded) for run in found[row.id])
        for name, row in rows.items()
    }
    return Known(
        schedules=rows,
        bodies={name: Bodies(taken, measured=True) for name, taken in samples.items() if taken},
        queues={view.name: _stored_queue(view) for view in queues.view(connection)},
        changed_limits={
            view.name: view.changed for view in limits.view(connection) if view.changed is not None
        },
        schema_hash=None if current is None else current.schema_hash,
    )


def _stored_queue(view: QueueView) -> ForecastQueue:
    return ForecastQueue(
        view.paused_at is not None,
        view.concurrency_limit,
        by_key_of(view.limits or {}),
        view.fair_by,
    )


def by_key_of(stored: Mapping[str, Any]) -> tuple[tuple[str, str | None, LimitNumbers], ...]:
    """Return the limits by key of a queue from their stored form."""
    return tuple(
        (name, limit.get("key"), LimitNumbers.from_json(limit["numbers"]))
        for name, limit in sorted(stored.items())
    )


def _is_deployed(row: StoredSchedule) -> bool:
    return row.deployment_id is not None and row.disabled_reason != DisabledReason.DEPLOYMENT_GONE
