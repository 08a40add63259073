"""Forecasts what an application's schedules will do, and what a change of them would change."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final, TypedDict

from horae.client.forecast.known import Known
from horae.client.forecast.limits import declared_queue, own_limits, queue_limits, turn_of
from horae.client.schedules.calendars import with_calendar_days
from horae.client.schedules.definition import Definition, redeclared
from horae.domain.forecast.comparison import Comparison, compare
from horae.domain.forecast.limits import in_force
from horae.domain.forecast.result import Forecast
from horae.domain.forecast.scenario import (
    DEFAULT_DURATION,
    Bodies,
    Body,
    ForecastQueue,
    ForecastSchedule,
    Load,
    Outage,
    Scenario,
)
from horae.domain.forecast.simulation import Progress, simulate
from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import Activated, ScheduleSnapshot
from horae.domain.schedules.schedule import DisabledReason, Rules
from horae.domain.schedules.statistics import Statistics
from horae.domain.schedules.timeline import Timeline
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.storage.schedules.rows import StoredSchedule, change_of, rules_of
from horae.types.arguments import check_moment
from horae.types.registry import Registry
from horae.types.schedule import Schedule, module_schema, schema_hash

MOST_COMPARED: Final = 2_000_000
"""Runs that a comparison lists, on both sides together; they are held in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastOptions:
    """The questions of a caller: a period, and what happens in it.

    `slots` is the number for each node, None for no limit. `durations` by the name of a schedule
    take the place of measured ones; `default_duration` is for schedules of which nothing is known.
    """

    start: datetime
    length: timedelta = timedelta(days=30)
    nodes: int = 1
    slots: int | None = 10
    outages: tuple[Outage, ...] = ()
    loads: tuple[Load, ...] = ()
    durations: Mapping[str, timedelta] = field(default_factory=dict[str, timedelta])
    default_duration: timedelta = DEFAULT_DURATION
    seed: int = 0
    keep: int = 20


class ForecastKeywords(TypedDict, total=False):
    """The options of `Horae.forecasting`; see `ForecastOptions`.

    `days`: the length of the period, 30 by default.
    """

    start: datetime
    days: int
    nodes: int
    slots: int | None
    outages: Sequence[Outage]
    loads: Sequence[Load]
    durations: Mapping[str, timedelta]
    default_duration: timedelta
    seed: int
    keep: int


def options_of(given: ForecastKeywords) -> ForecastOptions:
    """Return the options of a caller; the period begins now if no start is given.

    Raises `InvalidRequest`.
    """
    # The default of a question
    values: dict[str, Any] = {"start": datetime.now(UTC), **given}  # noqa: TID251
    values["length"] = timedelta(days=values.pop("days", 30))
    for name in ("outages", "loads"):
        values[name] = tuple(values.get(name, ()))
    check_moment("start", values["start"])
    return ForecastOptions(**values)


