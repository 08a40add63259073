"""Forecasts what an application's schedules will do, and what a deployment would change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from random import Random
from typing import Final, TypeAlias

from sqlalchemy import Connection

from horae.client.schedules import (
    Definition,
    definition_of,
    redeclare,
    trigger_in_line,
    with_calendar_days,
)
from horae.domain.forecast import (
    Comparison,
    Forecast,
    ForecastSchedule,
    Progress,
    compare,
    forecast,
)
from horae.domain.schedules import Activated, DisabledReason, Rules, ScheduleSnapshot, Statistics
from horae.domain.schedules.plan import plan
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.storage.engine import Database
from horae.storage.migrations import runner
from horae.storage.schedules import StoredSchedule, change_of, deployments, reading, rules_of
from horae.types import Registry, Schedule, check_moment, module_schema, schema_hash

DEFAULT_DURATION: Final = timedelta(seconds=1)
"""Assumed duration of a run while its schedule has no successful one."""


@dataclass(frozen=True, slots=True)
class DeployedSchedules:
    """The deployed schedules of a module by name, and the hash of its current schema, if any."""

    schedules: Mapping[str, StoredSchedule] = field(default_factory=dict[str, StoredSchedule])
    schema_hash: str | None = None


NOTHING_DEPLOYED: Final = DeployedSchedules()


def read_deployed(database: Database, module: str) -> DeployedSchedules:
    """Read what is deployed of a module. Raises `SchemaMismatch` for other tables."""
    status = runner.status(database)
    if status.current is None:
        return NOTHING_DEPLOYED
    if not status.usable:
        raise runner.mismatch(status.current)

    def read(connection: Connection) -> DeployedSchedules:
        current = deployments.current(connection, module)
        rows = {
            row.name: row
            for row in reading.all_of(connection, module)
            if row.deployment_id is not None
            and row.disabled_reason != DisabledReason.DEPLOYMENT_GONE
        }
        return DeployedSchedules(rows, None if current is None else current.schema_hash)

    return database.autocommit(read)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastOptions:
    """A period, and the durations of runs in it.

    `durations`, by the name of a schedule, replace the mean of its successful runs;
    `default_duration` is for schedules that have none. Raises `InvalidRequest`.
    """

    start: datetime
    days: int = 30
    durations: Mapping[str, timedelta] = field(default_factory=dict[str, timedelta])
    default_duration: timedelta = DEFAULT_DURATION

    def __post_init__(self) -> None:
        """Refuse a moment without a time zone."""
        check_moment("start", self.start)


_Defined: TypeAlias = tuple[Definition, StoredSchedule | None]
"""A schedule on one side of a comparison, as deployed or as declared, and its stored state."""


class Forecasting:
    """Forecasts of the declared schedules of one module, and of the deployed ones."""

    def __init__(
        self,
        module: str,
        declared: Sequence[Schedule],
        registry: Registry,
        deployed: DeployedSchedules,
        options: ForecastOptions,
    ) -> None:
        self._module, self._declared, self._registry = module, declared, registry
        self._deployed, self._options = deployed, options
        names = sorted({each.name for each in declared} | deployed.schedules.keys())
        for name in options.durations:
            if name not in names:
                known = f"there are {', '.join(names)}" if names else "the application has none"
                raise InvalidRequest(f"duration of {quoted(name)}: no such schedule; {known}")

    def forecast(self, progress: Progress | None = None) -> Forecast:
        """Return the forecast of the schedules as they will be once this code is deployed."""
        return self._forecast(self._after, progress)

    def changes(self, progress: Progress | None = None) -> Comparison:
        """Compare the deployed schedules with those after a deployment of this code."""
        before, after = self._before, self._after
        return compare(
            self._forecast(before, None if progress is None else lambda share: progress(share / 2)),
            self._forecast(
                after, None if progress is None else lambda share: progress((1 + share) / 2)
            ),
            _differences(before, after),
        )

    def _forecast(self, defined: Sequence[_Defined], progress: Progress | None) -> Forecast:
        options = self._options
        try:
            end = options.start + timedelta(days=options.days)
        except OverflowError as error:
            raise InvalidRequest(
                f"{options.days} days from {options.start}: the period ends after the year 9999"
            ) from error
        schedules: list[ForecastSchedule] = []
        for each, row in defined:
            duration = options.durations.get(each.name)
            if duration is None and row is not None and row.total_successes:
                duration = timedelta(seconds=row.total_duration / row.total_successes)
            if duration is None:
                duration = options.default_duration
            begun = _begin(options.start, each.rules, row)
            schedules.append(ForecastSchedule(each.name, begun, duration))
        return forecast(schedules, options.start, end, progress)

    @property
    def _before(self) -> Sequence[_Defined]:
        rows = sorted(self._deployed.schedules.values(), key=lambda row: row.id)
        return [(definition_of(row), row) for row in rows]

    @property
    def _after(self) -> Sequence[_Defined]:
        """Return the schedules after a deployment, which keeps what was changed of them at run
        time.
        """
        schema = module_schema(self._module, list(self._declared), self._registry.queues.values())
        if self._deployed.schema_hash == schema_hash(schema):
            return self._before  # a deployment of the same schema changes nothing
        found: list[_Defined] = []
        for declared in self._declared:
            row = self._deployed.schedules.get(declared.name)
            definition = Definition.from_module(self._module, declared)
            rules = with_calendar_days(
                definition.rules,
                self._registry,
                self._options.start.date(),
                None if row is None else rules_of(row),
            )
            definition = replace(definition, rules=rules)
            if row is not None:
                definition = redeclare(row, definition, self._registry)
            found.append((definition, row))
        return found


def _begin(start: datetime, rules: Rules, row: StoredSchedule | None) -> ScheduleSnapshot:
    """Return the idle state of a schedule at a moment; a paused or ended one stays so.

    The only part of its past that counts is the last finish, from which an interval is counted.
    """
    finish = None if row is None else row.last_finish
    statistics = Statistics(last_finish=finish if finish is not None and finish <= start else None)
    disabled = (
        None if row is None or row.disabled_reason is None else DisabledReason(row.disabled_reason)
    )
    if (
        disabled is DisabledReason.EXHAUSTED
        and row is not None
        and rules_of(row).trigger != rules.trigger
    ):
        disabled = None  # it has times again
    snapshot = ScheduleSnapshot(rules=rules, statistics=statistics, disabled=disabled)
    made = plan(snapshot, Activated(), start, Random(0))
    begun = replace(
        snapshot, last_tick=made.last_tick, next_start=made.next_start, disabled=made.disabled
    )
    change = None if row is None or made.last_tick is None else change_of(row)
    if change is None or change.skip_until <= start or made.next_start is None:
        return begun
    moved = (
        made.next_start if change.start is None else min(max(change.start, start), made.next_start)
    )
    return replace(begun, change=change, next_start=moved)


def _differences(
    before: Sequence[_Defined], after: Sequence[_Defined]
) -> Mapping[str, Sequence[str]]:
    """Return how the definitions of the schedules differ, by name."""
    old, new = {each.name: each for each, _ in before}, {each.name: each for each, _ in after}
    compared = [
        each.name for each in fields(Rules) if each.name not in {"key", "trigger", "calendar_days"}
    ]
    found: dict[str, Sequence[str]] = {}
    for name in old.keys() | new.keys():
        if name not in old:
            found[name] = [f"new: {trigger_in_line(new[name].rules.trigger)}"]
            continue
        if name not in new:
            found[name] = [f"removed: {trigger_in_line(old[name].rules.trigger)}"]
            continue
        earlier, later = old[name], new[name]
        pairs = [
            (
                "trigger",
                trigger_in_line(earlier.rules.trigger),
                trigger_in_line(later.rules.trigger),
            ),
            *(
                (part, getattr(earlier.rules, part), getattr(later.rules, part))
                for part in compared
            ),
            ("queue", earlier.queue, later.queue),
            ("priority", earlier.priority, later.priority),
        ]
        texts = [f"{part}: {was} → {becomes}" for part, was, becomes in pairs if was != becomes]
        if texts:
            found[name] = texts
    return found
