"""The rules of a schedule over time, as far as the audit log and the deployments show them."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from horae.client.changes import KEEP
from horae.domain.schedules.schedule import CatchUp, Overlap, Rules
from horae.domain.schedules.trigger import Trigger, parse_trigger
from horae.errors import InvalidRequest
from horae.storage.engine.value_limits import EARLIEST
from horae.storage.operations import invariants
from horae.storage.schedules.rows import UNREADABLE, rules_from
from horae.types.schedule import declared_in, verb_name

ONE_CHANGE: Final = timedelta(seconds=1)
"""How far apart the moments of one change are at most: its entry in the audit log is written after
the rows.
"""
_POLICIES: Final = {"overlap": Overlap, "catch_up": CatchUp}
_OF_RULES: Final = frozenset({"trigger", "timezone", "jitter", "exclude", *_POLICIES})


class Alteration(NamedTuple):
    """A change of a schedule: when, and the values before and after it that decide its times."""

    at: datetime
    before: Mapping[str, Any]


class Version(NamedTuple):
    """A deployment of a module: when, and what it declares of each schedule, by name."""

    at: datetime
    declared: Mapping[str, str]


@dataclass
class History:
    """The changes of all schedules and limits; it grows with the number of changes in a year, not
    with jobs.
    """

    now: datetime
    alterations: Mapping[str, list[Alteration]] = field(default_factory=dict[str, list[Alteration]])
    limits: Mapping[str, list[Alteration]] = field(default_factory=dict[str, list[Alteration]])
    versions: Mapping[str, list[Version]] = field(default_factory=dict[str, list[Version]])

    @classmethod
    def read(cls, connection: Connection) -> "History":
        """Read the changes."""
        alterations: dict[str, list[Alteration]] = defaultdict(list)
        limits: dict[str, list[Alteration]] = defaultdict(list)
        for row in invariants.stream(connection, invariants.CHANGES):
            before = _values(row.before)
            if row.action in invariants.OF_LIMITS:
                if row.action == "queue.reset" and "concurrency_limit" not in before:
                    continue  # it has changed other settings
                limits[row.target].append(Alteration(row.at, before))
            elif _OF_RULES & before.keys():
                alterations[row.target].append(Alteration(row.at, before))
        versions: dict[str, list[Version]] = defaultdict(list)
        for row in invariants.stream(connection, invariants.DEPLOYMENTS):
            versions[row.module].append(Version(row.created_at, declared_in(row.schema)))
        now = invariants.now(connection)
        return cls(now, alterations, limits, versions)

    def rules_of(self, row: Any) -> "RulesOverTime":
        """Return the rules of a schedule over time."""
        try:
            rules: Rules | None = rules_from(
                row.trigger_kind, row.trigger, row.timezone, json.dumps(row.rules)
            )
        except UNREADABLE:
            rules = None
        known = [*self.alterations.get(row.name, ()), *self.alterations.get(str(row.id), ())]
        events = sorted(
            [*known, *self._replaced(row, known)], key=lambda event: event.at, reverse=True
        )
        spans: list[Span] = []
        for event in events:
            spans.append(Span(event.at, rules))
            rules = None if rules is None else _before(rules, event.before)
        spans.append(Span(EARLIEST, rules))
        if row.created_at < self.now - KEEP:  # older entries of the audit log are deleted
            spans.append(Span(EARLIEST, None))
            spans[-2] = Span(self.now - KEEP, rules)
        return RulesOverTime(tuple(reversed(spans)))

    def _replaced(self, row: Any, known: Iterable[Alteration]) -> Iterator[Alteration]:
        """Yield the deployments that gave this schedule other rules, or that may have: those before
        are unknown.
        """
        versions, name = self.versions.get(row.module, []), verb_name(row.name)
        for before, after in pairwise(versions):
            altered = any(before.at - ONE_CHANGE <= change.at <= after.at for change in known)
            if altered or before.declared.get(name) != after.declared.get(name):
                yield Alteration(after.at, {"trigger": None})


class Span(NamedTuple):
    """The rules from a moment on; None if they are unknown."""

    start: datetime
    rules: Rules | None


@dataclass(frozen=True)
class RulesOverTime:
    """The rules of a schedule, in spans, the oldest first."""

    spans: Sequence[Span]

    @property
    def current(self) -> Rules | None:
        """Return the rules as they are now."""
        return self.spans[-1].rules

    def around(self, moment: datetime) -> list[Rules | None]:
        """Return the rules that may have been in force at a moment: several only shortly before or
        after a change.
        """
        found = [
            span.rules
            for span, following in zip(self.spans, [*self.spans[1:], None], strict=True)
            if span.start <= moment + ONE_CHANGE
            and (following is None or following.start >= moment - ONE_CHANGE)
        ]
        return list(dict.fromkeys(found))

    def between(
        self, after: datetime, until: datetime
    ) -> list[tuple[datetime, datetime, Rules | None]]:
        """Return the parts of a time range, each with its rules."""
        parts: list[tuple[datetime, datetime, Rules | None]] = []
        for span, following in zip(self.spans, [*self.spans[1:], None], strict=True):
            end = until if following is None else min(following.start, until)
            start = max(span.start, after)
            if start < end:
                parts.append((start, end, span.rules))
        return parts


def _values(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, dict) else {}


def _before(rules: Rules, before: Mapping[str, Any]) -> Rules | None:
    """Return rules with the values that they had before a change; None if these cannot be read."""
    zone = before.get("timezone", rules.trigger.timezone)
    text = before.get("trigger", rules.trigger.text)
    try:
        policies: dict[str, Any] = {
            name: kind(before[name]) for name, kind in _POLICIES.items() if name in before
        }
        if "exclude" in before:
            policies["exclude"] = tuple(before["exclude"] or ())
        if "jitter" in before:
            policies["jitter"] = timedelta(seconds=before["jitter"])
        trigger = _trigger(text, zone)
        if getattr(trigger, "fixed", True) is False:  # policies have no effect there
            policies |= {"overlap": Overlap.SKIP, "catch_up": CatchUp.LAST}
        return replace(rules, trigger=trigger, **policies)
    except UNREADABLE:
        return None


def _trigger(text: Any, zone: str) -> Trigger:
    try:
        return parse_trigger("cron", text, zone)
    except InvalidRequest:
        return parse_trigger("interval", text, zone)