class Forecasting:
    """Makes scenarios of the declared schedules of one module, with what a database knows about
    them.
    """

    def __init__(
        self,
        module: str,
        declared: Sequence[Schedule],
        registry: Registry,
        known: Known,
        options: ForecastOptions,
    ) -> None:
        self._module, self._declared, self._registry = module, declared, registry
        self._known, self._options = known, options
        self._check_durations()

    def forecast(self, progress: Progress | None = None) -> Forecast:
        """Return the forecast of the schedules as they will be once this code is deployed."""
        return simulate(self.scenario, progress)

    def changes(self, progress: Progress | None = None) -> Comparison:
        """Compare the schedules as they are deployed with those after a deployment of this code."""
        before, after = self._scenario(self._deployed), self._scenario(self._coming)
        listed = frozenset(schedule.name for schedule in (*before.schedules, *after.schedules))
        runs = sum(expected_runs(scenario) for scenario in (before, after))
        if runs > MOST_COMPARED:
            raise InvalidRequest(
                f"the comparison would list about {runs:,.0f} runs, at most {MOST_COMPARED:,} are"
                " possible: compare fewer days"
            )
        old = simulate(replace(before, listed=listed), progress)
        new = simulate(replace(after, listed=listed), progress)
        return compare(old, new, differences(before, after))

    @property
    def scenario(self) -> Scenario:
        """What the forecast is made from."""
        return self._scenario(self._coming)

    @property
    def measured(self) -> Mapping[str, Bodies]:
        """The measured bodies that are used, by the name of the schedule."""
        return {
            name: bodies
            for name, bodies in self._known.bodies.items()
            if name not in self._options.durations
        }

    def _scenario(self, schedules: Sequence[ForecastSchedule]) -> Scenario:
        options = self._options
        return Scenario(
            start=options.start,
            end=options.start + options.length,
            schedules=tuple(schedules),
            queues=self._queues,
            nodes=options.nodes,
            slots=options.slots,
            outages=options.outages,
            loads=options.loads,
            seed=options.seed,
            keep=options.keep,
        )

    @property
    def _coming(self) -> Sequence[ForecastSchedule]:
        """The schedules after a deployment of this code; the same schema leaves what was altered at
        run time.
        """
        schema = module_schema(self._module, list(self._declared), self._registry.queues.values())
        if self._known.schema_hash == schema_hash(schema):
            return self._deployed
        rows = self._known.schedules
        # In the order of their ids, in which nodes fire those that are due together; new ones get
        # the next ids.
        ordered = sorted(
            self._declared, key=lambda each: rows[each.name].id if each.name in rows else math.inf
        )
        return [self._redeclared(each, rows.get(each.name)) for each in ordered]

    def _redeclared(self, declared: Schedule, row: StoredSchedule | None) -> ForecastSchedule:
        """Return a schedule after a deployment, which keeps what was changed of it at run time."""
        definition = Definition.declared(self._module, declared)
        known = None if row is None else rules_of(row)
        rules = with_calendar_days(
            definition.rules, self._registry, self._options.start.date(), known
        )
        definition = replace(definition, rules=rules)
        if row is not None:
            definition = redeclared(row, definition, self._registry)
        return self._made(declared.name, definition.rules, row, definition)

    @property
    def _deployed(self) -> Sequence[ForecastSchedule]:
        rows = sorted(self._known.schedules.values(), key=lambda row: row.id)
        return [self._made(row.name, rules_of(row), row, row) for row in rows]

    def _made(
        self,
        name: str,
        rules: Rules,
        row: StoredSchedule | None,
        place: Definition | StoredSchedule,
    ) -> ForecastSchedule:
        kind = self._registry.by_name.get(place.job_type)
        limit = rules.max_runtime or (None if kind is None else kind.time_limits.soft)
        params = json.loads(place.params or "{}")
        queue = self._queues.get(place.queue, ForecastQueue())
        return ForecastSchedule(
            name=name,
            snapshot=snapshot_at(self._options.start, rules, row),
            queue=place.queue,
            priority=place.priority,
            bodies=self._bodies(name),
            time_limit=limit,
            limits=in_force(
                [*own_limits(place.limits), *queue_limits(queue, params)],
                self._known.changed_limits,
            ),
            turn=turn_of(queue, params),
        )

    @property
    def _queues(self) -> Mapping[str, ForecastQueue]:
        """The rules of the queues as they are stored, and those of queues that only the code
        declares so far.
        """
        declared = {name: declared_queue(queue) for name, queue in self._registry.queues.items()}
        return {**declared, **self._known.queues}

    def _bodies(self, name: str) -> Bodies:
        options = self._options
        if (given := options.durations.get(name)) is not None:
            return Bodies((Body(given),))
        return self._known.bodies.get(name) or Bodies((Body(options.default_duration),))

    def _check_durations(self) -> None:
        names = {schedule.name for schedule in self._declared} | self._known.schedules.keys()
        for name in self._options.durations:
            if name not in names:
                there = (
                    f"there are {', '.join(sorted(names))}"
                    if names
                    else "the application declares none"
                )
                raise InvalidRequest(f"duration of {quoted(name)}: no such schedule; {there}")


def snapshot_at(start: datetime, rules: Rules, row: StoredSchedule | None) -> ScheduleSnapshot:
    """Return the idle state of a schedule as a forecast begins; one that is paused, or has ended,
    stays so.

    Of its past only the last finish counts, from which an interval is counted.
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
    made = plan(snapshot, Activated(), start, Random(0))  # noqa: S311 - draws nothing
    change = None if row is None or made.last_tick is None else change_of(row)
    if change is not None and change.skip_until <= start:
        change = None
    begun = replace(
        snapshot, last_tick=made.last_tick, next_start=made.next_start, disabled=made.disabled
    )
    if change is None or made.next_start is None:
        return begun
    moved = (
        made.next_start if change.start is None else min(max(change.start, start), made.next_start)
    )
    return replace(begun, change=change, next_start=moved)


def expected_runs(scenario: Scenario) -> float:
    """Estimate how many runs a scenario has, without simulating it."""
    runs = 0.0
    for schedule in scenario.schedules:
        if (trigger := schedule.rules.finish_trigger) is not None:
            runs += scenario.length / trigger.interval.nominal
        else:
            runs += Timeline.of(schedule.rules).count(scenario.start, scenario.end)
    return runs


def differences(before: Scenario, after: Scenario) -> Mapping[str, Sequence[str]]:
    """Return how the definitions of the schedules differ, by name."""
    old = {schedule.name: schedule for schedule in before.schedules}
    new = {schedule.name: schedule for schedule in after.schedules}
    found: dict[str, Sequence[str]] = {}
    for name in old.keys() | new.keys():
        if name not in old:
            found[name] = (f"new: {_trigger(new[name].rules)}",)
        elif name not in new:
            found[name] = (f"removed: {_trigger(old[name].rules)}",)
        elif texts := tuple(_differences(old[name], new[name])):
            found[name] = texts
    return found


def _differences(old: ForecastSchedule, new: ForecastSchedule) -> Sequence[str]:
    texts: list[str] = []
    if old.rules.trigger != new.rules.trigger:
        texts.append(f"trigger: {_trigger(old.rules)} → {_trigger(new.rules)}")
    names = [
        each.name for each in fields(Rules) if each.name not in {"key", "trigger", "calendar_days"}
    ]
    pairs = [(name, getattr(old.rules, name), getattr(new.rules, name)) for name in names]
    pairs += [(name, getattr(old, name), getattr(new, name)) for name in ("queue", "priority")]
    return [
        *texts,
        *(f"{name}: {earlier} → {later}" for name, earlier, later in pairs if earlier != later),
    ]


def _trigger(rules: Rules) -> str:
    trigger = rules.trigger
    zone = "" if trigger.timezone == "UTC" else f" ({trigger.timezone})"
    return f"{'every ' if trigger.kind == 'interval' else ''}{trigger.text}{zone}"
