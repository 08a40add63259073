"""The definition of a schedule, as a caller or a module gives it and as its row stores it.

A declared schedule that was changed at run time has `overrides`: for each changed field the value
that its module declares. A deployment of a new version keeps the changed value as long as the
module declares the same value for that field as before; if the declaration of the field changed,
the new declaration takes effect (ADR 26).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from hashlib import blake2b
from typing import Any, Final, Self, TypeAlias

from horae.domain.schedules import Rules
from horae.errors import InvalidRequest
from horae.guarded_log import guarded_log
from horae.storage.schedules import StoredSchedule, rules_as_values, rules_from, rules_of
from horae.types import Registry, Schedule, job_options_of

Fields: TypeAlias = Mapping[str, Any]
log = guarded_log("horae.schedules")
_NOT_DECLARED: Final = object()
_IN_EVERY_FORM: Final = (
    "name",
    "job_type",
    "params",
    "rules",
    "queue",
    "priority",
    "limits",
    "tags",
    "max_attempts",
)
"""What a schedule has as declared, as defined and as stored."""
_CHANGED_BY_CALLERS: Final = (
    "job_type",
    "params",
    "trigger_kind",
    "trigger",
    "timezone",
    "rules",
    "queue",
    "priority",
)
"""The columns that callers change; those that runs change are not among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The definition of a schedule by a caller; with `next_start` None the rules decide it.

    `params` is JSON text, as are `limits` and `tags`. These two and `max_attempts` (None: one)
    follow from the job type and the parameters. `overrides`: JSON text of the declared values of
    the fields that were changed at run time; None if none was.
    """

    name: str
    job_type: str
    params: str | None
    rules: Rules
    queue: str
    priority: int
    next_start: datetime | None = None
    module: str = ""
    deployment_id: int | None = None
    overrides: str | None = None
    limits: str | None = None
    tags: str | None = None
    max_attempts: int | None = None

    @classmethod
    def from_module(cls, module: str, schedule: Schedule) -> Self:
        """Return the definition of a schedule that a module declares."""
        shared = {name: getattr(schedule, name) for name in _IN_EVERY_FORM}
        return cls(**shared, module=module)

    @property
    def columns(self) -> Mapping[str, Any]:
        """Return the columns of the row that hold the definition."""
        trigger = self.rules.trigger
        return {
            "job_type": self.job_type,
            "params": self.params,
            "trigger_kind": trigger.kind,
            "trigger": trigger.text,
            "timezone": trigger.timezone,
            "rules": json.dumps(rules_as_values(self.rules)),
            "queue": self.queue,
            "priority": self.priority,
            "deployment_id": self.deployment_id,
            "overrides": self.overrides,
            **self.computed,
        }

    @property
    def computed(self) -> Mapping[str, str | int | None]:
        """Return the computed columns, which the application's code may change without a new
        definition.
        """
        return {
            "calendar_days": days_as_text(self.rules.calendar_days),
            "limits": self.limits,
            "tags": self.tags,
            "max_attempts": self.max_attempts,
        }


def is_outdated(row: StoredSchedule, computed: Mapping[str, str | int | None]) -> bool:
    """Return whether a row differs from what the code computes now, however the database formats
    JSON.
    """

    def parse(value: Any) -> Any:
        try:
            return json.loads(value) if isinstance(value, str) else value
        except (RecursionError, ValueError):  # what cannot be read is replaced
            return value

    return any(parse(getattr(row, name)) != parse(value) for name, value in computed.items())


def days_as_text(days: Sequence[date]) -> str | None:
    """Return the days of calendar functions in their stored form."""
    return json.dumps([day.isoformat() for day in days]) if days else None


def revision_of(row: StoredSchedule) -> str:
    """Return a text that is another one as soon as a caller has changed the definition."""
    values = json.dumps([getattr(row, name) for name in _CHANGED_BY_CALLERS])
    return blake2b(values.encode(), digest_size=8).hexdigest()


def fields_of(columns: Fields) -> dict[str, Any]:
    """Return what a caller can change of a schedule, as JSON values by the names of the options."""
    rules: dict[str, Any] = json.loads(columns["rules"])
    rules.pop("key")
    rules.setdefault("exclude", [])
    trigger = {
        "kind": columns["trigger_kind"],
        "text": columns["trigger"],
        "timezone": columns["timezone"],
    }
    return {
        "trigger": trigger,
        **rules,
        "queue": columns["queue"],
        "priority": columns["priority"],
        "params": json.loads(columns["params"] or "null"),
    }


def declared_values(row: StoredSchedule) -> dict[str, Any]:
    """Return what the module declares for each field that was changed at run time."""
    return {} if row.overrides is None else json.loads(row.overrides)


def alter(row: StoredSchedule, wanted: Definition) -> Definition:
    """Return a caller's definition; for a declared schedule, with the overrides that follow from
    it.
    """
    declared, before, after = (
        declared_values(row),
        fields_of(row._asdict()),
        fields_of(wanted.columns),
    )
    own = replace(wanted, module=row.module, deployment_id=row.deployment_id)
    if not row.module:
        return own
    differing = {
        name: was
        for name in before.keys() | after.keys()
        if after.get(name) != (was := declared.get(name, before.get(name)))
    }
    return replace(own, overrides=_text(differing))


def restore(row: StoredSchedule, registry: Registry) -> Definition:
    """Return the definition as the module declares it, without what was changed at run time."""
    found = _with_fields(
        definition_of(row), {**fields_of(row._asdict()), **declared_values(row)}, None
    )
    return with_job_options(found, registry)


def with_job_options(wanted: Definition, registry: Registry) -> Definition:
    """Return the definition with the options that its job type, if known here, gives jobs."""
    kind = registry.find(wanted.job_type)
    return wanted if kind is None else replace(wanted, **job_options_of(kind, wanted.params))


def redeclare(row: StoredSchedule, declared: Definition, registry: Registry) -> Definition:
    """Return the definition after a deployment; a changed field is kept unless its declaration
    changed.
    """
    new = fields_of(declared.columns)
    kept = {
        name: was
        for name, was in declared_values(row).items()
        if new.get(name, _NOT_DECLARED) == was
    }
    if not kept:
        return declared
    current = fields_of(row._asdict())
    try:
        merged = _with_fields(
            declared, {**new, **{name: current.get(name) for name in kept}}, _text(kept)
        )
        if "params" in kept:
            merged = with_job_options(merged, registry)
    except (InvalidRequest, ValueError) as error:  # such as parameters that the function lost
        log.warning(
            "schedule %s: what was changed at run time no longer fits what its module declares,"
            " which counts now: %s",
            row.name,
            error,
        )
        return declared
    return merged


def definition_of(row: StoredSchedule) -> Definition:
    """Return the definition of a stored schedule."""
    shared = {name: getattr(row, name) for name in _IN_EVERY_FORM if name != "rules"}
    return Definition(
        **shared, rules=rules_of(row), module=row.module, deployment_id=row.deployment_id
    )


def _with_fields(base: Definition, given: Fields, overrides: str | None) -> Definition:
    fields = dict(given)
    trigger = fields.pop("trigger")
    queue, priority, params = (fields.pop(name) for name in ("queue", "priority", "params"))
    rules = json.dumps({**fields, "key": base.rules.key})
    return replace(
        base,
        rules=rules_from(
            trigger["kind"],
            trigger["text"],
            trigger["timezone"],
            rules,
            days_as_text(base.rules.calendar_days),
        ),
        queue=queue,
        priority=priority,
        params=None if params is None else json.dumps(params),
        overrides=overrides,
    )


def _text(overrides: Fields) -> str | None:
    return json.dumps(overrides) if overrides else None
