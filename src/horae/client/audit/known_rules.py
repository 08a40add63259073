"""The rules of schedules and the moment since which they are in force; earlier rules are not
stored.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from horae.client.audit.finding import Audit
from horae.client.changes import KEEP
from horae.domain.schedules import Rules
from horae.storage.engine import EARLIEST, ROW_ERRORS
from horae.storage.operations import invariants
from horae.storage.schedules import rules_from

ONE_CHANGE: Final = timedelta(seconds=1)
"""Longest time between the moments of one change: its audit entry is written after its rows."""
_OF_RULES: Final = frozenset({"trigger", "timezone", "jitter", "exclude", "overlap", "catch_up"})


class KnownRules(NamedTuple):
    """The rules of a schedule (None: unreadable) and the moment since which they are in force."""

    rules: Rules | None
    since: datetime

    @property
    def for_life(self) -> bool:
        """Whether the rules have been the same since the schedule was created."""
        return self.rules is not None and self.since == EARLIEST

    def at(self, moment: datetime) -> Rules | None:
        """Return the rules that were in force at a moment; None if they are unknown."""
        return self.rules if moment > self.since + ONE_CHANGE else None


@dataclass(frozen=True)
class RuleChanges:
    """When the rules of schedules last changed, by name or id, and when each module was last
    deployed.
    """

    now: datetime
    alterations: Mapping[str, datetime]
    deployments: Mapping[str, datetime]

    @classmethod
    def read(cls, audit: Audit) -> "RuleChanges":
        """Read the changes."""
        alterations = {
            row.target: row.at
            for row in audit.stream(invariants.ALTERATIONS)
            if isinstance(row.before, dict) and _OF_RULES & row.before.keys()
        }
        deployments = {
            row.module: row.created_at for row in audit.stream(invariants.LAST_DEPLOYMENTS)
        }
        return cls(audit.now, alterations, deployments)

    def rules_of(self, row: Any) -> KnownRules:
        """Return the rules of a schedule; each deployment of its module may have changed them."""
        try:
            rules: Rules | None = rules_from(
                row.trigger_kind, row.trigger, row.timezone, json.dumps(row.rules)
            )
        except ROW_ERRORS:
            rules = None
        changes = [self.alterations.get(row.name), self.alterations.get(str(row.id))]
        if row.deployment_id is not None:
            changes.append(self.deployments.get(row.module))
        if row.created_at < self.now - KEEP:  # older entries of the audit log are deleted
            changes.append(self.now - KEEP)
        after_creation = [at for at in changes if at is not None and at > row.created_at]
        return KnownRules(rules, max(after_creation, default=EARLIEST))
