"""The course of alerts: when each begins, is repeated, and is over. Pure functions.

A problem is reported once when it begins, again after some time while it lasts, and once when it is
over. It is over only after it has not been seen for a while, so that one that comes and goes is one
alert. While the database cannot be read, nothing is known about the rest, and nothing changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from pydantic import AwareDatetime

from horae.alerts.rules import FoundProblem, Rule


class Happening(StrEnum):
    """What has happened to an alert."""

    BEGUN = "begun"
    REPEATED = "repeated"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A problem with its course; `notified_at`: None if it has not lasted long enough yet."""

    key: str
    rule: Rule
    summary: str
    since: AwareDatetime
    last_seen: AwareDatetime
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notified_at: AwareDatetime | None = None

    @property
    def id(self) -> str:
        """Names this alert, and not a later one with the same key."""
        return f"{self.key}@{self.since.isoformat()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What is to be told about an alert."""

    happening: Happening
    alert: Alert
    at: AwareDatetime

    @property
    def id(self) -> str:
        """The same for each delivery of this notice, so that a receiver can drop a second one."""
        return f"{self.alert.id}/{self.happening}/{self.at.isoformat()}"


Alerts = Mapping[str, Alert]


def follow(
    before: Alerts,
    problems: Sequence[FoundProblem],
    now: datetime,
    *,
    repeat_after: timedelta,
    over_after: timedelta,
) -> tuple[Alerts, list[Notice]]:
    """Return the alerts after an observation, and what is to be told."""
    seen = {problem.key: problem for problem in problems}
    is_away = Rule.DATABASE_AWAY.value in seen
    after: dict[str, Alert] = {}
    notices: list[Notice] = []

    def tell(happening: Happening, alert: Alert) -> Alert:
        alert = replace(alert, notified_at=now)
        notices.append(Notice(happening=happening, alert=alert, at=now))
        return alert

    for key, problem in seen.items():
        known = before.get(key)
        alert = Alert(
            key=key,
            rule=problem.rule,
            # Names may be long, and there may be many.
            summary=problem.summary[:2_000],
            details=problem.details,
            since=now if known is None else known.since,
            last_seen=now,
            notified_at=None if known is None else known.notified_at,
        )
        if alert.notified_at is None:
            if now - alert.since >= timedelta(seconds=problem.hold):
                alert = tell(Happening.BEGUN, alert)
        elif now - alert.notified_at >= repeat_after:
            alert = tell(Happening.REPEATED, alert)
        after[key] = alert
    for key, alert in before.items():
        if key in seen:
            continue
        is_part = alert.rule.value in seen  # of an alert about many problems of this rule
        if is_away or is_part:
            after[key] = replace(alert, last_seen=now)
        elif now - alert.last_seen < over_after:
            after[key] = alert
        elif alert.notified_at is not None:
            tell(Happening.OVER, alert)
    return after, notices


def is_reported(alerts: Alerts) -> bool:
    """Return whether anything is wrong that was told."""
    return any(alert.notified_at is not None for alert in alerts.values())
